// Reads what an instance and its rules refer to and no watch covers: the Secret with the API key, and ConfigMaps with
// addresses. A Secret that is missing and ConfigMaps are polled for, and the instance is touched when they change.
import type { Clock } from "../../async/clock.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { Gathered, TextRefresh } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { AddressTexts, Freshness } from "./address-texts.ts";
import type { ApiKeys } from "./api-keys.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { InstanceChanges } from "./instance-changes.ts";
import { ReferencePoller } from "./reference-poller.ts";

/** The API key and the address texts of an instance. */
export interface References extends Pick<Gathered, "key" | "rules" | "sameKey"> {
  /** What could not be read, one sentence each. */
  readonly problems: readonly string[];
  /** Unwatched ConfigMaps that do not exist or lack a key, by `namespace/name`. */
  readonly missing: ReadonlyMap<string, ObjectName>;
}

export interface InstanceReferencesOptions {
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  readonly stores: ClusterStores;
  readonly keys: ApiKeys;
  readonly texts: AddressTexts;
  readonly changes: InstanceChanges;
  /** The instance as last seen; undefined if there is none, or if it is invalid. */
  readonly instanceOf: (name: ObjectName) => DeclaredInstance | undefined;
}

export class InstanceReferences {
  readonly #options: InstanceReferencesOptions;
  readonly #poller: ReferencePoller;

  constructor(options: InstanceReferencesOptions) {
    this.#options = options;
    this.#poller = new ReferencePoller(options.clock, options.random);
  }

  /** Polls until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#poller.run(signal);
  }

  /** Also tries once to read the keys of the other instances that could make this one a duplicate. */
  async read(instance: DeclaredInstance, rules: readonly DeclaredRule[], freshness: Freshness): Promise<References> {
    const { keys, texts, changes } = this.#options;
    const [key, reads] = await Promise.all([
      keys.read(instance, instance.resyncIntervalMs),
      Promise.all(rules.map(async (rule) => ({ rule, ...(await texts.read(rule, freshness)) }))),
      Promise.all(changes.unreadRivals(instance).map(async (peer) => await keys.ensureTried(peer))),
    ]);
    return {
      key,
      rules: reads.map(({ rule, texts: ofRule }) => ({ rule, texts: ofRule })),
      problems: [...new Set(reads.flatMap(({ problems }) => problems))],
      missing: new Map(reads.flatMap(({ missing }) => missing.map((name) => [nameKey(name), name]))),
      sameKey: key.state === "Present" ? changes.sharing(instance.meta, key.key).map(({ meta }) => meta) : [],
    };
  }

  /** Begins and ends polling for what these references need, and tells of each text how its changes are noticed. */
  follow({ meta }: DeclaredInstance, references: References): References {
    const { key, missing } = references;
    const { namespace, name } = meta;
    const polledKey = `key ${nameKey(meta)}`;
    const poll = async (formerProblem: string): Promise<boolean> => this.#pollKey({ namespace, name }, formerProblem);
    if (key.state === "Present") this.#poller.delete(polledKey);
    else {
      const { problem } = key;
      this.#poller.add({ key: polledKey, group: namespace, pace: "Missing", poll: async () => await poll(problem) });
    }
    const rules = references.rules.map((gathered) => {
      const { meta: home, addressesFrom } = gathered.rule;
      if (addressesFrom.length === 0) return gathered;
      const names = addressesFrom.map((source) => ({ namespace: home.namespace, name: source.name }));
      return { ...gathered, refresh: names.map((map) => this.#followConfigMap(map, missing.has(nameKey(map)))) };
    });
    return { ...references, rules };
  }

  #followConfigMap(name: ObjectName, isMissing: boolean): TextRefresh {
    const key = `configmap ${nameKey(name)}`;
    if (this.#options.texts.isWatched(name)) {
      this.#poller.delete(key);
      return "Watched";
    }
    const pace = isMissing ? "Missing" : "Existing";
    this.#poller.add({ key, group: name.namespace, pace, poll: async () => await this.#pollConfigMap(name) });
    return this.#poller.has(key) ? "Polled" : "Resync";
  }

  async #pollKey(name: ObjectName, formerProblem: string): Promise<boolean> {
    const { keys, changes, instanceOf } = this.#options;
    const instance = instanceOf(name);
    if (instance === undefined) return true;
    keys.refresh(name);
    const key = await keys.read(instance, instance.resyncIntervalMs);
    if (key.state === "Missing" && key.problem === formerProblem) return false;
    changes.touch(name, "Secret changed");
    return true;
  }

  async #pollConfigMap(name: ObjectName): Promise<boolean> {
    const { stores, texts, changes } = this.#options;
    const isUsed = stores.byKind.WafIpRule.listBy("configMap", nameKey(name)).length > 0;
    if (!isUsed || stores.configMaps.get(nameKey(name)) !== undefined) return true;
    if (await texts.hasChanged(name)) changes.touchUsersOf(nameKey(name));
    return false;
  }
}
