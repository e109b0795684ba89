// Reads the strings of a list.
import { type Entry, readObservedEntry } from "../address/entry.ts";
import type { ObservedEntries } from "./observed.ts";

/**
 * Reads the strings of a list, in order; the list may show the same network more than once. A string that `known` contains is
 * canonical and not parsed: pass the declared entries and those of the last read, and a synced list of 100,000 entries costs 100,000
 * look-ups.
 */
export function observeSpellings(
  spellings: readonly string[],
  ...known: readonly { has(text: string): boolean }[]
): ObservedEntries {
  const observed = new Map<Entry, string[]>();
  for (const spelling of spellings) {
    const isKnown = known.some((entries) => entries.has(spelling));
    const entry = isKnown ? (spelling as Entry) : readObservedEntry(spelling);
    const others = observed.get(entry);
    if (others === undefined) observed.set(entry, [spelling]);
    else others.push(spelling);
  }
  return observed;
}
