// What the WAF showed when it was last read, kept up to date with the writes that it accepted since.
import type { ListName } from "./declared.ts";
import type { Entry } from "./entry.ts";

/** Each entry with the spellings that the list shows for it: nearly always one. */
export type ObservedEntries = ReadonlyMap<Entry, readonly string[]>;

/** What a list shows, without the spellings. */
export type ShownEntries = Pick<ReadonlySet<Entry>, "has"> & { keys(): Iterable<Entry> };

/** What the lists showed at the end of a run: what is gone by the next one was removed by another writer. */
export interface SeenLists {
  /** A different domain is another WAF. */
  readonly domain: string;
  readonly lists: Readonly<Record<ListName, ShownEntries>>;
}

export interface Observed {
  readonly domain: string;
  readonly primaryOrigin: string;
  readonly lists: Readonly<Record<ListName, ObservedEntries>>;
  /** When the read of each list began: what it shows may be older, and is no newer than its answer. */
  readonly readAtMs: Readonly<Record<ListName, number>>;
}
