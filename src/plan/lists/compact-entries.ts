// Finds the entries that need no call of their own, because other entries of the same list cover their addresses.
//
// - `Covered`: an entry inside a wider one is not sent, if the wider one lasts at least as long and has at least its priority. So
//   a temporary network covers no permanent address, and no urgent address waits for a less urgent network.
// - `Exact`: in addition, the two halves of a network with the same end and priority are sent as that network.
//
// An entry is not compacted if an entry of the other list contains it and is itself inside the cover, because a WAF may let the
// narrowest entry decide.
import type { Compaction, PrefixLengths } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { PackedNetworks, byFamily, hasNetworks } from "../../model/packed-networks.ts";

export interface CompactionInput {
  readonly mode: Compaction;
  readonly entries: Iterable<Entry>;
  /** Undefined if all entries have the same terms. */
  readonly termsOf: ((entry: Entry) => Terms) | undefined;
  /** Entries of the other list. */
  readonly others: readonly Entry[];
  /** The shortest prefix lengths of merged networks. */
  readonly widest: PrefixLengths;
}

/** How long an entry is declared, and how urgently. Equal terms are the same object. */
export interface Terms {
  /** Infinite if it never expires. */
  readonly endsAtMs: number;
  readonly priority: number;
}

/** For each entry that is not sent, the entry that is sent for it. Takes as long as sorting the entries. */
export type Covers = ReadonlyMap<Entry, Entry>;

export const noCovers: Covers = new Map();

export function compactEntries(input: CompactionInput): Covers {
  if (input.mode === "None") return noCovers;
  const entries = byFamily(input.entries);
  const others = byFamily(input.others);
  const covers = new Map<Entry, Entry>();
  for (const family of ["ipv4", "ipv6"] as const) {
    if (entries[family].length < 2 || (input.mode === "Covered" && !hasNetworks(entries[family]))) continue;
    new Sweep(new PackedNetworks(family, entries[family], others[family]), input).run(covers);
  }
  return covers;
}

const none = -1;
const sameTerms: Terms = { endsAtMs: Number.POSITIVE_INFINITY, priority: 0 };

/** One sweep over the sorted networks of one family. Indexes identify these networks. */
class Sweep {
  readonly #networks: PackedNetworks;
  readonly #input: CompactionInput;
  readonly #others: ReadonlySet<Entry>;
  /** The network that is sent for another one. */
  readonly #sentFor = new Map<number, number>();
  /** The terms of merged networks. */
  readonly #mergedTerms = new Map<number, Terms>();
  /** The number of declared networks, including those of the other list. */
  readonly #count: number;

  constructor(networks: PackedNetworks, input: CompactionInput) {
    this.#networks = networks;
    this.#input = input;
    this.#others = new Set(input.others);
    this.#count = networks.size;
  }

  /** Adds the results to `covers`. */
  run(covers: Map<Entry, Entry>): void {
    const sent = this.#cover();
    if (this.#input.mode === "Exact") this.#merge(sent);
    for (const index of this.#sentFor.keys()) {
      if (index < this.#count) covers.set(this.#networks.textOf(index), this.#networks.textOf(this.#rootOf(index)));
    }
  }

  /** Finds the covered entries. Returns all others, in order. */
  #cover(): number[] {
    const sent: number[] = [];
    /** Networks that contain each other, widest first. */
    const open: number[] = [];
    for (let index = 0; index < this.#count; index += 1) {
      while (open.length > 0 && !this.#networks.contains(open.at(-1) ?? none, index)) open.pop();
      const isOther = this.#networks.isOther(index);
      const cover = isOther ? undefined : this.#coverAmong(open, index);
      if (cover !== undefined) {
        // Any network that this one could cover is also covered by its cover.
        this.#sentFor.set(index, cover);
        continue;
      }
      open.push(index);
      if (!isOther) sent.push(index);
    }
    return sent;
  }

  /** The narrowest network that contains this one and has sufficient terms, up to the first one of the other list. */
  #coverAmong(open: readonly number[], index: number): number | undefined {
    const terms = this.#termsOf(index);
    for (let place = open.length - 1; place >= 0; place -= 1) {
      const container = open[place] ?? none;
      if (this.#networks.isOther(container)) return undefined;
      const { endsAtMs, priority } = this.#termsOf(container);
      if (endsAtMs >= terms.endsAtMs && priority >= terms.priority) return container;
    }
    return undefined;
  }

  /** Merges the halves of networks, and the halves of the results. */
  #merge(sent: readonly number[]): void {
    const byTerms = new Map<Terms, number[]>();
    for (const index of sent) {
      const terms = this.#termsOf(index);
      const merged = byTerms.get(terms) ?? [];
      byTerms.set(terms, merged);
      merged.push(index);
      while (this.#mergeLast(merged, terms));
    }
  }

  #mergeLast(merged: number[], terms: Terms): boolean {
    const lower = merged.at(-2);
    const upper = merged.at(-1);
    if (lower === undefined || upper === undefined || !this.#networks.areHalves(lower, upper)) return false;
    if (this.#networks.prefixLength(lower) <= this.#input.widest[this.#networks.family]) return false;
    if (this.#others.size > 0 && this.#isAmongOthers(lower, upper)) return false;
    const wider = this.#networks.addWider(lower);
    this.#mergedTerms.set(wider, terms);
    this.#sentFor.set(lower, wider);
    this.#sentFor.set(upper, wider);
    merged.splice(-2, 2, wider);
    return true;
  }

  /** Whether the other list contains one of the halves, or the whole. */
  #isAmongOthers(lower: number, upper: number): boolean {
    const networks = this.#networks;
    const texts = [networks.textOf(lower), networks.textOf(upper), networks.widerTextOf(lower)];
    return texts.some((text) => this.#others.has(text));
  }

  #termsOf(index: number): Terms {
    const { termsOf } = this.#input;
    if (termsOf === undefined) return sameTerms;
    return this.#mergedTerms.get(index) ?? termsOf(this.#networks.textOf(index));
  }

  /** Chains are short: a cover, then one merge for each bit. Each step shortens the chain for later calls. */
  #rootOf(index: number): number {
    let root = index;
    for (let next = this.#sentFor.get(root); next !== undefined; next = this.#sentFor.get(root)) root = next;
    for (let at = index; at !== root;) {
      const next = this.#sentFor.get(at) ?? root;
      this.#sentFor.set(at, root);
      at = next;
    }
    return root;
  }
}
