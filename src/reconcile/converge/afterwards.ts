// Defers work that no call of the WAF should wait for, such as the history, until the next call is in flight. A request is sent
// one turn of the event loop after it was made, so the work waits for two turns.

export class Afterwards {
  #waiting: (() => void)[] = [];

  /** Runs `act` soon, in the order of the calls. */
  later(act: () => void): void {
    this.#waiting.push(act);
    if (this.#waiting.length === 1) setImmediate(() => setImmediate(() => this.catchUp()));
  }

  /** Runs the deferred work now. */
  catchUp(): void {
    const acts = this.#waiting;
    this.#waiting = [];
    for (const act of acts) act();
  }
}
