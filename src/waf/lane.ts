// One lane per key, because the API accepts one call at a time. A lane runs one turn after the other, keeps the minimum time
// between two starts, and can be paused as a whole. A turn that has not started can always be canceled. Holders may spell the
// URL of the API differently: the lane has one connection, to the origin of the last turn.
import type { Clock } from "../async/clock.ts";
import { type HttpConnection, type OpenConnection, type AddressCheck, openConnection } from "../net/http-connection.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { WafFault } from "../model/waf-result.ts";
import { requireBaseUrl } from "./base-url.ts";

/** A lane is first come, first served, with normal turns before bulk turns. */
export type Urgency = "Normal" | "Bulk";

/** A bulk turn that has waited this long takes precedence, so that a long load of entries does not stop the logs. */
export const bulkWaitMsMax = 30_000;

interface QueuedTurn {
  readonly urgency: Urgency;
  readonly queuedAtMs: number;
  readonly holder: LaneHolder;
  begin(connection: HttpConnection): Promise<void>;
  refuse(): void;
}

/** How lanes coordinate several processes on one machine that use the same key. */
export type KeyLockOutcome =
  | { readonly state: "Held" }
  /** The signal aborted. */
  | { readonly state: "Aborted" }
  /** `by` describes the other process. */
  | { readonly state: "Busy"; readonly by: string };

/** Held during consecutive calls. */
export interface KeyLock {
  /** Called before each call. If other processes wait, they may go first now and then. Never rejects. */
  enter(signal?: AbortSignal): Promise<KeyLockOutcome>;
  /** Called when no call follows immediately. */
  leave(): void;
}

export type KeyLocks = (key: ApiKey) => KeyLock;

export interface Turn {
  readonly urgency: Urgency;
  /** Cancels the turn while it waits. A running turn has to check the signal itself. */
  readonly signal?: AbortSignal | undefined;
}

/** The turn was canceled, the lane was released or closed, or another process does not release the key: nothing was done. */
export interface Refused {
  readonly ok: false;
  readonly fault: WafFault;
}

/** What callers see of a lane. */
export interface Lane {
  /** Waits for its turn and runs `act`, while nothing else runs in the lane. Rejects with the error of `act`. */
  run<T>(turn: Turn, act: (connection: HttpConnection) => Promise<T>): Promise<T | Refused>;
  /** No turn starts before this time of the clock's `monotonicMs`. An earlier time than the current one has no effect. */
  pauseUntil(timeMs: number): void;
}

/** A user of a lane. */
export interface LaneHolder {
  readonly origin: string;
  /** The time between the starts of two calls. The lane uses the maximum of all its holders. */
  minRequestIntervalMs: number;
  /** The first turn waits for this. */
  readonly after: Promise<void> | undefined;
}

export interface LaneOptions {
  readonly open: OpenConnection;
  readonly clock: Clock;
  /** Coordinates with other processes; undefined if no other process can have the key. */
  readonly lock?: KeyLock | undefined;
}

class SerialLane {
  readonly holders = new Set<LaneHolder>();
  readonly #options: LaneOptions;
  /** The waiting turns, in their order. */
  readonly #queue = new Set<QueuedTurn>();
  readonly #closing = new AbortController();
  #connection: { readonly origin: string; readonly to: HttpConnection } | undefined;
  #isServing = false;
  /** The last turn that has started. */
  #running: Promise<void> | undefined;
  #sleeping = new AbortController();
  #lastStartMs = Number.NEGATIVE_INFINITY;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Call this when the interval of a holder has changed. It takes effect immediately, even for a waiting turn. */
  reconsider(): void {
    this.#sleeping.abort();
  }

  /** Rejects the waiting turns of the holder. Resolves when its running turns have finished. */
  async removeHolder(holder: LaneHolder): Promise<void> {
    this.holders.delete(holder);
    this.#refuse((turn) => turn.holder === holder);
    await this.#running;
  }

