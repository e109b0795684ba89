// Determines which objects are attached to an instance, by kind and namespace. All other objects are excluded before anything is
// read for them, so that they do not affect the instance.
import { type Attachment, decideAttachment } from "../../model/attachment.ts";
import type { DeclaredInstance, DeclaredRule, Grant, GuestKind } from "../../model/declared.ts";
import type { LabelsOf } from "../gather.ts";
import type { ClusterObject } from "./cluster-object.ts";
import type { ClusterStores } from "./cluster-watches.ts";

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
