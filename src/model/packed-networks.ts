// Networks as numbers in typed arrays: sorting and comparing 100,000 of them as strings or objects takes several times as long.
import type { Entry } from "./entry.ts";
import { isOpaque } from "./entry.ts";
import { headOf } from "./entry-head.ts";
import { type AddressFamily, canonicalText, prefixLengthMax, readCanonical } from "./network.ts";

const wordBits = 32;
const groupBits = 16;
/** Sort keys contain the first bits of an address exactly: its first word, and this many bits of the second. */
const secondWordBits = 20;
/** More than the longest prefix. */
const lengthsMax = 256;

/**
 * Networks of one family, identified by their index, ordered by first address, wider networks first: a network precedes the
 * networks inside it. They have no host bits. Networks derived from others are appended.
 */
export class PackedNetworks {
  readonly family: AddressFamily;
  /** 32 bits each. */
  readonly #words: Uint32Array;
  readonly #wordsEach: number;
  readonly #prefixLengths: Uint8Array;
  readonly #isOther: Uint8Array;
  /** Created on demand, unless known. */
  readonly #texts: (Entry | undefined)[] = [];
  #size: number;

  /** Among equal networks, the one from `others` comes first. */
  constructor(family: AddressFamily, entries: readonly Entry[], others: readonly Entry[]) {
    this.family = family;
    this.#size = entries.length + others.length;
    // Merging halves adds fewer networks than there are entries.
    const capacity = this.#size + entries.length;
    this.#wordsEach = family === "ipv4" ? 1 : 4;
    this.#words = new Uint32Array(capacity * this.#wordsEach);
    this.#prefixLengths = new Uint8Array(capacity);
    this.#isOther = new Uint8Array(capacity);
    if (family === "ipv4") this.#fillIpv4(entries, others);
    else this.#fillIpv6([...others, ...entries], others.length);
  }

  get size(): number {
    return this.#size;
  }

  isOther(index: number): boolean {
    return this.#isOther[index] === 1;
  }

  /** Everything about an IPv4 network fits into one number, and sorting numbers is fast. */
  #fillIpv4(entries: readonly Entry[], others: readonly Entry[]): void {
    const keys = new Float64Array(this.#size);
    const keyOf = (entry: Entry): number => {
      const { firstBits, prefixLength } = headOf(entry);
      return (firstBits * lengthsMax + prefixLength) * 2;
    };
    let place = 0;
    for (const entry of others) keys[place++] = keyOf(entry);
    for (const entry of entries) keys[place++] = keyOf(entry) + 1;
    keys.sort();
    // An iterator of pairs takes several times as long.
    for (let index = 0; index < this.#size; index += 1) {
      const key = keys[index] ?? 0;
      const network = Math.floor(key / 2);
      this.#isOther[index] = key % 2 === 0 ? 1 : 0;
      this.#prefixLengths[index] = network % lengthsMax;
      this.#words[index] = Math.floor(network / lengthsMax);
    }
  }

