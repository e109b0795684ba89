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

/** A name or a value of a label, with an optional prefix for names. */
const word = "[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?";
const requirements: readonly [RegExp, (match: RegExpExecArray) => LabelSelector["matchExpressions"][number]][] = [
  [new RegExp(`^(${word})$`), ([, key = ""]) => ({ key, operator: "Exists", values: [] })],
  [new RegExp(`^! *(${word})$`), ([, key = ""]) => ({ key, operator: "DoesNotExist", values: [] })],
  [
    new RegExp(`^(${word}) *(!=|==?) *(${word})?$`),
    ([, key = "", operator, value = ""]) => ({ key, operator: operator === "!=" ? "NotIn" : "In", values: [value] }),
  ],
  [
    new RegExp(`^(${word}) +(in|notin) *\\(([^()]*)\\)$`),
    ([, key = "", operator, values = ""]) => ({
      key,
      operator: operator === "in" ? "In" : "NotIn",
      values: values.split(",").map((value) => value.trim()),
    }),
  ],
];

/**
 * Reads a selector in the notation of `kubectl get -l`, such as `tier=edge,!legacy,team in (a,b)`.
 * @returns the selector, or a requirement that can't be read
 */
export function parseSelector(text: string): LabelSelector | { readonly unreadable: string } {
  const matchExpressions: LabelSelector["matchExpressions"][number][] = [];
  for (const part of text.split(/,(?![^(]*\))/).map((one) => one.trim())) {
    const read = requirements.flatMap(([pattern, termOf]) => {
      const match = pattern.exec(part);
      return match === null ? [] : [termOf(match)];
    })[0];
    if (read === undefined) return { unreadable: part };
    matchExpressions.push(read);
  }
  return { matchLabels: {}, matchExpressions };
}
