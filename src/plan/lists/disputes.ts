// Two writers that can't see each other. An entry that keeps coming and going against the plan is left alone for a while,
// longer each time, instead of being fought over.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Dispute } from "../../model/inventory.ts";

const hourMs = 3_600_000;
/** More than this within an hour is a dispute. */
const correctionsMax = 3;
const firstPauseMs = 5 * 60_000;
const pauseMsMax = 4 * hourMs;
/** How many times are remembered for one entry. */
const timesMax = 10;
/** How many entries are remembered; beyond it those that were corrected least often are forgotten. */
export const disputesMax = 10_000;

export interface Contested {
  readonly list: ListName;
  readonly entry: Entry;
  readonly untilMs: number;
}

/** Notes that the listed entries were found changed against the plan. Forgets what is older than the longest pause. */
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
  // An entry that is already contested keeps its place: otherwise the fights over too many entries would never end.
  const weight = ({ atMs }: Dispute): number => Math.min(atMs.length, correctionsMax + 1);
  const kept = [...byKey.values()].toSorted(
    (a, b) => weight(b) - weight(a) || (b.atMs.at(-1) ?? 0) - (a.atMs.at(-1) ?? 0),
  );
  return kept.slice(0, disputesMax);
}

/** True if no more contested entries can be remembered: others are corrected in each run, without a pause. */
export function isFull(contested: readonly Contested[]): boolean {
  return contested.length >= disputesMax;
}

/** The entries that are left alone now, and until when. */
export function contestedNow(disputes: readonly Dispute[], nowMs: number): readonly Contested[] {
  return disputes.flatMap((dispute) => {
    const untilMs = pausedUntil(upTo(nowMs, dispute.atMs));
    return untilMs !== undefined && untilMs > nowMs ? [{ list: dispute.list, entry: dispute.entry, untilMs }] : [];
  });
}

/** Without the times that lie ahead: the clock was set back since, and a pause must not last that much longer. */
function upTo(nowMs: number, atMs: readonly number[] = []): readonly number[] {
  return atMs.filter((timeMs) => timeMs <= nowMs);
}

/** The pause starts with the correction that was one too many within an hour, and doubles with each further one. */
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
