// The only keep-alive connection of a lane. It opens with the first request, reconnects after a fault, and never carries two
// requests at the same time.
import type { Dispatcher } from "undici";
import buildConnector from "undici/lib/core/connect.js";
import Client from "undici/lib/dispatcher/client.js";
import type { AllowAddress, ResolveHost } from "../net/checked-lookup.ts";
import { createCheckedLookup, refusedLiteral } from "../net/checked-lookup.ts";

export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Drops the connection and everything that waits for it, even while it is being opened. The next request opens a new one. */
  reset(): void;
}

/** The part of undici's dispatchers that a connection uses. */
export interface Transport {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): unknown;
  destroy(): Promise<void>;
}

export type OpenTransport = (origin: string) => Transport;

const connectTimeoutMs = 10_000;

/** Which addresses a client may connect to. */
export interface AddressCheck {
  readonly isAllowed: AllowAddress;
  readonly resolve?: ResolveHost;
}

export const openClient: OpenTransport = (origin) => open(origin);

/** Opens clients that connect only to allowed addresses. Addresses are checked each time a connection is opened. */
export function checkedClients(check: AddressCheck): OpenTransport {
  return (origin) => open(origin, check);
}

/** HTTP/1.1 without pipelining: a request is sent only after the response to the previous one has arrived. */
function open(origin: string, check?: AddressCheck): Transport {
  const lookup = check === undefined ? {} : { lookup: createCheckedLookup(check.isAllowed, check.resolve) };
  const connect = buildConnector({ allowH2: false, timeout: connectTimeoutMs, ...lookup });
  // The connector returns its socket, although its type does not declare this.
  let opening: { destroy(error: Error): void } | undefined;
  const client = new Client(origin, {
    pipelining: 1,
    allowH2: false,
    connect(options, callback) {
      const refused = check && refusedLiteral(options.hostname, check.isAllowed);
      if (refused !== undefined) return callback(refused, null);
      opening = connect(options, (...outcome) => {
        opening = undefined;
        callback(...outcome);
      }) as unknown as typeof opening;
    },
  });
  return {
    dispatch: (options, handler) => client.dispatch(options, handler),
    async destroy() {
      const destroyed = client.destroy();
      // undici would keep a socket that is still being opened until its own timeout.
      opening?.destroy(new Error("The connection is no longer needed."));
      await destroyed;
    },
  };
}

export class LaneConnection implements Connection {
  readonly #origin: string;
  readonly #open: OpenTransport;
  #transport: Transport | undefined;

  constructor(origin: string, open: OpenTransport) {
    this.#origin = origin;
    this.#open = open;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#transport ??= this.#open(this.#origin);
    options.origin = this.#origin;
    this.#transport.dispatch(options, handler);
  }

  reset(): void {
    void this.#drop();
  }

  /** Ends the request in flight with a network error. Resolves when the socket is closed. */
  async close(): Promise<void> {
    await this.#drop();
  }

  async #drop(): Promise<void> {
    const transport = this.#transport;
    this.#transport = undefined;
    await transport?.destroy().catch(() => undefined);
  }
}
