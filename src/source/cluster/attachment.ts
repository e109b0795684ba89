// Determines which objects are attached to an instance, by kind and namespace: all others are excluded before anything is read for them, so
// that they do not affect the instance. And finds objects that no reconcile run covers but whose status must report the reason: their
// instance does not exist, is being deleted or grants no access, or they are invalid.
import { nearestName } from "../../api/nearest-name.ts";
import type { ObjectChange } from "../../kube/store.ts";
import { type Attachment, decideAttachment } from "../../model/attachment.ts";
import { continuesOf } from "../../model/continues.ts";
import type { DeclaredInstance, DeclaredRule, Grant, GuestKind } from "../../model/declared.ts";
import type { BrokenReference, BrokenReferences } from "../../model/gathered.ts";
import {
  nameKey,
  type ObjectName,
  resourceKey,
  type ResourceKind,
  resourceKinds,
  type ResourceMeta,
} from "../../model/resource.ts";
import type { LabelsOf } from "../gather.ts";
import {
  type ClusterObject,
  instanceNameOf,
  isMeaningfulChange,
  metaOfObject,
  parseInstance,
  parseObject,
} from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";

/** An object that no run reports on. */
export interface Unattached {
  readonly meta: ResourceMeta;
  readonly reason: "InstanceNotFound" | "InstanceDeleting" | "NotAllowed" | "NotGranted" | "InvalidSpec";
  /** Undefined for instances and feeds, and if the reference itself cannot be read. */
  readonly instance: ObjectName | undefined;
  /** The problem, its cause, and what to do. */
  readonly problem: string;
  /** The cached object, which is replaced on each change. */
  readonly stored: object;
}

type Problem = Pick<Unattached, "reason" | "problem">;

/** Looks up objects; created for one iteration, because it caches its results about instances. */
export class UnattachedLookup {
  readonly #stores: ClusterStores;
  readonly #watchedNamespace: string | undefined;
  readonly #problems = new Map<string, Problem | undefined>();
  readonly #attached = new Map<string, AttachedNamespaces | undefined>();

  constructor(stores: ClusterStores, watchedNamespace: string | undefined) {
    this.#stores = stores;
    this.#watchedNamespace = watchedNamespace;
  }

  /** Undefined for an object that a run reports on, so that a walk through many objects can be interrupted. */
  *all(): Generator<Unattached | undefined> {
    for (const kind of resourceKinds) {
      for (const object of this.#stores.byKind[kind].list()) yield this.find(kind, object);
    }
  }

  find(kind: ResourceKind, stored: ClusterObject): Unattached | undefined {
    const parsed = parseObject(kind, stored);
    if (kind === "WafInstance" || kind === "WafFeed") {
      if (parsed.ok) return undefined;
      return { ...invalid(kind, stored, parsed.problem), instance: undefined };
    }
    const instance = instanceNameOf(stored);
    if (!parsed.ok) return { ...invalid(kind, stored, parsed.problem), instance };
    if (instance === undefined) return undefined;
    const isHome = stored.metadata.namespace === instance.namespace;
    const key = `${nameKey(instance)} ${isHome}`;
    if (!this.#problems.has(key)) {
      this.#problems.set(key, problemOf(this.#stores, this.#watchedNamespace, instance, isHome));
    }
    const problem = this.#problems.get(key) ?? this.#refusalOf(kind, stored, instance);
    return problem === undefined ? undefined : { meta: parsed.declared.meta, instance, stored, ...problem };
  }

  #refusalOf(kind: GuestKind, { metadata }: ClusterObject, instance: ObjectName): Problem | undefined {
    const key = nameKey(instance);
    if (!this.#attached.has(key)) {
      const declared = parseInstance(this.#stores.byKind.WafInstance.get(key));
      const labelsOf = watchedLabels(this.#stores);
      this.#attached.set(key, declared === undefined ? undefined : new AttachedNamespaces(declared, labelsOf));
    }
    const attachment = this.#attached.get(key)?.of(kind, metadata.namespace ?? "");
    const refusal = attachment === undefined ? undefined : refusalOf(attachment);
    return refusal === undefined ? undefined : { reason: refusal.state, problem: refusal.message };
  }
}

function invalid(
  kind: ResourceKind,
  stored: ClusterObject,
  problem: string,
): Pick<Unattached, "meta" | "reason" | "problem" | "stored"> {
  return { meta: metaOfObject(kind, stored), reason: "InvalidSpec", problem, stored };
}

/**
 * Why an object can't attach to the instance, whatever is granted; undefined if the instance exists and is valid.
 *
 * @param isHome whether the object is in the instance's namespace: other namespaces must not learn the names of instances
 */
function problemOf(
  stores: ClusterStores,
  watchedNamespace: string | undefined,
  instance: ObjectName,
  isHome: boolean,
): Problem | undefined {
  const name = nameKey(instance);
  const object = stores.byKind.WafInstance.get(name);
  if (object === undefined) {
    return { reason: "InstanceNotFound", problem: describeMissing(stores, watchedNamespace, instance, isHome) };
  }
  if (parseInstance(object) === undefined) {
    return { reason: "InstanceNotFound", problem: `WafInstance ${name} is invalid: check its status.` };
  }
  if (object.metadata.deletionTimestamp === undefined) return undefined;
  return { reason: "InstanceDeleting", problem: `WafInstance ${name} is being deleted.` };
}

function describeMissing(
  { byKind: { WafInstance } }: ClusterStores,
  watchedNamespace: string | undefined,
  instance: ObjectName,
  isHome: boolean,
): string {
  const name = nameKey(instance);
  if (watchedNamespace !== undefined && instance.namespace !== watchedNamespace) {
    return `wafsync watches only namespace ${watchedNamespace}, so it cannot see WafInstance ${name}.`;
  }
  if (!isHome) return `There is no WafInstance ${name}.`;
  const near = nearestName(
    instance.name,
    WafInstance.listBy("namespace", instance.namespace).map(({ metadata }) => metadata.name),
  );
  const problem = `There is no WafInstance ${name}`;
  return near === undefined ? `${problem}.` : `${problem}; did you mean ${near}?`;
}

/**
 * The rules, origins and automatic blocks in the cluster whose instance does not exist. They affect their former instance, which only its
 * inventory records. The index is updated only after changes of objects.
 */
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
    const problem = `WafInstance ${successor} continues WafInstance ${former}, which the object refers to.`;
    return this.#broken(
      () => [former],
      () => problem,
    );
  }

  #find(): Map<string, BrokenReference> {
    const { WafInstance } = this.#stores.byKind;
    return this.#broken(
      (kind) =>
        this.#stores.byKind[kind]
          .valuesOf("instance")
          .filter((name) => parseInstance(WafInstance.get(name)) === undefined),
      ({ instance, meta }) => {
        const isHome = meta.namespace === instance.namespace;
        return problemOf(this.#stores, this.#watchedNamespace, instance, isHome)?.problem;
      },
    );
  }

  /** The valid objects that refer to these instances and have a problem. */
  #broken(
    instancesOf: (kind: EntryKind) => readonly string[],
    problemIn: (declared: BrokenReference["declared"]) => string | undefined,
  ): Map<string, BrokenReference> {
    const { byKind } = this.#stores;
    const objects = new Map<string, BrokenReference>();
    for (const kind of entryKinds) {
      for (const object of instancesOf(kind).flatMap((instance) => byKind[kind].listBy("instance", instance))) {
        const parsed = parseObject(kind, object);
        const problem = parsed.ok ? problemIn(parsed.declared) : undefined;
        if (!parsed.ok || problem === undefined) continue;
        objects.set(resourceKey(parsed.declared.meta), { declared: parsed.declared, problem, place: "" });
      }
    }
    return objects;
  }
}

