// Limits the number of concurrent actions. Waiting actions belong to groups, which take turns: a group with thousands of actions
// delays another group only slightly.

export class FairGate {
  readonly #atOnceMax: number;
  /** In the order of their turns. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  async run<T>(group: string, act: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnceMax) await this.#turnOf(group);
    else this.#running += 1;
    try {
      return await act();
    } finally {
      this.#next();
    }
  }

  async #turnOf(group: string): Promise<void> {
    await new Promise<void>((begin) => {
      const ofGroup = this.#waiting.get(group);
      if (ofGroup === undefined) this.#waiting.set(group, [begin]);
      else ofGroup.push(begin);
    });
  }

  /** The next action gets the slot. */
  #next(): void {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [group, ofGroup] = first;
    const begin = ofGroup.shift();
    this.#waiting.delete(group);
    if (ofGroup.length > 0) this.#waiting.set(group, ofGroup);
    begin?.();
  }
}
