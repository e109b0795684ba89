// Reads the strings of a list. It usually shows the same entries as in the last read, with a few removed and a few more at its end.
// The result then overlays the previous one, so nothing is parsed and a plan compares only the changes.
import { type Entry, readObservedEntry } from "../address/entry.ts";
import type { ObservedEntries } from "./observed.ts";
import { withChanges } from "./overlaid-map.ts";

/** If more than this share has changed, the list is read like a new one. */
const shareMax = 1 / 8;

/**
 * Reads the strings of a list, in order; the list may show the same network more than once. A string that `known` contains is
 * canonical and not parsed: pass the declared entries, and a synced list of 100,000 entries costs 100,000 look-ups. `last` is
 * the result of an earlier read, which is returned if nothing has changed since.
 */
export function observeSpellings(
  spellings: readonly string[],
  known: { has(text: string): boolean } = new Set<string>(),
  last?: ObservedEntries,
): ObservedEntries {
  const entryOf = (spelling: string): Entry =>
    known.has(spelling) ? (spelling as Entry) : readObservedEntry(spelling);
  const again = last === undefined ? undefined : observeAgain(spellings, last, entryOf);
  if (again !== undefined) return again;
  const observed = new Map<Entry, string[]>();
  for (const spelling of spellings) {
    const entry = entryOf(spelling);
    const others = observed.get(entry);
    if (others === undefined) observed.set(entry, [spelling]);
    else others.push(spelling);
  }
  return observed;
}

/**
 * What `observeSpellings` returns for these strings, derived from the last result; undefined if they differ from it in another way.
 * `entryOf` reads new strings.
 */
function observeAgain(
  spellings: readonly string[],
  last: ObservedEntries,
  entryOf: (spelling: string) => Entry,
): ObservedEntries | undefined {
  const changesMax = last.size * shareMax;
  const changes = new Map<Entry, readonly string[] | undefined>();
  const before = last.entries();
  let next = before.next();
  let hasNew = false;
  for (const spelling of spellings) {
    const isNext = next.done !== true && isOnly(next.value[1], spelling);
    if (!isNext && !last.has(spelling as Entry)) {
      const entry = entryOf(spelling);
      if (last.has(entry) || changes.has(entry)) return undefined;
      changes.set(entry, [spelling]);
      hasNew = true;
    } else {
      // New entries must come last, as in the result.
      if (hasNew) return undefined;
      for (; next.done !== true && !isOnly(next.value[1], spelling); next = before.next()) {
        changes.set(next.value[0], undefined);
        if (changes.size > changesMax) return undefined;
      }
      if (next.done === true) return undefined;
      next = before.next();
    }
    if (changes.size > changesMax) return undefined;
  }
  for (; next.done !== true; next = before.next()) changes.set(next.value[0], undefined);
  return changes.size > changesMax ? undefined : withChanges(last, changes);
}

function isOnly(texts: readonly string[], text: string): boolean {
  return texts.length === 1 && texts[0] === text;
}
