// The writes to one list since it was last read, applied to the result of that read.
import type { Entry } from "../../model/entry.ts";
import type { ObservedEntries } from "../../model/observed.ts";
import { withChanges } from "../../model/overlaid-map.ts";

export class ListWrites {
  readonly #added = new Set<Entry>();
  /** The spellings that were removed. */
  readonly #removed = new Map<Entry, Set<string>>();

  get isEmpty(): boolean {
    return this.#added.size === 0 && this.#removed.size === 0;
  }

  added(entry: Entry): void {
    this.#added.add(entry);
    this.#removed.delete(entry);
  }

  removed(entry: Entry, spelling: string): void {
    this.#added.delete(entry);
    const spellings = this.#removed.get(entry) ?? new Set();
    this.#removed.set(entry, spellings.add(spelling));
  }

  /** Call this when the list was read, because the result includes the writes. */
  forget(): void {
    this.#added.clear();
    this.#removed.clear();
  }

  /** Whether the list contains the entry after the writes. */
  shows(entry: Entry, read: ObservedEntries): boolean {
    return this.#added.has(entry) || this.#left(entry, read).length > 0;
  }

  /** Returns the list after the writes. An added entry has the spelling in which it was sent. */
  over(read: ObservedEntries): ObservedEntries {
    if (this.isEmpty) return read;
    const changes = new Map<Entry, readonly string[] | undefined>();
    for (const entry of this.#removed.keys()) {
      const left = this.#left(entry, read);
      changes.set(entry, left.length === 0 ? undefined : left);
    }
    for (const entry of this.#added) changes.set(entry, [entry]);
    return withChanges(read, changes);
  }

  #left(entry: Entry, read: ObservedEntries): readonly string[] {
    const spellings = read.get(entry) ?? [];
    const removed = this.#removed.get(entry);
    return removed === undefined ? spellings : spellings.filter((spelling) => !removed.has(spelling));
  }
}