  pauseUntil(timeMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, timeMs);
  }

  async run<T>(holder: LaneHolder, turn: Turn, act: (connection: HttpConnection) => Promise<T>): Promise<T | Refused> {
    const { urgency, signal } = turn;
    if (signal?.aborted === true) return canceled;
    if (this.#closing.signal.aborted || !this.holders.has(holder)) return closed;
    const { promise, resolve, reject } = Promise.withResolvers<T | Refused>();
    const withdraw = (): void => {
      if (this.#queue.delete(queued)) resolve(canceled);
    };
    const queued: QueuedTurn = {
      urgency,
      queuedAtMs: this.#options.clock.monotonicMs(),
      holder,
      begin: async (connection) => {
        signal?.removeEventListener("abort", withdraw);
        const perform = async (): Promise<T> => {
          if (holder.after !== undefined) await holder.after;
          return await act(connection);
        };
        await this.#locked(signal, perform).then(resolve, reject);
      },
      refuse: () => {
        signal?.removeEventListener("abort", withdraw);
        resolve(closed);
      },
    };
    signal?.addEventListener("abort", withdraw, { once: true });
    this.#queue.add(queued);
    if (!this.#isServing) void this.#serve();
    return await promise;
  }

  /** Rejects all waiting turns, waits for the running turn, and closes the connection. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#refuse(() => true);
    this.#sleeping.abort();
    await this.#running;
    this.#options.lock?.leave();
    this.#connection?.to.close();
  }

  #refuse(matches: (turn: QueuedTurn) => boolean): void {
    for (const turn of [...this.#queue].filter(matches)) {
      this.#queue.delete(turn);
      turn.refuse();
    }
  }

  async #locked<T>(signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T | Refused> {
    const { lock } = this.#options;
    if (lock === undefined) return await act();
    const stop = signal === undefined ? this.#closing.signal : AbortSignal.any([signal, this.#closing.signal]);
    const entered = await lock.enter(stop);
    if (entered.state === "Held") return await act();
    return entered.state === "Busy" ? busy(entered.by) : canceled;
  }

  #connectionTo(origin: string): HttpConnection {
    if (this.#connection?.origin !== origin) {
      this.#connection?.to.close();
      this.#connection = { origin, to: this.#options.open(origin) };
    }
    return this.#connection.to;
  }

  #next(nowMs: number): QueuedTurn | undefined {
    const waiting = [...this.#queue];
    const bulk = waiting.find(({ urgency }) => urgency === "Bulk");
    const isDue = bulk !== undefined && nowMs - bulk.queuedAtMs >= bulkWaitMsMax;
    return isDue ? bulk : (waiting.find(({ urgency }) => urgency === "Normal") ?? bulk);
  }

  /** Runs one turn after the other, until none is waiting. */
  async #serve(): Promise<void> {
    const { clock, lock } = this.#options;
    this.#isServing = true;
    let hasYielded = false;
    for (;;) {
      const nowMs = clock.monotonicMs();
      const turn = this.#next(nowMs);
      if (turn === undefined) break;
      const intervalMs = Math.max(0, ...[...this.holders].map(({ minRequestIntervalMs }) => minRequestIntervalMs));
      const waitMs = Math.max(this.#lastStartMs + intervalMs, this.#pausedUntilMs) - nowMs;
      if (waitMs > 0) {
        lock?.leave();
        this.#sleeping = new AbortController();
        await clock.sleep(waitMs, this.#sleeping.signal);
      } else if (turn.urgency === "Bulk" && !hasYielded) {
        // A caller with sequential calls requests the next one when the last is done: bulk turns yield to it.
        hasYielded = true;
        await new Promise((resolve) => void setImmediate(resolve));
      } else {
        hasYielded = false;
        this.#queue.delete(turn);
        this.#lastStartMs = nowMs;
        this.#running = turn.begin(this.#connectionTo(turn.holder.origin));
        await this.#running;
      }
    }
    this.#isServing = false;
    // Likewise, the lock of the key is kept for the next one.
    setImmediate(() => {
      if (!this.#isServing) lock?.leave();
    });
  }
}

const canceled = refused("Aborted", "The call was canceled before anything was sent.");
const closed = refused("Aborted", "The lane of this WAF is closed: nothing was sent.");

function busy(by: string): Refused {
  const user = "Another wafsync process on this machine is using the same API key and has not released it";
  return refused("Unavailable", `${user}: ${by}. Nothing was sent.`);
}

function refused(code: WafFault["code"], message: string): Refused {
  return { ok: false, fault: { code, message } };
}

// All lanes of the process. All holders of the same key get the same lane, regardless of their objects and the spelling of their
// URL, because one WAF can have several URLs. A lane without holders is closed when its last turn has finished.

/** Shorter than most servers' limit, so that requests are rarely sent on a connection that the server is closing. */
const keepAliveMs = 4_000;

/** Connections for lanes: a request is sent only after the response to the previous one has arrived. */
export function connectTo(check?: AddressCheck): OpenConnection {
  return (origin) => openConnection(origin, { socketsMax: 1, keepAliveMs, check });
}

export interface LaneRequest {
  /** Must have passed `normalizeBaseUrl`; otherwise an error with the code `InvalidBaseUrl` is thrown. */
  readonly baseUrl: string;
  readonly key: ApiKey;
  /** The time between the starts of two calls. The longest interval of all holders applies. */
  readonly minRequestIntervalMs: number;
  /** The first turn waits for this: the release of the lane of a former key, because both keys may belong to the same WAF. */
  readonly after?: Promise<void> | undefined;
}

/** A share in a lane. */
export interface HeldLane extends Lane {
  /** Changes the minimum time between two calls. */
  pace(minRequestIntervalMs: number): void;
  /** Rejects waiting turns. Resolves when the running turn has finished and, if there is no other holder, the connection is closed. */
  release(): Promise<void>;
}

export interface LaneRegistryOptions {
  readonly clock: Clock;
  /** Opens the connection to an origin; by default, to any address. */
  readonly open?: OpenConnection;
  /** Coordinates with other processes on this machine; undefined if no other process can have the same key. */
  readonly locks?: KeyLocks | undefined;
}

export class LaneRegistry {
  readonly #lanes = new Map<string, SerialLane>();
  readonly #options: LaneRegistryOptions;
  #isClosed = false;

  constructor(options: LaneRegistryOptions) {
    this.#options = options;
  }

  /** The number of open lanes. */
  get size(): number {
    return this.#lanes.size;
  }

  /** The lane of this key, which stays open until every holder has released it. */
  acquire({ baseUrl, key, minRequestIntervalMs, after }: LaneRequest): HeldLane {
    const { origin } = requireBaseUrl(baseUrl);
    const name = key.fingerprint();
    const lane = this.#lanes.get(name) ?? this.#openLane(name, key);
    const holder = { origin, minRequestIntervalMs, after };
    if (!this.#isClosed) lane.holders.add(holder);
    return {
      pace: (intervalMs) => {
        holder.minRequestIntervalMs = intervalMs;
        lane.reconsider();
      },
      run: async (turn, act) => await lane.run(holder, turn, act),
      pauseUntil: (timeMs) => lane.pauseUntil(timeMs),
      release: async () => {
        await lane.removeHolder(holder);
        await this.#closeIfIdle(name, lane);
      },
    };
  }

  /** Rejects all waiting and later turns, waits for running turns, and closes every connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const lanes = [...this.#lanes.values()];
    this.#lanes.clear();
    await Promise.all(lanes.map(async (lane) => await lane.close()));
  }

  #openLane(name: string, key: ApiKey): SerialLane {
    const { clock, open = connectTo(), locks } = this.#options;
    const lane = new SerialLane({ clock, open, lock: locks?.(key) });
    if (!this.#isClosed) this.#lanes.set(name, lane);
    return lane;
  }

  async #closeIfIdle(name: string, lane: SerialLane): Promise<void> {
    // While the last turn finished, a new holder may have acquired the lane.
    if (lane.holders.size > 0) return;
    if (this.#lanes.get(name) === lane) this.#lanes.delete(name);
    await lane.close();
  }
}