/** The kinds that declare entries or origins, which an object with a broken reference keeps. */
const entryKinds = ["WafIpRule", "WafOrigin", "WafAutoBlock"] as const;
type EntryKind = (typeof entryKinds)[number];

/** The last labels from the watch. */
export function watchedLabels({ namespaces }: Pick<ClusterStores, "namespaces">): LabelsOf {
  return (namespace) => {
    const object = namespaces?.get(namespace);
    return object === undefined ? undefined : (object.metadata.labels ?? {});
  };
}

/** The message for an object without access; undefined for an object that is or may be attached. */
export function refusalOf(
  attachment: Attachment,
): Extract<Attachment, { state: "NotAllowed" | "NotGranted" }> | undefined {
  return attachment.state === "NotAllowed" || attachment.state === "NotGranted" ? attachment : undefined;
}

export interface GrantedRule {
  readonly rule: DeclaredRule;
  /** Undefined for the owner. */
  readonly grant: Grant | undefined;
  /** Whether its entries can apply: otherwise, none of its ConfigMaps is read. */
  readonly isAttached: boolean;
}

/** Decides once for each kind and namespace. */
export class AttachedNamespaces {
  readonly #instance: DeclaredInstance;
  readonly #labelsOf: LabelsOf;
  /** Cached by kind and namespace, because every run checks each object. */
  readonly #known = new Map<GuestKind, Map<string, Attachment>>();

  constructor(instance: DeclaredInstance, labelsOf: LabelsOf) {
    this.#instance = instance;
    this.#labelsOf = labelsOf;
  }

  of(kind: GuestKind, namespace: string): Attachment {
    const ofKind = this.#known.get(kind) ?? new Map<string, Attachment>();
    const known = ofKind.get(namespace);
    if (known !== undefined) return known;
    const attachment = decideAttachment(this.#instance, kind, namespace, this.#labelsOf(namespace));
    this.#known.set(kind, ofKind.set(namespace, attachment));
    return attachment;
  }

  /** Also true for a namespace with unknown labels. */
  mayAttach(kind: GuestKind, namespace: string): boolean {
    return refusalOf(this.of(kind, namespace)) === undefined;
  }

  /** The objects that are or may be attached. */
  only(kind: GuestKind, objects: readonly ClusterObject[]): ClusterObject[] {
    return objects.filter(({ metadata }) => this.mayAttach(kind, metadata.namespace ?? ""));
  }

  /** The rules with their grants. */
  granted(rules: readonly DeclaredRule[]): GrantedRule[] {
    return rules.map((rule) => {
      const attachment = this.of("WafIpRule", rule.meta.namespace);
      const isAttached = attachment.state === "Allowed";
      return { rule, isAttached, grant: isAttached ? attachment.grant : undefined };
    });
  }
}
