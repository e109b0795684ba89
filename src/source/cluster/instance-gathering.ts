// Gathers the objects of an instance from the stores or, before removals, from a fresh read. Objects of namespaces without access are
// excluded first, so that no Secret or ConfigMap is read for them. Then reads what the instance and its rules refer to: the Secret with the
// API key, and the ConfigMaps and Secrets with addresses. Those of the owner come first. A run waits only briefly for those of guests, and
// their grant limits the size of each text.
import type { DeclaredByKind } from "../../kinds/to-declared.ts";
import type { Clock } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { getObject } from "../../kube/verbs.ts";
import type { TextSource } from "../../model/address-source.ts";
import { decideAttachment } from "../../model/attachment.ts";
import type { DeclaredInstance, DeclaredRule, Grant } from "../../model/declared.ts";
import type { AddressText, ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import { type GuestKind, guestKinds, nameKey, type ObjectName, type ResourceKind } from "../../model/resource.ts";
import {
  type AttachedObjects,
  byGuestKind,
  gather,
  type LabelsOf,
  type ObjectSet,
  type Parsed,
  type References,
} from "../gather.ts";
import type { ApiKeys } from "./api-keys.ts";
import { refusalOf, type UnattachedObjects, watchedLabels } from "./attachment.ts";
import {
  type ClusterObject,
  parseAttached,
  parseInstance,
  parseObject,
  slimObject,
  sourceKey,
  typeOfKind,
} from "./cluster-object.ts";
import { type ClusterWatches, unreadableInstance } from "./cluster-watches.ts";
import type { DataTexts } from "./data-texts.ts";
import {
  findTerminatingCrd,
  type InstanceObjects,
  readObjects,
  type ReferringObjects,
  requestTimeoutMs,
} from "./fresh-objects.ts";
import type { InstanceChanges } from "./instance-changes.ts";
import type { RolloutWatches } from "./rollout-watches.ts";

export interface InstanceGatheringOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** The only namespace to watch; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly watches: ClusterWatches;
  readonly references: InstanceReferences;
  readonly rollouts: RolloutWatches;
  readonly unattached: UnattachedObjects;
}

export class InstanceGathering {
  readonly #options: InstanceGatheringOptions;

  constructor(options: InstanceGatheringOptions) {
    this.#options = options;
  }

