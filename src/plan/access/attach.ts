// May a rule or origin attach to an instance? Decided as Gateway API's listeners decide it: by the namespace it lives in.
import type { AllowedNamespaces, DeclaredInstance, LabelSelector } from "../../model/declared.ts";

export type Attachment =
  | { readonly state: "Allowed" }
  | { readonly state: "NotAllowed"; readonly message: string }
  /** The labels of the namespace are not known, so nothing may be concluded. */
  | { readonly state: "Unknown"; readonly message: string };

/** `labels` are those of `namespace`, or undefined if they could not be read. */
export function decideAttachment(
  instance: DeclaredInstance,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): Attachment {
  const allowed = instance.allowedNamespaces;
  const home = instance.meta.namespace;
  if (namespace === home || allowed.from === "All") return { state: "Allowed" };
  if (allowed.from === "Same") {
    return {
      state: "NotAllowed",
      message: `WafInstance ${home}/${instance.meta.name} takes rules and origins of its own namespace only: move this object to ${home}, or let spec.allowedNamespaces of the instance include ${namespace}.`,
    };
  }
  if (labels === undefined) {
    return { state: "Unknown", message: `The labels of namespace ${namespace} could not be read.` };
  }
  if (allowed.selector !== undefined && matchesSelector(allowed.selector, labels)) return { state: "Allowed" };
  return {
    state: "NotAllowed",
    message: `Namespace ${namespace} does not have the labels that WafInstance ${home}/${instance.meta.name} asks for in spec.allowedNamespaces.selector (${describeSelector(allowed)}).`,
  };
}

/** As Kubernetes evaluates a label selector: all terms must hold; a selector without terms matches everything. */
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

function describeSelector(allowed: AllowedNamespaces): string {
  const labels = Object.entries(allowed.selector?.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
  const terms = (allowed.selector?.matchExpressions ?? []).map((term) =>
    [term.key, term.operator, term.values.join(",")].filter((part) => part !== "").join(" "),
  );
  const parts = [...labels, ...terms];
  return parts.length === 0 ? "no selector is given" : parts.join("; ");
}
