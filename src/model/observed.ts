// What the WAF showed at the last read, updated with the writes that it has accepted since.
import type { ListName } from "./declared.ts";
import type { Entry } from "../address/entry.ts";

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
