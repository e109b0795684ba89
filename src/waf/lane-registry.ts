// All lanes of the process. All holders of the same key get the same lane, regardless of their objects and the spelling of their
// URL, because one WAF can have several URLs. A lane without holders is closed when its last turn has finished.
import type { Clock } from "../async/clock.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { AddressCheck, OpenConnection } from "../net/http-connection.ts";
import { openConnection } from "../net/http-connection.ts";
import { requireBaseUrl } from "./base-url.ts";
import type { KeyLocks } from "./lane.ts";
import { SerialLane } from "./lane.ts";
import type { Lane } from "./lane.ts";

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
