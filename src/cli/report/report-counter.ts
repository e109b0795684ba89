// Counts how often each string of log rows occurs, with bounded memory, however many different strings there are. Counts are exact while
// there are few strings. After that, only the frequent ones are kept, and the maximum error of a count is known (Misra-Gries
// summary).

export interface Ranked<Note> {
  readonly key: string;
  /** Never more than the true count. */
  readonly count: number;
  readonly note: Note;
}

interface Counted<Note> {
  count: number;
  readonly note: Note;
}

export class FrequentCounter<Note> {
  readonly #keptMax: number;
  readonly #counts = new Map<string, Counted<Note>>();
  #shortMax = 0;
  #distinctMin = 0;

  /** @param keptMax How many strings are kept when there are too many. At most twice as many are held. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  /** Counts the string and returns its note, which the caller may change. @param firstNote creates the note of a new string */
  add(key: string, firstNote: () => Note): Note {
    const counted = this.#counts.get(key);
    if (counted !== undefined) {
      counted.count += 1;
      return counted.note;
    }
    const note = firstNote();
    this.#counts.set(key, { count: 1, note });
    this.#distinctMin = Math.max(this.#distinctMin, this.#counts.size);
    if (this.#counts.size > 2 * this.#keptMax) this.#shrink();
    return note;
  }

  /** The maximum by which any count is too low; 0 if all counts are exact. */
  get shortMax(): number {
    return this.#shortMax;
  }

  /** The number of different strings; if `shortMax` is not 0, there may have been more. */
  get distinctMin(): number {
    return this.#distinctMin;
  }

  /** All held strings, the most frequent first; equal counts are in alphabetical order. */
  ranked(): Ranked<Note>[] {
    return [...this.#counts].map(([key, { count, note }]) => ({ key, count, note })).sort(byCountThenKey);
  }

  /** Subtracts the same number from every count, so that at most `keptMax` counts remain above zero. */
  #shrink(): void {
    const counts = [...this.#counts.values()].map(({ count }) => count).sort((a, b) => b - a);
    const taken = counts[this.#keptMax] ?? 0;
    for (const [key, counted] of this.#counts) {
      counted.count -= taken;
      if (counted.count <= 0) this.#counts.delete(key);
    }
    this.#shortMax += taken;
  }
}

export function byCountThenKey(a: Pick<Ranked<unknown>, "key" | "count">, b: typeof a): number {
  if (a.count !== b.count) return b.count - a.count;
  return a.key < b.key ? -1 : 1;
}

// Attackers control the content and length of the strings of log rows, so they are truncated here, and escaped when they are shown.

/** In characters. */
export const reportTextLengthMax = 300;

export function keptText(text: string): string {
  return text.length <= reportTextLengthMax ? text : copyOf(text.slice(0, reportTextLengthMax));
}

/** The path without its query. */
export function keptPath(path: string): string {
  const mark = path.indexOf("?");
  return mark < 0 ? keptText(path) : copyOf(path.slice(0, Math.min(mark, reportTextLengthMax)));
}

/** A part of a string keeps the whole string in memory, so it is copied. */
function copyOf(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}
