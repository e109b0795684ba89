// Limits the number of concurrent actions. Waiting actions belong to groups, which take turns: a group with thousands of actions
// delays another group only slightly. Some groups go first.

/** In the order of their turns. */
type WaitingGroups = Map<string, (() => void)[]>;

export interface FairGateLimits {
  readonly atOnceMax: number;
  /** As many as of all groups, if undefined. */
  readonly ofGroupMax?: number;
}

export class FairGate {
  readonly #limits: Required<FairGateLimits>;
  readonly #first: WaitingGroups = new Map();
  readonly #others: WaitingGroups = new Map();
  /** The number of running actions of each group. */
  readonly #running = new Map<string, number>();
  #count = 0;

  constructor({ atOnceMax, ofGroupMax = atOnceMax }: FairGateLimits) {
    this.#limits = { atOnceMax, ofGroupMax };
  }

  async run<T>(group: string, act: () => Promise<T>, { goesFirst = false } = {}): Promise<T> {
    const waiting = goesFirst ? this.#first : this.#others;
    await new Promise<void>((begin) => {
      const ofGroup = waiting.get(group) ?? [];
      ofGroup.push(begin);
      waiting.set(group, ofGroup);
      this.#beginNext();
    });
    try {
      return await act();
    } finally {
      this.#change(group, -1);
      this.#beginNext();
    }
  }

  #beginNext(): void {
    if (this.#count >= this.#limits.atOnceMax) return;
    for (const waiting of [this.#first, this.#others]) {
      for (const [group, ofGroup] of waiting) {
        if ((this.#running.get(group) ?? 0) >= this.#limits.ofGroupMax) continue;
        const begin = ofGroup.shift();
        waiting.delete(group);
        if (ofGroup.length > 0) waiting.set(group, ofGroup);
        this.#change(group, 1);
        return begin?.();
      }
    }
  }

  #change(group: string, by: number): void {
    const running = (this.#running.get(group) ?? 0) + by;
    if (running === 0) this.#running.delete(group);
    else this.#running.set(group, running);
    this.#count += by;
  }
}
