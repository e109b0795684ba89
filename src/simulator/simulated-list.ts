// One address list of the simulated WAF. It contains networks, so two spellings of one network are one entry.
import { type Network, networkIdentity, parseNetwork, spellEntry, type SpellingMode } from "./network.ts";

/** `Done`, or why the list was not changed. */
export type ListChange = "Done" | "BadFormat" | "AlreadyListed" | "NotListed" | "OtherSpelling";

interface ListEntry {
  readonly given: string;
  readonly network: Network;
}

export class SimulatedList {
  readonly #entries = new Map<string, ListEntry>();

  get size(): number {
    return this.#entries.size;
  }

  /** The entries in the order in which they were added, in the spelling of the mode. */
  shown(mode: SpellingMode): string[] {
    return Array.from(this.#entries.values(), ({ given, network }) => spellEntry(given, network, mode));
  }

  /** Whether the network is on the list, in any spelling. */
  has(text: string): boolean {
    const network = parseNetwork(text);
    return network !== undefined && this.#entries.has(networkIdentity(network));
  }

  add(text: string): ListChange {
    const network = parseNetwork(text);
    if (network === undefined) return "BadFormat";
    const identity = networkIdentity(network);
    if (this.#entries.has(identity)) return "AlreadyListed";
    this.#entries.set(identity, { given: text, network });
    return "Done";
  }

  /** @param shownIn if given, only the spelling that the list shows in this mode removes the entry */
  remove(text: string, shownIn?: SpellingMode): ListChange {
    const network = parseNetwork(text);
    if (network === undefined) return "BadFormat";
    const identity = networkIdentity(network);
    const entry = this.#entries.get(identity);
    if (entry === undefined) return "NotListed";
    if (shownIn !== undefined && spellEntry(entry.given, entry.network, shownIn) !== text) return "OtherSpelling";
    this.#entries.delete(identity);
    return "Done";
  }
}
