// A list that was read before usually shows the same, with a few entries less and a few more at its end. Then the result lies over
// the one before, so that nothing is parsed and a plan compares what changed.
import type { Entry } from "./entry.ts";
import type { ObservedEntries } from "./observed.ts";
import { withChanges } from "./overlaid-map.ts";

/** With more changes than this share, the list is read like a new one. */
const shareMax = 1 / 8;

/**
 * What `observeSpellings` returns for these texts, made from the last result; undefined if they differ from it in another way.
 * `entryOf` reads a text that is new.
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
      // What is new must come last, as in the result.
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
