// The one keep-alive connection of a lane. It opens with the first request, comes back after a fault, and never carries two
// requests at once.
import type { Dispatcher } from "undici";
import buildConnector from "undici/lib/core/connect.js";
import Client from "undici/lib/dispatcher/client.js";
import type { AllowAddress, ResolveHost } from "../net/checked-lookup.ts";
import { createCheckedLookup, refusedLiteral } from "../net/checked-lookup.ts";

export interface Connection {
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void;
  /** Drops the connection and whatever waits for it, also while it is being opened; the next request opens another. */
  reset(): void;
}

/** What a connection is made of: every dispatcher of undici is one. */
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

/** Opens clients that connect to allowed addresses only, checked each time a connection is opened. */
export function checkedClients(check: AddressCheck): OpenTransport {
  return (origin) => open(origin, check);
}

/** HTTP/1.1 and no pipelining: a request goes out when the answer to the one before is in. */
function open(origin: string, check?: AddressCheck): Transport {
  const lookup = check === undefined ? {} : { lookup: createCheckedLookup(check.isAllowed, check.resolve) };
  const connect = buildConnector({ allowH2: false, timeout: connectTimeoutMs, ...lookup });
  // The connector gives back its socket, though its type does not say so.
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
      // undici would let a socket that is still being opened go on until its own time-out.
      opening?.destroy(new Error("The connection is not wanted any more."));
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

  /** Ends a running request as a network error. Resolves when the socket is gone. */
  async close(): Promise<void> {
    await this.#drop();
  }

  async #drop(): Promise<void> {
    const transport = this.#transport;
    this.#transport = undefined;
    await transport?.destroy().catch(() => undefined);
  }
}
