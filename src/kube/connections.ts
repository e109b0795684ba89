// The sockets to the API server, shared by all requests of one ApiServer. Streams have a separate pool, because each of them
// holds a connection for minutes and would starve short requests. Certificates and tokens are read again every few seconds;
// new certificates mean new pools, and the old ones are closed after their last request.
import { setMaxListeners } from "node:events";
import { createSecureContext, type SecureContext } from "node:tls";
import type { Dispatcher } from "undici";
import Agent from "undici/lib/dispatcher/agent.js";
import type { Clock } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import type { Credentials, ServerAccess, TlsMaterial } from "./credentials.ts";

const accessAgeMsMax = 10_000;
const credentialsTimeoutMs = 20_000;
const connectTimeoutMs = 10_000;
/** Shorter than the 90 s of the API server, so that requests are rarely sent on a connection that it is closing. */
const keepAliveMs = 30_000;
const tcpProbeDelayMs = 30_000;

export interface Connection {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
  /** Identifies one read of the credentials. */
  readonly epoch: number;
}

export interface Connections {
  /**
   * The connection to the server. `refusedEpoch` is the epoch of a connection whose credentials the server refused: they are read
   * again unless another request has already done so. Throws if the credentials cannot be read.
   */
  acquire(refusedEpoch?: number): Promise<Connection>;
  /** Closes everything immediately, including requests in flight. */
  close(): Promise<void>;
}

interface Pools {
  readonly identity: string;
  readonly requests: Dispatcher;
  readonly streams: Dispatcher;
}

export interface ConnectionsOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly connectionsMax: number;
  readonly streamsMax: number;
}

export function createConnections(options: ConnectionsOptions): Connections {
  const { credentials, clock } = options;
  const openPools = new Set<Pools>();
  // Otherwise, sockets that are still being opened would keep the process alive until they time out.
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  let pools: Pools | undefined;
  let current: Connection | undefined;
  let resolvedAtMs = 0;
  let epoch = 0;
  let resolving: Promise<Connection> | undefined;

  async function poolsFor(access: ServerAccess): Promise<Pools> {
    const identity = JSON.stringify([access.server, access.tls, access.proxyUrl]);
    if (pools?.identity === identity) return pools;
    const fresh = await createPools(identity, access, options, closing.signal);
    if (pools !== undefined) retire(pools);
    pools = fresh;
    openPools.add(pools);
    return pools;
  }

  function retire(former: Pools): void {
    const closing = Promise.allSettled([former.requests.close(), former.streams.close()]);
    void closing.then(() => openPools.delete(former));
  }

  async function resolve(renew: boolean): Promise<Connection> {
    const resolved = await withDeadline({ clock, timeoutMs: credentialsTimeoutMs }, () =>
      credentials.resolve({ renew }),
    );
    if (!resolved.inTime) throw new Error("Reading the credentials took too long");
    const { requests, streams } = await poolsFor(resolved.value);
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
    async close() {
      const all = [...openPools].flatMap(({ requests, streams }) => [requests.destroy(), streams.destroy()]);
      openPools.clear();
      closing.abort();
      await Promise.allSettled(all);
    },
  };
}

async function createPools(
  identity: string,
  { server, tls, proxyUrl }: ServerAccess,
  limits: ConnectionsOptions,
  closing: AbortSignal,
): Promise<Pools> {
  const shared = { proxyUrl, tls: server.startsWith("https:") ? sharedTls(tls) : {}, closing };
  return {
    identity,
    requests: await createDispatcher({ ...shared, connections: limits.connectionsMax }),
    streams: await createDispatcher({ ...shared, connections: limits.streamsMax }),
  };
}

interface SharedTls extends Pick<TlsMaterial, "servername" | "rejectUnauthorized"> {
  readonly secureContext?: SecureContext;
}

/** Without this, Node.js would parse the certificates for each socket and keep a copy of them. */
function sharedTls({ servername, rejectUnauthorized, ...certificates }: TlsMaterial): SharedTls {
  return {
    secureContext: createSecureContext(certificates),
    ...(servername === undefined ? {} : { servername }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
  };
}

interface DispatcherOptions {
  readonly proxyUrl: string | undefined;
  readonly tls: SharedTls;
  readonly connections: number;
  readonly closing: AbortSignal;
}

/** HTTP/1.1 only, so that one lost connection never ends several watches. Timeouts use the Clock. */
async function createDispatcher({ proxyUrl, tls, connections, closing }: DispatcherOptions): Promise<Dispatcher> {
  const shared = { connections, allowH2: false, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 };
  const keepAlive = { keepAliveTimeout: keepAliveMs, keepAliveMaxTimeout: keepAliveMs };
  const socket = {
    timeout: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelay: tcpProbeDelayMs,
    signal: closing,
  };
  if (proxyUrl !== undefined) {
    const { default: ProxyAgent } = await import("undici/lib/dispatcher/proxy-agent.js");
    return new ProxyAgent({ ...shared, ...keepAlive, uri: proxyUrl, requestTls: { ...tls }, connect: socket });
  }
  return new Agent({ ...shared, ...keepAlive, connect: { ...tls, ...socket } });
}
