// Finds the entries that need no call of their own, because other entries of the same list have their addresses.
//
// - `Covered`: an entry inside a wider one that lasts at least as long is not sent. A temporary network therefore covers no
//   permanent address, and when it expires, nothing has to be added before it can go.
// - `Exact`: in addition, two entries that are the halves of a network and end at the same time are sent as that network.
//
// An entry of the other list stands between an entry and its cover if it contains the first and is inside the second: nothing is
// compacted across it, because a WAF may let the narrowest entry decide.
import type { Compaction, PrefixLengths } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { PackedNetworks, byFamily, hasNetworks } from "../../model/packed-networks.ts";

export interface CompactionInput {
  readonly mode: Compaction;
  readonly entries: Iterable<Entry>;
  /** When an entry ends; undefined if all of them end at the same time. */
  readonly endsAtMs: ((entry: Entry) => number) | undefined;
  /** Entries of the other list. */
  readonly others: readonly Entry[];
  /** The shortest prefix lengths of merged networks. */
  readonly widest: PrefixLengths;
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

/** One pass over the sorted networks of one family. Indexes are those of the networks. */
class Sweep {
  readonly #networks: PackedNetworks;
  readonly #input: CompactionInput;
  readonly #others: ReadonlySet<Entry>;
  /** The network that is sent for another one. */
  readonly #sentFor = new Map<number, number>();
  /** When the networks end that were merged. */
  readonly #mergedEnds = new Map<number, number>();
  /** The number of declared networks and those of the other list. */
  readonly #count: number;

  constructor(networks: PackedNetworks, input: CompactionInput) {
    this.#networks = networks;
    this.#input = input;
    this.#others = new Set(input.others);
    this.#count = networks.size;
  }

  /** Adds what it finds to `covers`. */
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
    /** Networks that contain each other, the widest first. */
    const open: number[] = [];
    for (let index = 0; index < this.#count; index += 1) {
      while (open.length > 0 && !this.#networks.contains(open.at(-1) ?? none, index)) open.pop();
      const container = open.at(-1);
      const isOther = this.#networks.isOther(index);
      const isInside = container !== undefined && !isOther && !this.#networks.isOther(container);
      if (isInside && this.#endOf(container) >= this.#endOf(index)) {
        // Whatever is inside this one is also inside its cover, which lasts as long.
        this.#sentFor.set(index, container);
        continue;
      }
      open.push(index);
      if (!isOther) sent.push(index);
    }
    return sent;
  }

  /** Merges the halves of networks, and the halves of the results. */
  #merge(sent: readonly number[]): void {
    const ends = new Map<number, number[]>();
    for (const index of sent) {
      const end = this.#endOf(index);
      const merged = ends.get(end) ?? [];
      ends.set(end, merged);
      merged.push(index);
      while (this.#mergeLast(merged, end));
    }
  }

  #mergeLast(merged: number[], end: number): boolean {
    const lower = merged.at(-2);
    const upper = merged.at(-1);
    if (lower === undefined || upper === undefined || !this.#networks.areHalves(lower, upper)) return false;
    if (this.#networks.prefixLength(lower) <= this.#input.widest[this.#networks.family]) return false;
    if (this.#others.size > 0 && this.#others.has(this.#networks.widerTextOf(lower))) return false;
    const wider = this.#networks.addWider(lower);
    this.#mergedEnds.set(wider, end);
    this.#sentFor.set(lower, wider);
    this.#sentFor.set(upper, wider);
    merged.splice(-2, 2, wider);
    return true;
  }

  #endOf(index: number): number {
    const { endsAtMs } = this.#input;
    if (endsAtMs === undefined) return 0;
    return this.#mergedEnds.get(index) ?? endsAtMs(this.#networks.textOf(index));
  }

  /** Chains are short: a cover, then one merge for each bit. Each step is shortened for those that follow. */
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
