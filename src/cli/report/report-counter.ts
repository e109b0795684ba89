// Counts how often each text comes, with bounded memory, however many different texts there are. Exact as long as they are few;
// beyond, the frequent ones stay, and it is known by how much a count may be short (the summaries of Misra and Gries).

export interface Ranked<Note> {
  readonly key: string;
  /** Never more than the truth. */
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

  /** @param keptMax How many texts survive when there are too many; twice as many are held at most. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  /** Returns the note of the text, which the caller may change. @param firstNote makes it when the text is new */
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

  /** Not more than the true count; 0 for a text that is not kept. */
  countOf(key: string): number {
    return this.#counts.get(key)?.count ?? 0;
  }

  /** By so much at most is any count too small: 0 if all of them are exact. */
  get shortMax(): number {
    return this.#shortMax;
  }

  /** How many different texts there were: at least so many if `shortMax` is not 0. */
  get distinctMin(): number {
    return this.#distinctMin;
  }

  /** All that are held, the most frequent first, equal counts by their text. */
  ranked(): Ranked<Note>[] {
    return [...this.#counts].map(([key, { count, note }]) => ({ key, count, note })).sort(byCountThenKey);
  }

  /** Takes the same from every count, as much as leaves no more than `keptMax` above zero. */
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
