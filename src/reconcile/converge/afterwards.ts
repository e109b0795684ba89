// Work that no call of the WAF has to wait for, such as the history: it is done when the next call is in flight. A request is written
// one turn of the event loop after it was handed over, so the work waits for two.

export class Afterwards {
  #waiting: (() => void)[] = [];

  /** Does it soon, in the order of the requests. */
  later(act: () => void): void {
    this.#waiting.push(act);
    if (this.#waiting.length === 1) setImmediate(() => setImmediate(() => this.catchUp()));
  }

  /** Does now what is left. */
  catchUp(): void {
    const acts = this.#waiting;
    this.#waiting = [];
    for (const act of acts) act();
  }
}
