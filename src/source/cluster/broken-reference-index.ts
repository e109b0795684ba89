// The rules, origins and automatic blocks in the cluster whose instance does not exist. They affect their former instance, which only its inventory
// records. The index is updated only after changes of objects.
import type { ObjectChange } from "../../kube/reflector.ts";
import type { BrokenReference, BrokenReferences } from "../../model/gathered.ts";
import { continuesOf } from "../../model/continues.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import { nameKey, resourceKey } from "../../model/resource.ts";
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

  /** The same object until something changes, unless the instance continues another one. */
  references({ meta }: DeclaredInstance): BrokenReferences {
    this.#known ??= { objects: this.#find(), existing: undefined };
    const continues = continuesOf(meta);
    if (continues.state !== "Named") return this.#known;
    const behind = this.#refersTo(nameKey(continues.former), nameKey(meta));
    return { ...this.#known, objects: new Map([...this.#known.objects, ...behind]) };
  }

  /** Objects that still refer to an instance that another one continues. Relevant only for the latter. */
  #refersTo(former: string, successor: string): Map<string, BrokenReference> {
    const { byKind } = this.#stores;
    const problem = `WafInstance ${successor} continues WafInstance ${former}, which the object refers to.`;
    const objects = new Map<string, BrokenReference>();
    for (const kind of ["WafIpRule", "WafOrigin", "WafAutoBlock"] as const) {
      for (const object of byKind[kind].listBy("instance", former)) {
        const parsed = parseObject(kind, object);
        if (!parsed.ok) continue;
        const { declared } = parsed;
        objects.set(resourceKey(declared.meta), { declared, problem, place: "" });
      }
    }
    return objects;
  }

  #find(): Map<string, BrokenReference> {
    const { byKind } = this.#stores;
    const objects = new Map<string, BrokenReference>();
    for (const kind of ["WafIpRule", "WafOrigin", "WafAutoBlock"] as const) {
      const missing = byKind[kind]
        .valuesOf("instance")
        .filter((instance) => parseInstance(byKind.WafInstance.get(instance)) === undefined);
      for (const object of missing.flatMap((instance) => byKind[kind].listBy("instance", instance))) {
        const parsed = parseObject(kind, object);
        if (!parsed.ok) continue;
        const { declared } = parsed;
        const { instance, meta } = declared;
        const isHome = meta.namespace === instance.namespace;
        const problem = problemOf(this.#stores, this.#watchedNamespace, instance, isHome)?.problem;
        if (problem !== undefined) objects.set(resourceKey(declared.meta), { declared, problem, place: "" });
      }
    }
    return objects;
  }
}
