// Limits the number of concurrent actions. Waiting actions belong to groups, which take turns: a group with thousands of actions
// delays another group only slightly. Some groups go first.

/** In the order of their turns. */
type WaitingGroups = Map<string, (() => void)[]>;

export class FairGate {
  readonly #atOnceMax: number;
  readonly #first: WaitingGroups = new Map();
  readonly #others: WaitingGroups = new Map();
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  async run<T>(group: string, act: () => Promise<T>, { goesFirst = false } = {}): Promise<T> {
    if (this.#running >= this.#atOnceMax) await turnOf(group, goesFirst ? this.#first : this.#others);
    else this.#running += 1;
    try {
      return await act();
    } finally {
      this.#next();
    }
  }

  /** The next action gets the slot. */
  #next(): void {
    const waiting = this.#first.size > 0 ? this.#first : this.#others;
    const [first] = waiting;
    if (first === undefined) {
      this.#running -= 1;
      return;
    }
    const [group, ofGroup] = first;
    const begin = ofGroup.shift();
    waiting.delete(group);
    if (ofGroup.length > 0) waiting.set(group, ofGroup);
    begin?.();
  }
}

async function turnOf(group: string, waiting: WaitingGroups): Promise<void> {
  await new Promise<void>((begin) => {
    const ofGroup = waiting.get(group);
    if (ofGroup === undefined) waiting.set(group, [begin]);
    else ofGroup.push(begin);
  });
}