  /** From the stores; undefined if the instance does not exist. */
  async gather(name: ObjectName): Promise<Gathered | undefined> {
    const { stores } = this.#options.watches;
    const instance = parseInstance(stores.byKind.WafInstance.get(nameKey(name)));
    if (instance === undefined) return undefined;
    const referring = this.#referringTo(nameKey(name));
    return await gather(await this.#objects({ instance, referring, labelsOf: watchedLabels(stores) }, false));
  }

  /** From the API server. */
  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    const { api, namespace, watches } = this.#options;
    const subject = `WafInstance ${nameKey(name)}`;
    const options = { timeoutMs: requestTimeoutMs };
    const found = await getObject<ClusterObject>(api, typeOfKind("WafInstance"), name, options);
    if (!found.ok && found.fault.code === "NotFound") {
      const unserved = await this.#unserved();
      return unserved === undefined ? { state: "Read", gathered: undefined } : failed(unserved);
    }
    if (!found.ok) return failed(`${subject} could not be reread: ${found.fault.message}`);
    const stored = watches.stores.byKind.WafInstance.get(nameKey(name));
    if (stored !== undefined && stored.metadata.uid !== found.value.metadata.uid) {
      return failed(`${subject} has been deleted and created again.`);
    }
    const parsed = parseObject("WafInstance", this.#slim("WafInstance", found.value));
    if (!parsed.ok) return failed(`${subject} is invalid: ${parsed.problem}`);
    const fresh = await readObjects(
      {
        api,
        kinds: guestKinds,
        // Without grants, only the instance's own namespace has access.
        scopeOf: ({ access, meta }) => namespace ?? (access.length === 0 ? meta.namespace : undefined),
        labelsOf: watchedLabels(watches.stores),
        slim: (kind, object) => this.#slim(kind, object),
      },
      parsed.declared,
    );
    if (!fresh.ok) return failed(`${fresh.subject} could not be reread: ${fresh.fault.message}`);
    // The lists are complete only if no CRD was being deleted meanwhile.
    const unserved = await this.#unserved();
    if (unserved !== undefined) return failed(unserved);
    const set = await this.#objects(fresh.value, true);
    const gathered = await gather(set);
    const [problem] = gathered.brokenSources.slice(set.gaps.length);
    return problem === undefined ? { state: "Read", gathered } : failed(problem);
  }

  /** Whether the CRD of WafInstance is terminating, so that all its objects are being deleted. Never rejects. */
  async isUninstalling(): Promise<boolean> {
    const terminating = await findTerminatingCrd(this.#options.api);
    if (!terminating.ok || terminating.value !== "WafInstance") return false;
    this.#options.watches.markCrdTerminating("WafInstance");
    return true;
  }

  /** Why lists of objects may lack some that users did not delete. */
  async #unserved(): Promise<string | undefined> {
    const terminating = await findTerminatingCrd(this.#options.api);
    if (!terminating.ok) return `${terminating.subject} could not be reread: ${terminating.fault.message}`;
    if (terminating.value === undefined) return undefined;
    this.#options.watches.markCrdTerminating(terminating.value);
    return `The CRD of ${terminating.value} is being deleted, and all its objects with it.`;
  }

  async #objects(objects: InstanceObjects, isFresh: boolean): Promise<ObjectSet> {
    const { clock, references, rollouts, unattached, watches } = this.#options;
    const { instance } = objects;
    const unreadable = this.#referringTo(unreadableInstance);
    const referring = byGuestKind((kind) => [...objects.referring[kind], ...unreadable[kind]]);
    return {
      ...(await objectSet({ ...objects, referring }, { clock, references, isFresh })),
      // Objects that are only watched, never read again.
      gaps: watches.gaps(),
      brokenReferences: unattached.brokenReferences(instance),
      workloads: rollouts.sightsOf(instance),
    };
  }

  #referringTo(instance: string): ReferringObjects {
    const { byKind } = this.#options.watches.stores;
    return byGuestKind((kind) => byKind[kind].listBy("instance", instance));
  }

  /** An object that is stored in the same version is the stored one, so that it is not parsed again. */
  #slim(kind: ResourceKind, read: ClusterObject): ClusterObject {
    const { namespace = "", name, uid, resourceVersion } = read.metadata;
    const stored = this.#options.watches.stores.byKind[kind].get(nameKey({ namespace, name }));
    const isSame = stored?.metadata.uid === uid && stored.metadata.resourceVersion === resourceVersion;
    return isSame ? stored : slimObject(kind, read, stored);
  }
}

function failed(problem: string): ConfirmedGathering {
  return { state: "Failed", problem };
}

interface Gathering {
  readonly clock: Clock;
  readonly references: InstanceReferences;
  readonly isFresh: boolean;
}

/** What the objects declare. Thousands of them are parsed in slices. */
export async function objectSet(
  { instance, referring, labelsOf }: InstanceObjects,
  { clock, references, isFresh }: Gathering,
): Promise<Pick<ObjectSet, "instance" | "attached" | "labelsOf" | "references">> {
  const slices = new TimeSlices(clock);
  const attached = byGuestKind((): Parsed<DeclaredByKind[GuestKind]>[] => []);
  for (const kind of guestKinds) {
    for (const object of referring[kind]) {
      if (refusalOf(instance, labelsOf, kind, object) === undefined) attached[kind].push(parseAttached(kind, object));
      if (slices.isOver) await slices.pause();
    }
  }
  return {
    instance,
    attached: attached as AttachedObjects,
    labelsOf,
    references: async (rules) => await references.read(instance, granted(rules, instance, labelsOf), isFresh),
  };
}

interface GrantedRule {
  readonly rule: DeclaredRule;
  /** Undefined for the owner. */
  readonly grant: Grant | undefined;
  /** Its sources; none if its entries can't apply. */
  readonly sources: readonly TextSource[];
}

