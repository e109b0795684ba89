// Decides whether an object may attach to an instance, and with which permissions. The instance's namespace is the owner and
// has all permissions. Every other namespace is a guest, with the permissions of the first matching grant in `spec.access`.
import type { DeclaredInstance, Grant, LabelSelector } from "./declared.ts";
import type { Gathered } from "./gathered.ts";
import { nameKey, type ResourceMeta, type ResourceRef } from "./resource.ts";

export type Attachment =
  /** `grant` is undefined for the owner. */
  | { readonly state: "Allowed"; readonly grant: Grant | undefined }
  | {
      /**
       * `NotGranted`: the namespace is a guest without a grant for this kind or action. `Unknown`: the labels of the namespace are
       * unknown, so no decision is possible.
       */
      readonly state: "NotAllowed" | "NotGranted" | "Unknown";
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
  instance: DeclaredInstance,
  kind: ResourceMeta["kind"],
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): Attachment {
  const home = instance.meta.namespace;
  if (namespace === home) return { state: "Allowed", grant: undefined };
  for (const grant of instance.access) {
    const matches = isFor(grant, namespace, labels);
    if (matches === undefined) {
      return { state: "Unknown", message: `The labels of namespace ${namespace} could not be read.` };
    }
    if (!matches) continue;
    if (grant.kinds.some((one) => one === kind)) return { state: "Allowed", grant };
    const message = `WafInstance ${nameKey(instance.meta)} does not grant ${kind} objects to namespace ${namespace}: ask its owner to add the kind to spec.access, or declare this in namespace ${home}.`;
    return { state: "NotGranted", message };
  }
  return {
    state: "NotAllowed",
    message: `WafInstance ${nameKey(instance.meta)} does not grant access to namespace ${namespace}: ask its owner to add the namespace to spec.access.`,
  };
}

/** Whether any grant depends on the labels of namespaces. */
export function dependsOnLabels({ access }: Pick<DeclaredInstance, "access">): boolean {
  return access.some(({ namespaces }) => namespaces.from === "Selector");
}

/** Undefined if unknown. */
function isFor(
  { namespaces }: Grant,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): boolean | undefined {
  switch (namespaces.from) {
    case "All":
      return true;
    case "Names":
      return namespaces.names.includes(namespace);
    case "Selector":
      return labels === undefined ? undefined : matchesSelector(namespaces.selector, labels);
  }
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
