// The one keep-alive connection of a lane. It opens with the first request, comes back after a fault, and never carries two
// requests at once.
import { Client } from "undici";
import type { Dispatcher } from "undici";

export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Drops the connection and whatever waits for it, also while it is being opened; the next request opens another. */
  reset(): void;
}

export type OpenDispatcher = (origin: string) => Dispatcher;

/** HTTP/1.1 and no pipelining: a request goes out when the answer to the one before is in. */
export const openClient: OpenDispatcher = (origin) => new Client(origin, { pipelining: 1, allowH2: false });

export class LaneConnection implements Connection {
  readonly #origin: string;
  readonly #open: OpenDispatcher;
  #dispatcher: Dispatcher | undefined;

  constructor(origin: string, open: OpenDispatcher) {
    this.#origin = origin;
    this.#open = open;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#dispatcher ??= this.#open(this.#origin);
    this.#dispatcher.dispatch({ ...options, origin: this.#origin }, handler);
  }

  reset(): void {
    void this.close();
  }

  /** Ends a running request as a network error. Resolves when the socket is gone. */
  async close(): Promise<void> {
    const dispatcher = this.#dispatcher;
    this.#dispatcher = undefined;
    await dispatcher?.destroy().catch(() => undefined);
  }
}
