// May an object attach to an instance, and what may it do there? The namespace of the instance is the owner and may do
// everything. Every other namespace is a guest, and may do what the first grant in `spec.access` that matches it says.
import type { DeclaredInstance, Grant, GuestKind } from "./declared.ts";
import { nameKey } from "./resource.ts";
import { matchesSelector } from "./label-selector.ts";

export type Attachment =
  /** `grant` is undefined for the owner, who needs none. */
  | { readonly state: "Allowed"; readonly grant: Grant | undefined }
  | { readonly state: "NotAllowed"; readonly message: string }
  /** The namespace is a guest, but what the object is or does was not granted to it. */
  | { readonly state: "NotGranted"; readonly message: string }
  /** The labels of the namespace are not known, so nothing may be concluded. */
  | { readonly state: "Unknown"; readonly message: string };

/**
 * The messages go to the guest, so they name nothing that it does not know: no selector, no other namespace.
 * @param labels those of `namespace`, or undefined if they could not be read
 */
export function decideAttachment(
  instance: DeclaredInstance,
  kind: GuestKind,
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
    if (grant.kinds.includes(kind)) return { state: "Allowed", grant };
    const message = `WafInstance ${nameKey(instance.meta)} does not grant ${kind} objects to namespace ${namespace}: ask its owner to add the kind to spec.access, or declare this in namespace ${home}.`;
    return { state: "NotGranted", message };
  }
  return {
    state: "NotAllowed",
    message: `WafInstance ${nameKey(instance.meta)} does not grant access to namespace ${namespace}: ask its owner to add the namespace to spec.access.`,
  };
}

/** Whether any of what is granted depends on the labels of namespaces. */
export function dependsOnLabels({ access }: Pick<DeclaredInstance, "access">): boolean {
  return access.some(({ namespaces }) => namespaces.from === "Selector");
}

/** Undefined if that can't be told. */
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
