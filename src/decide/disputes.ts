// What other writers did against the declared state. Drift is what they changed since wafsync last read the lists. If they change the same
// entry again and again, wafsync stops correcting it for a while, longer each time.
import { type DeclaredInstance, eachList, type ListName, listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { Dispute } from "../model/inventory.ts";
import type { SeenLists } from "../model/observed.ts";
import { hourMs } from "../model/texts.ts";
import type { Plan } from "./plan.ts";

/** More corrections than this, with less than `forgottenAfterMs` between them, are a dispute. */
const correctionsMax = 3;
const firstPauseMs = 5 * 60_000;
const pauseMsMax = 4 * hourMs;
const forgottenAfterMs = pauseMsMax + hourMs;
/** The number of correction times that are recorded for one entry. */
const timesMax = 10;
/**
 * The number of entries that are recorded; beyond it, those that were corrected least often are dropped: others are corrected in each run,
 * without a pause.
 */
export const disputesMax = 10_000;

export interface DriftedEntry {
  readonly list: ListName;
  readonly entry: Entry;
  /** `Vanished`: a declared entry is missing from the list. `Appeared`: it is of others, and the list is `Exclusive`. */
  readonly change: "Vanished" | "Appeared";
}

/** Only changes that wafsync corrects are drift: not if it writes nothing, or ignores the entries of other writers. */
export function findDrift(
  { policies }: DeclaredInstance,
  { outcomes }: Pick<Plan, "outcomes">,
  last: Pick<SeenLists, "lists">,
): DriftedEntry[] {
  return listNames.flatMap((list) =>
    outcomes[list].flatMap(({ entry, declared, shown, recorded, outcome }): DriftedEntry[] => {
      const wasShown = last.lists[list].has(entry);
      if (outcome.kind === "Off" || outcome.kind === "NoRoom") return [];
      if (declared) return !shown && wasShown ? [{ list, entry, change: "Vanished" }] : [];
      // A recorded entry may be a late write of wafsync, unless a read has missed it since.
      const isOurs = recorded !== undefined && recorded.missingSinceMs === undefined;
      const isNew = shown && !wasShown && !isOurs && policies[list] === "Exclusive";
      return isNew ? [{ list, entry, change: "Appeared" }] : [];
    }),
  );
}

/** Records corrections of the listed entries, and forgets disputes that have ended. */
export function noteDisputes(
  disputes: readonly Dispute[],
  found: readonly { readonly list: ListName; readonly entry: Entry }[],
  nowMs: number,
): readonly Dispute[] {
  const byKey = new Map<string, Dispute>();
  for (const dispute of disputes) {
    const last = dispute.atMs.at(-1) ?? 0;
    if (nowMs - last < forgottenAfterMs) byKey.set(keyOf(dispute), dispute);
  }
  if (found.length === 0 && byKey.size === disputes.length) return disputes;
  for (const { list, entry } of found) {
    const before = byKey.get(keyOf({ list, entry }));
    byKey.set(keyOf({ list, entry }), { list, entry, atMs: [...upTo(nowMs, before?.atMs), nowMs].slice(-timesMax) });
  }
  const kept = [...byKey.values()].toSorted(
    (a, b) => b.atMs.length - a.atMs.length || (b.atMs.at(-1) ?? 0) - (a.atMs.at(-1) ?? 0),
  );
  return kept.slice(0, disputesMax);
}

/** The entries that are currently not corrected, each with the end of its pause, which doubles with each further correction. */
export function contestedNow(
  disputes: readonly Dispute[],
  nowMs: number,
): Readonly<Record<ListName, ReadonlyMap<Entry, number>>> {
  const contested = eachList(() => new Map<Entry, number>());
  for (const { list, entry, atMs } of disputes) {
    const times = upTo(nowMs, atMs);
    const excess = times.length - correctionsMax;
    const untilMs = (times.at(-1) ?? 0) + Math.min(firstPauseMs * 2 ** (excess - 1), pauseMsMax);
    if (excess > 0 && untilMs > nowMs) contested[list].set(entry, untilMs);
  }
  return contested;
}

/** Without times in the future: the clock was set back since, and a pause must not last longer because of that. */
function upTo(nowMs: number, atMs: readonly number[] = []): readonly number[] {
  return atMs.filter((timeMs) => timeMs <= nowMs);
}

function keyOf({ list, entry }: { readonly list: ListName; readonly entry: Entry }): string {
  return `${list} ${entry}`;
}
