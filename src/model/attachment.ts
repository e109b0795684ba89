// Decides whether an object may attach to an instance, and with which permissions. The instance's namespace is the owner and
// has all permissions. Every other namespace is a guest, with the permissions of the first matching grant in `spec.access`.
import type { DeclaredInstance, Grant, LabelSelector, NamespaceChoice } from "./declared.ts";
import type { Gathered } from "./gathered.ts";
import { nameKey, type ResourceMeta, type ResourceRef } from "./resource.ts";

export type Attachment =
  /** `grant` is undefined for the owner. */
  | { readonly state: "Allowed"; readonly grant: Grant | undefined }
  | {
      /** `Unknown`: the labels of the namespace are unknown, so no decision is possible. */
      readonly state: "NotAllowed" | "Unknown";
      readonly message: string;
      readonly grant?: undefined;
    };

/** Whether a gathered object may attach to its instance. */
export function attachmentOf(
  { instance, namespaceLabels }: Pick<Gathered, "instance" | "namespaceLabels">,
  { kind, namespace }: Pick<ResourceRef, "kind" | "namespace">,
): Attachment {
  return decideAttachment(instance, kind, namespace, namespaceLabels.get(namespace));
}

/**
 * The messages are visible to the guest, so they must not reveal selectors or other namespaces.
 * @param labels the labels of `namespace`, or undefined if they could not be read
 */
export function decideAttachment(
  { meta, access }: DeclaredInstance,
  kind: ResourceMeta["kind"],
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): Attachment {
  if (namespace === meta.namespace) return { state: "Allowed", grant: undefined };
  const grant = access.find(({ namespaces }) => isChosen(namespaces, namespace, labels) !== false);
  if (grant !== undefined && isChosen(grant.namespaces, namespace, labels) === undefined) {
    return { state: "Unknown", message: `The labels of namespace ${namespace} could not be read.` };
  }
  if (grant?.kinds.some((one) => one === kind) === true) return { state: "Allowed", grant };
  return {
    state: "NotAllowed",
    message: `WafInstance ${nameKey(meta)} does not grant ${kind} objects to namespace ${namespace}: ask its owner to extend spec.access, or declare this in namespace ${meta.namespace}.`,
  };
}

/** Whether any grant depends on the labels of namespaces. */
export function dependsOnLabels({ access }: Pick<DeclaredInstance, "access">): boolean {
  return access.some(({ namespaces }) => namespaces.from === "Selector");
}

/** Undefined if it depends on labels that are unknown. */
export function isChosen(
  { from, names, selector }: NamespaceChoice,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  if (selector === undefined) return from === "All" || names?.includes(namespace) === true;
  return labels === undefined ? undefined : matchesSelector(selector, labels);
}

/** As in Kubernetes: all terms must match; a selector without terms matches everything. */
export function matchesSelector(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  const labelsHold = Object.entries(selector.matchLabels).every(([key, value]) => labels[key] === value);
  return labelsHold && selector.matchExpressions.every((term) => matchesTerm(term, labels));
}

function matchesTerm(
  term: LabelSelector["matchExpressions"][number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[term.key];
  switch (term.operator) {
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    case "In":
      return value !== undefined && term.values.includes(value);
    case "NotIn":
      return value === undefined || !term.values.includes(value);
  }
}