  #fillIpv6(all: readonly Entry[], otherCount: number): void {
    const words = new Uint32Array(all.length * this.#wordsEach);
    const lengths = new Uint8Array(all.length);
    const heads = new Float64Array(all.length);
    let next = 0;
    for (const entry of all) {
      const place = next++;
      const { parts, prefixLength } = readCanonical(entry);
      lengths[place] = prefixLength;
      const start = place * this.#wordsEach;
      for (let word = 0; word < this.#wordsEach; word += 1) {
        words[start + word] = (((parts[2 * word] ?? 0) << groupBits) | (parts[2 * word + 1] ?? 0)) >>> 0;
      }
      const [first = 0, second = 0] = [words[start], words[start + 1]];
      heads[place] = first * 2 ** secondWordBits + (second >>> (wordBits - secondWordBits));
    }
    const compareRest = (a: number, b: number): number => {
      for (let word = 1; word < this.#wordsEach; word += 1) {
        const difference = (words[a * this.#wordsEach + word] ?? 0) - (words[b * this.#wordsEach + word] ?? 0);
        if (difference !== 0) return difference;
      }
      return (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b;
    };
    const order = Uint32Array.from({ length: all.length }, (_, place) => place);
    order.sort((a, b) => (heads[a] ?? 0) - (heads[b] ?? 0) || compareRest(a, b));
    for (let index = 0; index < all.length; index += 1) {
      const place = order[index] ?? 0;
      for (let word = 0; word < this.#wordsEach; word += 1) {
        this.#words[index * this.#wordsEach + word] = words[place * this.#wordsEach + word] ?? 0;
      }
      this.#prefixLengths[index] = lengths[place] ?? 0;
      this.#isOther[index] = place < otherCount ? 1 : 0;
      this.#texts[index] = all[place];
    }
  }

  /** Returns the index of the network that is one bit wider and starts at the same address. */
  addWider(index: number): number {
    const wider = this.#size;
    this.#size += 1;
    const from = index * this.#wordsEach;
    this.#words.copyWithin(wider * this.#wordsEach, from, from + this.#wordsEach);
    this.#prefixLengths[wider] = this.prefixLength(index) - 1;
    return wider;
  }

  prefixLength(index: number): number {
    return this.#prefixLengths[index] ?? 0;
  }

  textOf(index: number): Entry {
    this.#texts[index] ??= this.#makeText(index, this.prefixLength(index));
    return this.#texts[index];
  }

  /** The string of the network that `addWider` would add. */
  widerTextOf(index: number): Entry {
    return this.#makeText(index, this.prefixLength(index) - 1);
  }

  /** Whether the first network contains the second, or equals it. */
  contains(outer: number, inner: number): boolean {
    const length = this.prefixLength(outer);
    return length <= this.prefixLength(inner) && this.#sharesBits(outer, inner, length);
  }

  /** Whether both are the halves of one network, the lower one first. */
  areHalves(lower: number, upper: number): boolean {
    const length = this.prefixLength(lower);
    if (length === 0 || length !== this.prefixLength(upper)) return false;
    return (
      !this.#hasBit(lower, length - 1) && this.#hasBit(upper, length - 1) && this.#sharesBits(lower, upper, length - 1)
    );
  }

  #hasBit(index: number, bit: number): boolean {
    const word = this.#words[index * this.#wordsEach + Math.floor(bit / wordBits)] ?? 0;
    return ((word >>> (wordBits - 1 - (bit % wordBits))) & 1) === 1;
  }

  #sharesBits(a: number, b: number, length: number): boolean {
    for (let word = 0, left = length; left > 0; word += 1, left -= wordBits) {
      const difference =
        ((this.#words[a * this.#wordsEach + word] ?? 0) ^ (this.#words[b * this.#wordsEach + word] ?? 0)) >>> 0;
      if ((left >= wordBits ? difference : difference >>> (wordBits - left)) !== 0) return false;
    }
    return true;
  }

  #makeText(index: number, prefixLength: number): Entry {
    const words = [...this.#words.subarray(index * this.#wordsEach, (index + 1) * this.#wordsEach)];
    const [first = 0] = words;
    const parts =
      this.family === "ipv4"
        ? [first >>> 24, (first >>> 16) & 0xff, (first >>> 8) & 0xff, first & 0xff]
        : words.flatMap((word) => [word >>> groupBits, word & 0xffff]);
    return canonicalText({ family: this.family, parts, prefixLength }) as Entry;
  }
}

/** Groups entries by family, without opaque ones, which have no addresses. */
export function byFamily(entries: Iterable<Entry>): Record<AddressFamily, Entry[]> {
  const sorted: Record<AddressFamily, Entry[]> = { ipv4: [], ipv6: [] };
  for (const entry of entries) {
    if (!isOpaque(entry)) sorted[entry.includes(":") ? "ipv6" : "ipv4"].push(entry);
  }
  return sorted;
}

/** Whether any of the entries is wider than a single address. */
export function hasNetworks(entries: readonly Entry[]): boolean {
  return entries.some(
    (entry) => entry.includes("/") && headOf(entry).prefixLength < prefixLengthMax(headOf(entry).family),
  );
}
