// A list usually shows the same entries as in the last read, with a few removed and a few more at its end. The result then overlays
// the previous one, so nothing is parsed and a plan compares only the changes.
import type { Entry } from "./entry.ts";
import type { ObservedEntries } from "./observed.ts";
import { withChanges } from "./overlaid-map.ts";

/** If more than this share has changed, the list is read like a new one. */
const shareMax = 1 / 8;

/**
 * What `observeSpellings` returns for these strings, derived from the last result; undefined if they differ from it in another way.
 * `entryOf` reads new strings.
 */
export function observeAgain(
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