function granted(rules: readonly DeclaredRule[], instance: DeclaredInstance, labelsOf: LabelsOf): GrantedRule[] {
  return rules.map((rule) => {
    const { namespace } = rule.meta;
    const attachment = decideAttachment(instance, "WafIpRule", namespace, labelsOf(namespace));
    if (attachment.state !== "Allowed") return { rule, grant: undefined, sources: [] };
    return { rule, grant: attachment.grant, sources: rule.addressesFrom };
  });
}

/** How long a run waits for sources of guests: an urgent address of the owner waits as long. A fresh read waits for all. */
export const guestWaitMsMax = 250;
/** The size of a guest's text, in characters: for each granted entry, because lines may have comments, and at least. */
const charactersOfEntry = 128;
const charactersOfGuestMin = 64 * 1024;

export interface InstanceReferencesOptions {
  readonly clock: Clock;
  readonly keys: ApiKeys;
  readonly texts: DataTexts;
  readonly changes: Pick<InstanceChanges, "sharing" | "touch" | "unreadRivals">;
}

export class InstanceReferences {
  readonly #options: InstanceReferencesOptions;

  constructor(options: InstanceReferencesOptions) {
    this.#options = options;
  }

  /**
   * Also tries once to read the keys of other instances of which this one could be a duplicate.
   * @param isFresh whether sources are read even if the watch shows no change
   */
  async read(instance: DeclaredInstance, rules: readonly GrantedRule[], isFresh: boolean): Promise<References> {
    const { keys, changes, texts } = this.#options;
    const rivals = changes.unreadRivals(instance);
    const [key] = await Promise.all([
      keys.read(instance, instance.resyncIntervalMs),
      this.#load(instance, rules, isFresh),
      Promise.all(rivals.map(async (peer) => await keys.read(peer, Number.POSITIVE_INFINITY))),
    ]);
    const problems = rules.flatMap(({ sources }) => sources.flatMap((source) => texts.problem(source) ?? []));
    return {
      key,
      rules: await this.#texts(rules),
      problems: [...new Set(problems)],
      sameKey: key.state === "Present" ? changes.sharing(instance.meta, key.key).map(({ meta }) => meta) : [],
    };
  }

  /** Ends when the sources of guests take too long: then their last content is used, and the end of the reads is a change. */
  async #load(instance: DeclaredInstance, rules: readonly GrantedRule[], isFresh: boolean): Promise<void> {
    const { clock, texts, changes } = this.#options;
    const load = async ({ grant, sources }: GrantedRule): Promise<void> => {
      const options = { lengthMax: charactersMax(grant), ageMsMax: instance.resyncIntervalMs, isFresh };
      const objects = new Map(sources.map((source) => [sourceKey(source), source]));
      await Promise.all([...objects.values()].map(async (object) => await texts.load(object, options)));
    };
    const ofOwner = rules.filter(({ grant }) => grant === undefined).map(load);
    const ofGuests = Promise.all(rules.filter(({ grant }) => grant !== undefined).map(load));
    await Promise.all(ofOwner);
    if (isFresh) return void (await ofGuests);
    const { inTime } = await withDeadline({ clock, timeoutMs: guestWaitMsMax }, async () => await ofGuests);
    if (!inTime) void ofGuests.then(() => changes.touch(instance.meta, "sources of guests were read"));
  }

  /** Parses the texts in slices. */
  async #texts(rules: readonly GrantedRule[]): Promise<Gathered["rules"]> {
    const slices = new TimeSlices(this.#options.clock);
    const gathered: { readonly rule: DeclaredRule; readonly texts: readonly AddressText[] }[] = [];
    for (const { rule, sources } of rules) {
      const texts = sources.map((source) => this.#options.texts.text(source));
      gathered.push({ rule, texts });
      if (slices.isOver) await slices.pause();
    }
    return gathered;
  }
}

function charactersMax(grant: Grant | undefined): number {
  if (grant === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(grant.maxEntries * charactersOfEntry, charactersOfGuestMin);
}
