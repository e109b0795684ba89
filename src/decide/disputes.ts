// Detects conflicts with another writer. If an entry is repeatedly added or removed against the plan, wafsync stops correcting it
// for a while, longer each time.
import type { ListName } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { Dispute } from "../model/inventory.ts";
import { hourMs } from "../model/time-text.ts";

/** More corrections than this within an hour are a dispute. */
const correctionsMax = 3;
const firstPauseMs = 5 * 60_000;
const pauseMsMax = 4 * hourMs;
/** The number of correction times that are recorded for one entry. */
const timesMax = 10;
/**
 * The number of entries that are recorded; beyond it, those that were corrected least often are dropped: others are corrected in each run,
 * without a pause.
 */
export const disputesMax = 10_000;

export interface Contested {
  readonly list: ListName;
  readonly entry: Entry;
  readonly untilMs: number;
}

/** Records corrections of the listed entries. Drops times that are older than the longest pause. */
export function noteDisputes(
  disputes: readonly Dispute[],
  found: readonly { readonly list: ListName; readonly entry: Entry }[],
  nowMs: number,
): readonly Dispute[] {
  const byKey = new Map<string, Dispute>();
  for (const dispute of disputes) {
    const last = dispute.atMs.at(-1) ?? 0;
    if (nowMs - last < pauseMsMax + hourMs) byKey.set(keyOf(dispute), dispute);
  }
  if (found.length === 0 && byKey.size === disputes.length) return disputes;
  for (const { list, entry } of found) {
    const before = byKey.get(keyOf({ list, entry }));
    byKey.set(keyOf({ list, entry }), { list, entry, atMs: [...upTo(nowMs, before?.atMs), nowMs].slice(-timesMax) });
  }
  // An entry that is already contested keeps its place: otherwise, disputes over too many entries would never end.
  const weight = ({ atMs }: Dispute): number => Math.min(atMs.length, correctionsMax + 1);
  const kept = [...byKey.values()].toSorted(
    (a, b) => weight(b) - weight(a) || (b.atMs.at(-1) ?? 0) - (a.atMs.at(-1) ?? 0),
  );
  return kept.slice(0, disputesMax);
}

/** The entries that are currently not corrected, and until when. */
export function contestedNow(disputes: readonly Dispute[], nowMs: number): readonly Contested[] {
  return disputes.flatMap((dispute) => {
    const untilMs = pausedUntil(upTo(nowMs, dispute.atMs));
    return untilMs !== undefined && untilMs > nowMs ? [{ list: dispute.list, entry: dispute.entry, untilMs }] : [];
  });
}

/** Without times in the future: the clock was set back since, and a pause must not last longer because of that. */
function upTo(nowMs: number, atMs: readonly number[] = []): readonly number[] {
  return atMs.filter((timeMs) => timeMs <= nowMs);
}

/** The pause starts with the first correction beyond the limit within an hour, and doubles with each further one. */
function pausedUntil(atMs: readonly number[]): number | undefined {
  const last = atMs.at(-1);
  if (last === undefined) return undefined;
  let excess = 0;
  for (let index = correctionsMax; index < atMs.length; index += 1) {
    const first = atMs[index - correctionsMax] ?? 0;
    const now = atMs[index] ?? 0;
    const pauseBefore = excess === 0 ? 0 : firstPauseMs * 2 ** (excess - 1);
    excess = now - first <= hourMs + pauseBefore * correctionsMax ? excess + 1 : 0;
  }
  if (excess === 0) return undefined;
  return last + Math.min(firstPauseMs * 2 ** (excess - 1), pauseMsMax);
}

function keyOf({ list, entry }: { readonly list: ListName; readonly entry: Entry }): string {
  return `${list} ${entry}`;
}
