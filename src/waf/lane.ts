// One lane for each base URL and key: the API wants one call at a time, whoever asks. A lane runs one turn after the other,
// keeps the least time between two starts, and can be held as a whole. A turn that was not begun can always be withdrawn.
import type { Clock } from "../async/clock.ts";
import { LaneConnection } from "./connection.ts";
import type { Connection, OpenTransport } from "./connection.ts";
import { TurnQueue } from "./turn-queue.ts";
import type { Urgency } from "./turn-queue.ts";

export interface Turn {
  readonly urgency: Urgency;
  /** Withdraws the turn while it waits. A turn that runs has to look at the signal itself. */
  readonly signal?: AbortSignal | undefined;
}

/** `QueueFull`: too many turns wait already. `Closed`: the lane was released or closed. In all three cases nothing was done. */
export type TurnRefusal = "Aborted" | "QueueFull" | "Closed";

export type TurnResult<T> =
  | { readonly ran: true; readonly value: T }
  | { readonly ran: false; readonly refusal: TurnRefusal };

/** What callers see of a lane. */
export interface Lane {
  /** Waits for its turn and runs `act`, while nothing else runs in the lane. A failure of `act` is thrown on. */
  run<T>(turn: Turn, act: (connection: Connection) => Promise<T>): Promise<TurnResult<T>>;
  /** No turn starts before this time of the clock's `monotonicMs`. An earlier time than was set before changes nothing. */
  pauseUntil(timeMs: number): void;
}

interface QueuedTurn {
  readonly urgency: Urgency;
  readonly queuedAtMs: number;
  readonly holder: object;
  begin(connection: Connection): Promise<void>;
  refuse(refusal: TurnRefusal): void;
}

export interface LaneOptions {
  readonly origin: string;
  readonly open: OpenTransport;
  readonly clock: Clock;
  readonly waitingMax: number;
}

export class SerialLane {
  readonly #clock: Clock;
  readonly #waitingMax: number;
  readonly #connection: LaneConnection;
  readonly #queue = new TurnQueue<QueuedTurn>();
  readonly #intervalsMs = new Map<object, number>();
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #isAwake = true;
  /** Aborting it looks again whose turn it is. */
  #sleeping: AbortController | undefined;
  #bulkHasYielded = false;
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor({ origin, open, clock, waitingMax }: LaneOptions) {
    this.#clock = clock;
    this.#waitingMax = waitingMax;
    this.#connection = new LaneConnection(origin, open);
  }

  get holders(): number {
    return this.#intervalsMs.size;
  }

  /** The longest interval that a holder asks for counts for all. Another one of a holder counts at once, also for a turn that waits. */
  setHolder(holder: object, minRequestIntervalMs: number): void {
    this.#intervalsMs.set(holder, minRequestIntervalMs);
    this.#sleeping?.abort();
  }

  /** Refuses what the holder has waiting. Resolves when nothing that it began still runs. */
  async removeHolder(holder: object): Promise<void> {
    this.#intervalsMs.delete(holder);
    for (const turn of this.#queue.removeAll((queued) => queued.holder === holder)) turn.refuse("Closed");
    await this.#running;
  }

  pauseUntil(timeMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, timeMs);
  }

  async run<T>(holder: object, turn: Turn, act: (connection: Connection) => Promise<T>): Promise<TurnResult<T>> {
    const { urgency, signal } = turn;
    if (signal?.aborted === true) return { ran: false, refusal: "Aborted" };
    if (this.#closing.signal.aborted || !this.#intervalsMs.has(holder)) return { ran: false, refusal: "Closed" };
    if (this.#queue.length >= this.#waitingMax) return { ran: false, refusal: "QueueFull" };
    const { promise, resolve, reject } = Promise.withResolvers<TurnResult<T>>();
    const withdraw = (): void => {
      if (this.#queue.remove(queued)) resolve({ ran: false, refusal: "Aborted" });
    };
    const queued: QueuedTurn = {
      urgency,
      queuedAtMs: this.#clock.monotonicMs(),
      holder,
      begin: async (connection) => {
        signal?.removeEventListener("abort", withdraw);
        try {
          resolve({ ran: true, value: await act(connection) });
        } catch (error) {
          reject(error);
        }
      },
      refuse: (refusal) => {
        signal?.removeEventListener("abort", withdraw);
        resolve({ ran: false, refusal });
      },
    };
    signal?.addEventListener("abort", withdraw, { once: true });
    this.#queue.add(queued);
    this.#startNext();
    return await promise;
  }

  /** Refuses all that waits, waits for the turn that runs, and closes the connection. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const turn of this.#queue.removeAll(() => true)) turn.refuse("Closed");
    await this.#running;
    await this.#connection.close();
  }

  #startNext(): void {
    if (this.#running !== undefined || !this.#isAwake) return;
    const nowMs = this.#clock.monotonicMs();
    const turn = this.#queue.peek(nowMs);
    if (turn === undefined) return;
    const intervalMs = Math.max(0, ...this.#intervalsMs.values());
    const waitMs = Math.max(this.#lastStartMs + intervalMs, this.#pausedUntilMs) - nowMs;
    if (waitMs > 0) return this.#sleep(waitMs);
    if (turn.urgency === "Bulk" && !this.#bulkHasYielded) return this.#yieldBulk();
    this.#bulkHasYielded = false;
    this.#queue.remove(turn);
    this.#lastStartMs = nowMs;
    this.#running = turn.begin(this.#connection).finally(() => {
      this.#running = undefined;
      this.#startNext();
    });
  }

  #sleep(waitMs: number): void {
    this.#isAwake = false;
    const sleeping = new AbortController();
    this.#sleeping = sleeping;
    void this.#clock.sleep(waitMs, AbortSignal.any([this.#closing.signal, sleeping.signal])).then(() => this.#wake());
  }

  /** Whoever makes one call after the other asks for the next when the last is done: bulk turns let that come first. */
  #yieldBulk(): void {
    this.#isAwake = false;
    setImmediate(() => {
      this.#bulkHasYielded = true;
      this.#wake();
    });
  }

  #wake(): void {
    this.#isAwake = true;
    this.#startNext();
  }
}
