// The history of the entries and origins of one WAF, shown to users and never used for decisions. Limited by number, age and size;
// the oldest events are dropped first.
import type { ListName } from "./declared.ts";
import type { EntryOwners } from "./entry-owners.ts";

/**
 * `Drifted`: another writer changed it contrary to the declared state. `Refused`: the API rejected the write. `OutcomeUnknown`: no
 * answer says whether the write took effect; `Added` or `Removed` follows once the list shows that it did. `Approved`: a user
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
  /** Entries, or the hosts of origins; never empty. */
  readonly values: readonly string[];
  /** Their owners at that time. */
  readonly owners: EntryOwners;
  /** The description of the rule, the API's error, who approved, or what another writer did; may be empty. */
  readonly note: string;
}

export interface HistoryLimits {
  readonly eventsMax: number;
  readonly ageMsMax: number;
  /** The size of the stored text. */
  readonly bytesMax: number;
}

/** Events with more values are split, so that dropping the oldest event never drops much. */
export const valuesOfEventMax = 500;

/** Merges events of the same second and owners, and splits events that are too long. Ordered by time. */
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

/** The newest lines that fit. `timeOf` returns the time of a line, or undefined for an invalid line, which is dropped. */
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
