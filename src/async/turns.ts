// Runs actions one after the other, in the order of the requests. A failure affects only its caller: the next action runs anyway.

export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  async run<T>(act: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(act);
    this.#last = turn.catch(() => undefined);
    return await turn;
  }

  /** Resolves when all actions requested so far have finished. Never rejects. */
  async ended(): Promise<void> {
    await this.#last;
  }
}
