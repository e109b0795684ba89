// The instances that this operator reconciles: all, or those whose labels match its selector. Several operators can share a cluster
// if each object matches the selector of exactly one of them. An instance whose labels are changed moves to another operator:
// the former one makes no new call as soon as it sees the change, and the next one waits until a call in flight has ended, because
// the API accepts one call at a time.
import type { Clock } from "../async/clock.ts";
import type { LabelSelector } from "../model/declared.ts";
import { matchesSelector } from "../model/gathered.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";

/** Longer than a call and the delay of a watch take together. */
export const handOverMs = 30_000;

/** The change that an object's event is: the instance starts to match, or no longer matches. */
export type Membership = "Joined" | "Left" | "Unchanged";

export type LabelsOf = (instance: ObjectName) => Readonly<Record<string, string>> | undefined;

export class SelectedInstances {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #selector: LabelSelector | undefined;
  readonly #labelsOf: LabelsOf;
  /** Whether each known instance matched last. */
  readonly #matched = new Map<string, boolean>();
  readonly #joinedAtMs = new Map<string, number>();

  /**
   * @param selector undefined if the operator reconciles all instances
   * @param labelsOf the labels of an instance; undefined if it does not exist
   */
  constructor(clock: Pick<Clock, "monotonicMs">, selector: LabelSelector | undefined, labelsOf: LabelsOf) {
    this.#clock = clock;
    this.#selector = selector;
    this.#labelsOf = labelsOf;
  }

  /** Whether the selector matches the labels. */
  matches(labels: Readonly<Record<string, string>> | undefined): boolean {
    return this.#selector === undefined || matchesSelector(this.#selector, labels ?? {});
  }

  /** Whether this operator may work on the instance now. An instance that no longer exists belongs to the operator that knew it. */
  has(instance: ObjectName): boolean {
    if (this.#selector === undefined) return true;
    const key = nameKey(instance);
    const labels = this.#labelsOf(instance);
    if (labels === undefined) return this.#matched.get(key) === true;
    const joinedAtMs = this.#joinedAtMs.get(key);
    return this.matches(labels) && (joinedAtMs === undefined || this.#clock.monotonicMs() - joinedAtMs >= handOverMs);
  }

  /** Call this for each change of an instance, before its labels decide anything. */
  note(instance: ObjectName): Membership {
    const labels = this.#labelsOf(instance);
    if (this.#selector === undefined || labels === undefined) return "Unchanged";
    const key = nameKey(instance);
    const [before, now] = [this.#matched.get(key), this.matches(labels)];
    this.#matched.set(key, now);
    if (before === undefined || before === now) return "Unchanged";
    if (!now) return "Left";
    this.#joinedAtMs.set(key, this.#clock.monotonicMs());
    return "Joined";
  }

  /** Call this when nothing needs to be remembered about the instance. Does nothing while it exists: it may come back. */
  forget(instance: ObjectName): void {
    if (this.#labelsOf(instance) !== undefined) return;
    this.#matched.delete(nameKey(instance));
    this.#joinedAtMs.delete(nameKey(instance));
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
