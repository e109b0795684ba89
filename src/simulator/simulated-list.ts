// One address list of the simulated WAF. It contains networks, so two spellings of one network are one entry.
import { type Network, networkIdentity, parseNetwork, spellEntry, type SpellingMode } from "./network.ts";

const listEntriesMax = 500_000;
/** Earlier changes are not tracked, so they are always visible. */
const changesMax = 1_000;

/** `Done`, or why the list was not changed. */
export type ListChange = "Done" | "BadFormat" | "AlreadyListed" | "NotListed" | "OtherSpelling" | "Full";

interface ListEntry {
  readonly given: string;
  readonly network: Network;
}

/** A change to the list through the API, with the data to undo it. */
interface ListUndo {
  readonly atMs: number;
  readonly identity: string;
  readonly before: ListEntry | undefined;
}

export class SimulatedList {
  readonly #entries = new Map<string, ListEntry>();
  readonly #changes: ListUndo[] = [];

  get size(): number {
    return this.#entries.size;
  }

  /** The entries in the order in which they were added, in the spelling of the mode. */
  shown(mode: SpellingMode): string[] {
    return Array.from(this.#entries.values(), ({ given, network }) => spellEntry(given, network, mode));
  }

  /** The entries before the changes since a time, or before the last `writes` changes. */
  shownBefore(
    mode: SpellingMode,
    { sinceMs, writes }: { readonly sinceMs?: number; readonly writes: number },
  ): string[] {
    const undone =
      sinceMs === undefined ? this.#changes.slice(-writes) : this.#changes.filter(({ atMs }) => atMs > sinceMs);
    const entries = new Map(this.#entries);
    for (const { identity, before } of writes === 0 ? [] : undone.toReversed()) {
      if (before === undefined) entries.delete(identity);
      else entries.set(identity, before);
    }
    return Array.from(entries.values(), ({ given, network }) => spellEntry(given, network, mode));
  }

  /** Whether the network is on the list, in any spelling. */
  has(text: string): boolean {
    const network = parseNetwork(text);
    return network !== undefined && this.#entries.has(networkIdentity(network));
  }

  /** @param atMs the time of a change through the API; without it, the change is never hidden */
  add(text: string, atMs?: number): ListChange {
    const network = parseNetwork(text);
    if (network === undefined) return "BadFormat";
    const identity = networkIdentity(network);
    if (this.#entries.has(identity)) return "AlreadyListed";
    if (this.#entries.size >= listEntriesMax) return "Full";
    this.#remember(identity, atMs);
    this.#entries.set(identity, { given: text, network });
    return "Done";
  }

  /** @param shownIn if given, only the spelling that the list shows in this mode removes the entry */
  remove(text: string, shownIn?: SpellingMode, atMs?: number): ListChange {
    const network = parseNetwork(text);
    if (network === undefined) return "BadFormat";
    const identity = networkIdentity(network);
    const entry = this.#entries.get(identity);
    if (entry === undefined) return "NotListed";
    if (shownIn !== undefined && spellEntry(entry.given, entry.network, shownIn) !== text) return "OtherSpelling";
    this.#remember(identity, atMs);
    this.#entries.delete(identity);
    return "Done";
  }

  #remember(identity: string, atMs: number | undefined): void {
    if (atMs === undefined) return;
    this.#changes.push({ atMs, identity, before: this.#entries.get(identity) });
    if (this.#changes.length > changesMax) this.#changes.shift();
  }
}
