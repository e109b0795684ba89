// Determines which objects are attached to an instance, by kind and namespace: all others are excluded before anything is read for them, so
// that they do not affect the instance. And finds objects that no reconcile run covers but whose status must report the reason: their
// instance does not exist, is being deleted or grants no access, or they are invalid.
import { ChangeSignal } from "../../async/change-signal.ts";
import { decideAttachment, type BrokenReference, type BrokenReferences } from "../../model/gathered.ts";
import { continuesOf } from "../../model/continues.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import { nameKey, type ObjectName, resourceKey, type ResourceMeta, entryKinds } from "../../model/resource.ts";
import { asSentence, capitalized } from "../../model/texts.ts";
import { type LabelsOf, missingInstance } from "../gather.ts";
import { type ClusterObject, instanceNameOf, metaOfObject, parseInstance, parseObject } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";

/** An object that no run reports on. */
export interface Unattached {
  readonly meta: ResourceMeta;
  readonly reason: "InstanceNotFound" | "NotAllowed" | "InvalidSpec";
  /** Undefined for instances and feeds, and if the reference itself cannot be read. */
  readonly instance: ObjectName | undefined;
  /** The problem, its cause, and what to do. */
  readonly problem: string;
  /** The cached object, which is replaced on each change. */
  readonly stored: ClusterObject;
}

/** The objects in the stores that are not attached. */
export class UnattachedObjects {
  readonly #stores: ClusterStores["byKind"];
  readonly #labelsOf: LabelsOf;
  readonly #watchedNamespace: string | undefined;
  /** Tells of every change that may attach or detach an object. */
  readonly changed = new ChangeSignal();
  #broken: BrokenReferences | undefined;
  /** By instance and whether it is named in its own namespace. Many objects can name the same one, and finding a similar name is slow. */
  readonly #missing = new Map<string, string>();

  constructor(stores: ClusterStores["byKind"], labelsOf: LabelsOf, watchedNamespace: string | undefined) {
    this.#stores = stores;
    this.#labelsOf = labelsOf;
    this.#watchedNamespace = watchedNamespace;
  }

  /** Call this when an object has changed. */
  noteChange(): void {
    this.#broken = undefined;
    this.#missing.clear();
    this.changed.notify();
  }

  /** Undefined if a run reports on the object. */
  find(stored: ClusterObject): Unattached | undefined {
    const { kind } = stored;
    const parsed = parseObject(stored);
    const isGuest = kind !== "WafInstance" && kind !== "WafFeed";
    const instance = isGuest ? instanceNameOf(stored) : undefined;
    const meta = parsed.ok ? parsed.declared.meta : metaOfObject(stored);
    if (!parsed.ok) return { meta, reason: "InvalidSpec", problem: parsed.problem, instance, stored };
    if (!isGuest || instance === undefined) return undefined;
    const problem = this.#problemOf(instance, meta);
    if (problem !== undefined) return { meta, instance, stored, reason: "InstanceNotFound", problem };
    const declared = parseInstance(this.#stores.WafInstance.get(nameKey(instance)));
    const refusal = declared && refusalOf(declared, this.#labelsOf, stored);
    return refusal === undefined ? undefined : { meta, instance, stored, reason: "NotAllowed", problem: refusal };
  }

  /**
   * The objects that declare entries and whose instance does not exist. They affect their former instance, which only its inventory
   * records. Also those that still refer to an instance that this one continues. The same object until something changes, unless the
   * instance continues another one.
   */
  brokenReferences({ meta }: DeclaredInstance): BrokenReferences {
    const { WafInstance } = this.#stores;
    this.#broken ??= {
      objects: this.#referring(
        (name) => parseInstance(WafInstance.get(name)) === undefined,
        (declared) => this.#problemOf(declared.instance, declared.meta),
      ),
      existing: undefined,
    };
    const continues = continuesOf(meta);
    if (continues.state !== "Named") return this.#broken;
    const former = nameKey(continues.former);
    const problem = `WafInstance ${nameKey(meta)} continues WafInstance ${former}, which the object refers to.`;
    const behind = this.#referring(
      (name) => name === former,
      () => problem,
    );
    return { ...this.#broken, objects: new Map([...this.#broken.objects, ...behind]) };
  }

  #referring(
    isWanted: (instance: string) => boolean,
    problemOf: (declared: BrokenReference["declared"]) => string | undefined,
  ): Map<string, BrokenReference> {
    const objects = new Map<string, BrokenReference>();
    for (const kind of entryKinds) {
      const store = this.#stores[kind];
      const names = store.valuesOf("instance").filter(isWanted);
      for (const object of names.flatMap((name) => store.listBy("instance", name))) {
        const parsed = parseObject<typeof kind>(object);
        const problem = parsed.ok ? problemOf(parsed.declared) : undefined;
        if (!parsed.ok || problem === undefined) continue;
        objects.set(resourceKey(parsed.declared.meta), { declared: parsed.declared, problem });
      }
    }
    return objects;
  }

  /** Why the object can't attach to the instance, whatever is granted; undefined if the instance exists and is valid. */
  #problemOf(instance: ObjectName, { namespace }: ResourceMeta): string | undefined {
    const name = nameKey(instance);
    const object = this.#stores.WafInstance.get(name);
    if (object === undefined) {
      // Other namespaces must not learn the names of instances.
      const isHome = namespace === instance.namespace;
      const key = `${name} ${isHome}`;
      const problem = this.#missing.get(key) ?? this.#describeMissing(instance, isHome);
      this.#missing.set(key, problem);
      return problem;
    }
    if (parseInstance(object) === undefined) return `WafInstance ${name} is invalid: check its status.`;
    if (object.metadata.deletionTimestamp === undefined) return undefined;
    return `WafInstance ${name} is being deleted. Wait until it is gone, then create it again if you still need it.`;
  }

  #describeMissing(instance: ObjectName, isHome: boolean): string {
    const { namespace } = instance;
    const watched = this.#watchedNamespace;
    if (watched !== undefined && namespace !== watched) {
      return `wafsync watches only namespace ${watched}, so it cannot see WafInstance ${nameKey(instance)}.`;
    }
    const neighbours = isHome ? this.#stores.WafInstance.listBy("namespace", namespace) : [];
    const known = neighbours.map(({ metadata: { name } }) => ({ namespace, name }));
    return asSentence(capitalized(missingInstance(instance, known)));
  }
}

/** Why the object has no access to the instance; undefined if it is or may be attached. */
export function refusalOf(
  instance: DeclaredInstance,
  labelsOf: LabelsOf,
  { kind, metadata: { namespace = "" } }: ClusterObject,
): string | undefined {
  const attachment = decideAttachment(instance, kind, namespace, labelsOf(namespace));
  return attachment.state === "NotAllowed" ? attachment.message : undefined;
}
