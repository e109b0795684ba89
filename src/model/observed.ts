// What the WAF showed at the last read, updated with the writes that it has accepted since.
import type { ListName } from "./declared.ts";
import { type Entry, readObservedEntry } from "../address/entry.ts";

/** Each entry with the spellings that the list shows for it: nearly always one. */
export type ObservedEntries = ReadonlyMap<Entry, readonly string[]>;

/** The entries of a list, without spellings. */
export type ShownEntries = Pick<ReadonlySet<Entry>, "has"> & { keys(): Iterable<Entry> };

/** The lists at the end of a run: entries that are missing in the next run were removed by another writer. */
export interface SeenLists {
  /** Another domain means another WAF. */
  readonly domain: string;
  readonly lists: Readonly<Record<ListName, ShownEntries>>;
}

/** What the desired state depends on: which of two rules has an entry, and whom automatic blocks exempt. */
export interface Shown {
  readonly lists: Readonly<Record<ListName, ObservedEntries>>;
  /** The host of the current primary origin; undefined if it was not read. */
  readonly primaryOrigin?: string;
}

export interface Observed extends Shown {
  readonly domain: string;
  readonly primaryOrigin: string;
  /** When the read of each list started: its content may be older. */
  readonly readAtMs: Readonly<Record<ListName, number>>;
}

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
