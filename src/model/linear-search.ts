// Finds all occurrences of a string in linear time (Knuth–Morris–Pratt). The built-in search is faster on most strings, but has
// quadratic cost on crafted ones.

export class LinearSearch {
  readonly #wanted: string;
  /** For each prefix, the length of its longest proper prefix that is also a suffix. */
  readonly #borders: Uint16Array;

  constructor(wanted: string) {
    this.#wanted = wanted;
    this.#borders = new Uint16Array(wanted.length + 1);
    for (let length = 1, border = 0; length < wanted.length; length += 1) {
      border = this.#extend(border, wanted.charCodeAt(length));
      this.#borders[length + 1] = border;
    }
  }

  /** The start positions, in order; occurrences may overlap. */
  *in(text: string): Generator<number, void> {
    if (this.#wanted === "") return;
    for (let index = 0, matched = 0; index < text.length; index += 1) {
      matched = this.#extend(matched, text.charCodeAt(index));
      if (matched < this.#wanted.length) continue;
      yield index + 1 - matched;
      matched = this.#borders[matched] ?? 0;
    }
  }

  /** The matched length after one more character. */
  #extend(matched: number, code: number): number {
    let length = matched;
    while (length > 0 && this.#wanted.charCodeAt(length) !== code) length = this.#borders[length] ?? 0;
    return this.#wanted.charCodeAt(length) === code ? length + 1 : 0;
  }
}
