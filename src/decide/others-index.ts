// Finds entries of other namespaces that overlap an entry. An index per namespace would have quadratic cost. Instead, namespaces
// are numbered, and for each binary digit there is one index for namespaces with a 0 and one for those with a 1: any other
// namespace differs in some digit, so it is in an index that does not include the own namespace.
import type { Entry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";

export interface EntryOf {
  readonly entry: Entry;
  readonly namespace: string;
}

interface DigitIndex {
  readonly zeros: NetworkIndex;
  readonly ones: NetworkIndex;
}

export class OthersIndex {
  readonly #numbers = new Map<string, number>();
  /** By binary digit, lowest first. */
  readonly #digits: readonly DigitIndex[];
  readonly #all: NetworkIndex;

  constructor(entries: readonly EntryOf[]) {
    for (const { namespace } of entries) {
      if (!this.#numbers.has(namespace)) this.#numbers.set(namespace, this.#numbers.size);
    }
    const digits = Math.ceil(Math.log2(Math.max(this.#numbers.size, 1)));
    const indexOf = (digit: number, value: number): NetworkIndex => {
      const isIn = ({ namespace }: EntryOf): boolean => digitOf(this.#numbers.get(namespace) ?? 0, digit) === value;
      return new NetworkIndex(entries.filter(isIn).map(({ entry }) => entry));
    };
    this.#all = new NetworkIndex(entries.map(({ entry }) => entry));
    this.#digits = Array.from({ length: digits }, (_, digit) => ({
      zeros: indexOf(digit, 0),
      ones: indexOf(digit, 1),
    }));
  }

  /** Whether an entry of any other namespace shares an address with the entry. */
  overlapsOthers(entry: Entry, namespace: string): boolean {
    if (this.#all.overlaps(entry) === undefined) return false;
    const number = this.#numbers.get(namespace);
    if (number === undefined) return true;
    return this.#digits.some(({ zeros, ones }, digit) => {
      const others = digitOf(number, digit) === 0 ? ones : zeros;
      return others.overlaps(entry) !== undefined;
    });
  }
}

function digitOf(number: number, digit: number): number {
  return (number >> digit) & 1;
}
