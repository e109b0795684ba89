// The one keep-alive connection of a lane. It opens with the first request, comes back after a fault, and never carries two
// requests at once.
import { Client, buildConnector } from "undici";
import type { Dispatcher } from "undici";
import type { Clock } from "../async/clock.ts";
import { DeadlineTimer } from "./deadline-timer.ts";

export interface Connection {
  /** Of the request that is under way. */
  readonly deadline: DeadlineTimer;
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Drops the connection and whatever waits for it, also while it is being opened; the next request opens another. */
  reset(): void;
}

export type OpenDispatcher = (origin: string) => Dispatcher;

const connectTimeoutMs = 10_000;

/** HTTP/1.1 and no pipelining: a request goes out when the answer to the one before is in. */
export const openClient: OpenDispatcher = (origin) => {
  const connect = buildConnector({ allowH2: false, timeout: connectTimeoutMs });
  // The connector gives back its socket, though its type does not say so.
  let opening: { destroy(error: Error): void } | undefined;
  const client = new Client(origin, {
    pipelining: 1,
    allowH2: false,
    connect(options, callback) {
      opening = connect(options, (...outcome) => {
        opening = undefined;
        callback(...outcome);
      }) as unknown as typeof opening;
    },
  });
  return Object.assign(client, {
    // undici lets a socket that is still being opened go on until its own time-out. Without a callback its own method
    // calls this one again with one: what it passes must go on unchanged.
    async destroy(...outcome: []) {
      const destroyed = Client.prototype.destroy.apply(client, outcome);
      opening?.destroy(new Error("The connection is not wanted any more."));
      await destroyed;
    },
  });
};

export class LaneConnection implements Connection {
  readonly deadline: DeadlineTimer;
  readonly #origin: string;
  readonly #open: OpenDispatcher;
  #dispatcher: Dispatcher | undefined;

  constructor(origin: string, open: OpenDispatcher, clock: Clock) {
    this.deadline = new DeadlineTimer(clock);
    this.#origin = origin;
    this.#open = open;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#dispatcher ??= this.#open(this.#origin);
    options.origin = this.#origin;
    this.#dispatcher.dispatch(options, handler);
  }

  reset(): void {
    void this.#drop();
  }

  /** Ends a running request as a network error. Resolves when the socket is gone. */
  async close(): Promise<void> {
    this.deadline.close();
    await this.#drop();
  }

  async #drop(): Promise<void> {
    const dispatcher = this.#dispatcher;
    this.#dispatcher = undefined;
    await dispatcher?.destroy().catch(() => undefined);
  }
}
