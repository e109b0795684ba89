// Gathers the objects of an instance, from the stores or from fresh reads. Objects of namespaces without access are excluded first, so
// that no Secret or ConfigMap is read for them.
import type { Clock } from "../../async/clock.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { guestKinds } from "../../model/declared.ts";
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { type AttachedObjects, gather, type ObjectSet } from "../gather.ts";
import { AttachedNamespaces, watchedLabels } from "./attached-namespaces.ts";
import type { BrokenReferenceIndex } from "./unattached-objects.ts";
import { type ClusterWatches, unreadableInstance } from "./cluster-watches.ts";
import { byGuestKind, type FreshObjects, readFresh, type ReferringObjects } from "./fresh-objects.ts";
import type { InstanceReferences } from "./instance-references.ts";
import { attachedObjects, parseInstance, parseObject } from "./parse-object.ts";
import type { RolloutWatches } from "./rollout-watches.ts";

export interface InstanceGatheringOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** The only namespace to watch; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly watches: ClusterWatches;
  readonly references: InstanceReferences;
  readonly rollouts: RolloutWatches;
  readonly broken: BrokenReferenceIndex;
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
    return await gather(
      await this.#objects({ instance, referring, labelsOf: watchedLabels(stores) }, { isFresh: false }),
    );
  }

  /** From the API server. */
  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    const fresh = await readFresh(this.#options, name);
    if (!fresh.ok) return { state: "Failed", problem: fresh.problem };
    if (fresh.value === undefined) return { state: "Read", gathered: undefined };
    const set = await this.#objects(fresh.value, { isFresh: true });
    const gathered = await gather(set);
    const [problem] = gathered.brokenSources.slice(set.gaps.length);
    return problem === undefined ? { state: "Read", gathered } : { state: "Failed", problem };
  }

  async #objects(
    { instance, referring, labelsOf }: FreshObjects,
    { isFresh }: { readonly isFresh: boolean },
  ): Promise<ObjectSet> {
    const { broken, clock, references, rollouts, watches } = this.#options;
    const namespaces = new AttachedNamespaces(instance, labelsOf);
    const unreadable = this.#referringTo(unreadableInstance);
    return {
      instance,
      attached: await parseAttached([referring, unreadable], namespaces, new TimeSlices(clock)),
      labelsOf,
      references: async (rules) => await references.read(instance, namespaces.granted(rules), isFresh),
      // Objects that are only watched, never read again.
      gaps: watches.gaps(),
      brokenReferences: broken.references(instance),
      workloads: rollouts.sightsOf(instance),
    };
  }

  #referringTo(instance: string): ReferringObjects {
    const { byKind } = this.#options.watches.stores;
    return byGuestKind((kind) => byKind[kind].listBy("instance", instance));
  }
}

/** Parses the objects that are or may be attached in slices, because an instance can have thousands. */
async function parseAttached(
  sources: readonly ReferringObjects[],
  namespaces: AttachedNamespaces,
  slices: TimeSlices,
): Promise<AttachedObjects> {
  for (const kind of guestKinds) {
    for (const object of sources.flatMap((source) => namespaces.only(kind, source[kind]))) {
      parseObject(kind, object);
      if (slices.isOver) await slices.pause();
    }
  }
  return attachedObjects((kind) => sources.flatMap((source) => namespaces.only(kind, source[kind])));
}
