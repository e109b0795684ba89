// Reads what an instance and its rules refer to and no watch covers: the Secret with the API key, and ConfigMaps with
// addresses. What is missing is polled for, and the instance is touched as soon as it exists.
import type { Clock } from "../../async/clock.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import type { AddressTexts, Freshness } from "./address-texts.ts";
import type { ApiKeys } from "./api-keys.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import type { InstanceChanges } from "./instance-changes.ts";
import { MissingRefPoller } from "./missing-ref-poller.ts";

/** The API key and the address texts of an instance. */
export interface References extends Pick<Gathered, "key" | "rules" | "sameKey"> {
  /** What could not be read, one sentence each. */
  readonly problems: readonly string[];
  /** Unwatched ConfigMaps that do not exist or lack a key, by `namespace/name`. */
  readonly missing: ReadonlyMap<string, ObjectName>;
}

export interface InstanceReferencesOptions {
  readonly clock: Clock;
  readonly stores: ClusterStores;
  readonly keys: ApiKeys;
  readonly texts: AddressTexts;
  readonly changes: InstanceChanges;
  /** The instance as last seen; undefined if there is none, or if it is invalid. */
  readonly instanceOf: (name: ObjectName) => DeclaredInstance | undefined;
}

export class InstanceReferences {
  readonly #options: InstanceReferencesOptions;
  readonly #poller: MissingRefPoller;

  constructor(options: InstanceReferencesOptions) {
    this.#options = options;
    this.#poller = new MissingRefPoller(options.clock);
  }

  /** Polls for what is missing until the signal aborts. Never rejects. */
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

  /** Polls for what these references lack, and ends the polling for what they have. */
  pollMissing({ meta }: DeclaredInstance, rules: readonly DeclaredRule[], { key, missing }: References): void {
    const { namespace, name } = meta;
    const polledKey = `key ${nameKey(meta)}`;
    if (key.state === "Present") this.#poller.delete(polledKey);
    else this.#poller.add(polledKey, async () => await this.#pollKey({ namespace, name }, key.problem));
    for (const rule of rules) {
      for (const { name: mapName } of rule.addressesFrom) {
        const mapKey = nameKey({ namespace: rule.meta.namespace, name: mapName });
        const missingMap = missing.get(mapKey);
        if (missingMap === undefined) this.#poller.delete(`configmap ${mapKey}`);
        else this.#poller.add(`configmap ${mapKey}`, async () => await this.#pollConfigMap(missingMap));
      }
    }
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
    if (!(await texts.hasChanged(name))) return false;
    changes.touchUsersOf(nameKey(name));
    return true;
  }
}
