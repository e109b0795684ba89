// The rules and origins of the cluster whose instance does not exist. They concern the instance that they were attached to
// before, which only its inventory knows. Looked for again after changes of objects, and only then.
import type { ObjectChange } from "../../kube/reflector.ts";
import type { BrokenReference, BrokenReferences } from "../../model/gathered.ts";
import { resourceKey } from "../../model/resource.ts";
import type { ClusterObject } from "./cluster-object.ts";
import { isMeaningfulChange } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";
import { parseInstance, parseObject } from "./parse-object.ts";
import { problemOf } from "./unattached-objects.ts";

export class BrokenReferenceIndex {
  readonly #stores: ClusterStores;
  readonly #watchedNamespace: string | undefined;
  #known: BrokenReferences | undefined;

  constructor(stores: ClusterStores, watchedNamespace: string | undefined) {
    this.#stores = stores;
    this.#watchedNamespace = watchedNamespace;
  }

  objectChanged(change: ObjectChange<ClusterObject>): void {
    if (change.type !== "Changed" || isMeaningfulChange(change.old, change.object)) this.#known = undefined;
  }

  /** The same object until something changes. */
  references(): BrokenReferences {
    this.#known ??= { objects: this.#find(), existing: undefined };
    return this.#known;
  }

  #find(): Map<string, BrokenReference> {
    const { byKind } = this.#stores;
    const objects = new Map<string, BrokenReference>();
    for (const kind of ["WafIpRule", "WafOrigin"] as const) {
      const missing = byKind[kind]
        .valuesOf("instance")
        .filter((instance) => parseInstance(byKind.WafInstance.get(instance)) === undefined);
      for (const object of missing.flatMap((instance) => byKind[kind].listBy("instance", instance))) {
        const parsed = parseObject(kind, object);
        if (!parsed.ok) continue;
        const { declared } = parsed;
        const told = problemOf(this.#stores, this.#watchedNamespace, declared.instance);
        if (told !== undefined) objects.set(resourceKey(declared.meta), { declared, problem: told.problem, place: "" });
      }
    }
    return objects;
  }
}
