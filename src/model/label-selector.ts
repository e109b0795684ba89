// Label selectors, evaluated as in Kubernetes.
import type { LabelSelector } from "./declared.ts";

/** All terms must match; a selector without terms matches everything. */
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
