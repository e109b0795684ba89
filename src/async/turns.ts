// Runs one act after the other, in the order in which they were asked for. One that fails fails for whoever asked for it, and
// for nobody else: the next one runs all the same.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  async run<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  /** Resolves when everything that was asked for until now has ended. Never rejects. */
  async ended(): Promise<void> {
    await this.#last;
  }
}
