// The sockets to the API server, shared by all requests of one ApiServer. Streams have a separate pool, because each of them
// holds a connection for minutes and would starve short requests. Certificates and tokens are read again every few seconds;
// new certificates mean new pools, and requests in flight continue on the old ones.
import { createSecureContext } from "node:tls";
import { type Clock, withDeadline } from "../async/clock.ts";
import type { ConnectionLimits, HttpConnection } from "../net/http-connection.ts";
import { openConnection } from "../net/http-connection.ts";
import type { Credentials, ServerAccess } from "./credentials.ts";

const accessAgeMsMax = 10_000;
const credentialsTimeoutMs = 20_000;
/** Shorter than the 90 s of the API server, so that requests are rarely sent on a connection that it is closing. */
const keepAliveMs = 30_000;

export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requests: HttpConnection;
  readonly streams: HttpConnection;
  /** The server and the certificates that the sockets are for. */
  readonly identity: string;
}

/** Far more than there are kinds to watch. */
const streamsMax = 64;

export interface ConnectionsOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly connectionsMax: number;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  #current: Connection | undefined;
  #resolvedAtMs = 0;
  #resolving: Promise<Connection> | undefined;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  /**
   * The connection to the server. If the server refused the credentials of an earlier one, they are read again unless another request
   * has already done so. Throws if the credentials cannot be read.
   */
  async acquire(refused?: Connection): Promise<Connection> {
    const mustRenew = refused !== undefined && refused === this.#current;
    const isFresh = this.#options.clock.monotonicMs() - this.#resolvedAtMs < accessAgeMsMax;
    if (this.#resolving === undefined && this.#current !== undefined && isFresh && !mustRenew) return this.#current;
    this.#resolving ??= this.#resolve(mustRenew).finally(() => (this.#resolving = undefined));
    return await this.#resolving;
  }

  /** Closes idle sockets too; a former pool closes its own within the keep-alive time. */
  close(): void {
    this.#current?.requests.close();
    this.#current?.streams.close();
  }

  async #resolve(renew: boolean): Promise<Connection> {
    const { clock, credentials } = this.#options;
    const resolved = await withDeadline({ clock, timeoutMs: credentialsTimeoutMs }, () =>
      credentials.resolve({ renew }),
    );
    if (!resolved.inTime) throw new Error("Reading the credentials took too long");
    const { server, headers } = resolved.value;
    this.#resolvedAtMs = clock.monotonicMs();
    this.#current = { baseUrl: server.replace(/\/+$/, ""), headers, ...this.#socketsFor(resolved.value) };
    return this.#current;
  }

  #socketsFor(access: ServerAccess): Pick<Connection, "requests" | "streams" | "identity"> {
    const identity = JSON.stringify([access.server, access.tls, access.proxyUrl]);
    if (this.#current?.identity === identity) {
      const { requests, streams } = this.#current;
      return { requests, streams, identity };
    }
    const { origin } = new URL(access.server);
    const shared = { keepAliveMs, proxyUrl: access.proxyUrl, tls: sharedTls(access) };
    const requests = openConnection(origin, { ...shared, socketsMax: this.#options.connectionsMax });
    return { identity, requests, streams: openConnection(origin, { ...shared, socketsMax: streamsMax }) };
  }
}

/** Without this, Node.js would parse the certificates for each socket and keep a copy of them. */
function sharedTls({ server, tls }: ServerAccess): ConnectionLimits["tls"] {
  if (!server.startsWith("https:")) return undefined;
  const { servername, rejectUnauthorized = true, ...certificates } = tls;
  return { secureContext: createSecureContext(certificates), servername, rejectUnauthorized };
}
