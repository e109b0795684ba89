// Gathers the objects of an instance, from the stores or confirmed by fresh reads. Objects of namespaces without access are
// excluded first, so that no Secret or ConfigMap is read for them.
import type { Clock } from "../../async/clock.ts";
import { TimeSlices } from "../../async/time-slices.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { DeclaredInstance, DeclaredRule } from "../../model/declared.ts";
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { AttachedNamespaces, type LabelsOf, type NamespaceLabels, watchedLabels } from "./attached-namespaces.ts";
import type { BrokenReferenceIndex } from "./broken-reference-index.ts";
import type { ClusterObject } from "./cluster-object.ts";
import { type ClusterWatches, unreadableInstance } from "./cluster-watches.ts";
import { readInstance } from "./confirm-instance.ts";
import {
  assembleGathered,
  type DeclaredObjects,
  type InstanceObjects,
  namespacesOf,
  parseAhead,
  parseObjects,
} from "./gather-instance.ts";
import type { GrantedRule, InstanceReferences } from "./instance-references.ts";
import { parseInstance } from "./parse-object.ts";
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
    const { references, watches } = this.#options;
    const { WafInstance, WafIpRule, WafOrigin, WafCacheClear, WafAutoBlock } = watches.stores.byKind;
    const key = nameKey(name);
    const instance = parseInstance(WafInstance.get(key));
    if (instance === undefined) return undefined;
    const labelsOf = watchedLabels(watches.stores);
    const stored = { rules: WafIpRule.listBy("instance", key), origins: WafOrigin.listBy("instance", key) };
    await this.#parseAhead(stored, new AttachedNamespaces(instance, labelsOf));
    const objects = {
      rules: WafIpRule.listBy("instance", key),
      origins: WafOrigin.listBy("instance", key),
      cacheClears: WafCacheClear.listBy("instance", key),
      autoBlocks: WafAutoBlock.listBy("instance", key),
      unreadable: this.#unreadable(),
    };
    const attached = new AttachedNamespaces(instance, labelsOf);
    const declared = parseObjects(objects, attached);
    const read = await references.read(instance, granted(declared.rules, attached), false);
    return this.#assemble(instance, declared, read, labelsOf);
  }

  /** From the API server. */
  async confirm(name: ObjectName): Promise<ConfirmedGathering> {
    const { api, namespace, references, watches } = this.#options;
    const confirmed = await readInstance(
      { api, namespace, stores: watches.stores, onCrdTerminating: (kind) => watches.markCrdTerminating(kind) },
      name,
    );
    if (!confirmed.ok) return { state: "Failed", problem: confirmed.problem };
    if (confirmed.value === undefined) return { state: "Read", gathered: undefined };
    const { instance, labelsOf, ...fresh } = confirmed.value;
    const attached = new AttachedNamespaces(instance, labelsOf);
    const objects = {
      ...fresh,
      rules: this.#known("WafIpRule", fresh.rules),
      origins: this.#known("WafOrigin", fresh.origins),
    };
    await this.#parseAhead(objects, attached);
    const declared = parseObjects({ ...objects, unreadable: this.#unreadable() }, attached);
    const read = await references.read(instance, granted(declared.rules, attached), true);
    const [problem] = read.problems;
    if (problem !== undefined) return { state: "Failed", problem };
    return { state: "Read", gathered: this.#assemble(instance, declared, read, labelsOf) };
  }

  #assemble(
    instance: DeclaredInstance,
    declared: DeclaredObjects,
    references: Parameters<typeof assembleGathered>[2],
    labelsOf: LabelsOf,
  ): Gathered {
    const { broken, rollouts, watches } = this.#options;
    const namespaceLabels = new Map<string, NamespaceLabels>();
    for (const namespace of namespacesOf(declared)) {
      const labels = labelsOf(namespace);
      if (labels !== undefined) namespaceLabels.set(namespace, labels);
    }
    // Objects that are only watched, never read again.
    const watched = {
      workloads: rollouts.sightsOf(instance),
      gaps: watches.gaps(),
      brokenReferences: broken.references(instance),
    };
    return assembleGathered(instance, declared, references, { namespaceLabels, ...watched });
  }

  async #parseAhead(objects: Pick<InstanceObjects, "rules" | "origins">, attached: AttachedNamespaces): Promise<void> {
    const slices = new TimeSlices(this.#options.clock);
    for (const _ of parseAhead(objects, attached)) if (slices.isOver) await slices.pause();
  }

  /** Replaces objects by those in the store with the same version, which are parsed already. */
  #known(kind: "WafIpRule" | "WafOrigin", objects: readonly ClusterObject[]): ClusterObject[] {
    const store = this.#options.watches.stores.byKind[kind];
    return objects.map((object) => {
      const { namespace = "", name, uid, resourceVersion } = object.metadata;
      const stored = store.get(nameKey({ namespace, name }));
      if (stored === undefined || stored.metadata.uid !== uid) return object;
      return stored.metadata.resourceVersion === resourceVersion ? stored : object;
    });
  }

  #unreadable(): InstanceObjects["unreadable"] {
    const { WafIpRule, WafOrigin, WafAutoBlock } = this.#options.watches.stores.byKind;
    return {
      WafIpRule: WafIpRule.listBy("instance", unreadableInstance),
      WafOrigin: WafOrigin.listBy("instance", unreadableInstance),
      WafAutoBlock: WafAutoBlock.listBy("instance", unreadableInstance),
    };
  }
}

function granted(rules: readonly DeclaredRule[], attached: AttachedNamespaces): GrantedRule[] {
  return rules.map((rule) => {
    const attachment = attached.of("WafIpRule", rule.meta.namespace);
    const isAttached = attachment.state === "Allowed";
    return { rule, isAttached, grant: isAttached ? attachment.grant : undefined };
  });
}
