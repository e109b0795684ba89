// The sockets to the API server, shared by all requests of one ApiServer. Streams have a separate pool, because each of them
// holds a connection for minutes and would starve short requests. Certificates and tokens are read again every few seconds;
// new certificates mean new pools, and requests in flight continue on the old ones.
import { createSecureContext } from "node:tls";
import type { Clock } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
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
  /** Identifies one read of the credentials. */
  readonly epoch: number;
}

export interface Connections {
  /**
   * The connection to the server. `refusedEpoch` is the epoch of a connection whose credentials the server refused: they are read
   * again unless another request has already done so. Throws if the credentials cannot be read.
   */
  acquire(refusedEpoch?: number): Promise<Connection>;
  /** Closes idle sockets too; a former pool closes its own within the keep-alive time. */
  close(): void;
}

/** Far more than there are kinds to watch. */
const streamsMax = 64;

interface Pools extends Pick<Connection, "requests" | "streams"> {
  readonly identity: string;
}

export interface ConnectionsOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly connectionsMax: number;
}

export function createConnections({ credentials, clock, connectionsMax }: ConnectionsOptions): Connections {
  let pools: Pools | undefined;
  let current: Connection | undefined;
  let resolvedAtMs = 0;
  let epoch = 0;
  let resolving: Promise<Connection> | undefined;

  function poolsFor(access: ServerAccess): Pools {
    const identity = JSON.stringify([access.server, access.tls, access.proxyUrl]);
    if (pools?.identity === identity) return pools;
    const { origin } = new URL(access.server);
    const shared = { keepAliveMs, proxyUrl: access.proxyUrl, tls: sharedTls(access) };
    pools = {
      identity,
      requests: openConnection(origin, { ...shared, socketsMax: connectionsMax }),
      streams: openConnection(origin, { ...shared, socketsMax: streamsMax }),
    };
    return pools;
  }

  async function resolve(renew: boolean): Promise<Connection> {
    const resolved = await withDeadline({ clock, timeoutMs: credentialsTimeoutMs }, () =>
      credentials.resolve({ renew }),
    );
    if (!resolved.inTime) throw new Error("Reading the credentials took too long");
    const { requests, streams } = poolsFor(resolved.value);
    epoch += 1;
    resolvedAtMs = clock.monotonicMs();
    const baseUrl = resolved.value.server.replace(/\/+$/, "");
    current = { baseUrl, headers: resolved.value.headers, requests, streams, epoch };
    return current;
  }

  return {
    async acquire(refusedEpoch) {
      if (resolving !== undefined) return resolving;
      const refused = current !== undefined && current.epoch === refusedEpoch;
      const isFresh = clock.monotonicMs() - resolvedAtMs < accessAgeMsMax;
      if (current !== undefined && isFresh && !refused) return current;
      resolving = resolve(refused);
      try {
        return await resolving;
      } finally {
        resolving = undefined;
      }
    },
    close() {
      pools?.requests.close();
      pools?.streams.close();
    },
  };
}

/** Without this, Node.js would parse the certificates for each socket and keep a copy of them. */
function sharedTls({ server, tls }: ServerAccess): ConnectionLimits["tls"] {
  if (!server.startsWith("https:")) return undefined;
  const { servername, rejectUnauthorized, ...certificates } = tls;
  return {
    secureContext: createSecureContext(certificates),
    ...(servername !== undefined && { servername }),
    ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
  };
}
