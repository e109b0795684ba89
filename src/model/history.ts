// What happened to the entries and origins of one WAF, for people: never read for a decision. Bounded by number, age and size,
// so that the oldest events are forgotten first.
import type { ListName } from "./declared.ts";
import type { EntryOwners } from "./entry-owners.ts";

/**
 * `Drifted`: another writer changed it against what is declared. `Refused`: the API did not accept the write. `OutcomeUnknown`: no
 * answer says whether the write took effect; `Added` or `Removed` follows once the list shows that it did. `Approved`: a person
 * approved its removal.
 */
export const historyKinds = [
  "Added",
  "Removed",
  "Adopted",
  "Drifted",
  "Refused",
  "OutcomeUnknown",
  "Approved",
] as const;
export type HistoryKind = (typeof historyKinds)[number];

export type HistoryTarget = ListName | "origins";

export interface HistoryEvent {
  readonly atMs: number;
  readonly kind: HistoryKind;
  readonly target: HistoryTarget;
  /** Entries, or the hosts of origins: never an empty array. */
  readonly values: readonly string[];
  /** Who wanted them at that time. */
  readonly owners: EntryOwners;
  /** What the API said, who approved, or what another writer did; empty where there is nothing to add. */
  readonly note: string;
}

export interface HistoryLimits {
  readonly eventsMax: number;
  readonly ageMsMax: number;
  /** Of the stored text. */
  readonly bytesMax: number;
}

/** Events with more values are divided, so that dropping the oldest one never drops much at once. */
export const valuesOfEventMax = 500;

/** Joins what happened within the same second for the same owners, and divides what has become too long. In order of time. */
export function joinEvents(events: readonly HistoryEvent[]): HistoryEvent[] {
  const joined = new Map<string, { readonly event: HistoryEvent; readonly values: string[] }>();
  for (const event of events) {
    const { kind, target, owners, note, values } = event;
    const key = JSON.stringify([Math.floor(event.atMs / 1000), kind, target, owners, note]);
    const known = joined.get(key) ?? { event, values: [] };
    joined.set(key, known);
    known.values.push(...values);
  }
  return [...joined.values()].flatMap(({ event, values }) => divided({ ...event, values }));
}

function divided(event: HistoryEvent): HistoryEvent[] {
  const parts: HistoryEvent[] = [];
  for (let start = 0; start < event.values.length; start += valuesOfEventMax) {
    parts.push({ ...event, values: event.values.slice(start, start + valuesOfEventMax) });
  }
  return parts;
}

/** The newest lines that fit. `timeOf` gives the time of a line; undefined for one that cannot be read, which is dropped. */
export function keepNewest(
  lines: readonly string[],
  limits: HistoryLimits,
  nowMs: number,
  timeOf: (line: string) => number | undefined,
): string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (let place = lines.length - 1; place >= 0 && kept.length < limits.eventsMax; place -= 1) {
    const line = lines[place] ?? "";
    const atMs = timeOf(line);
    if (atMs === undefined) continue;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > limits.bytesMax || nowMs - atMs > limits.ageMsMax) break;
    kept.push(line);
  }
  return kept.reverse();
}
