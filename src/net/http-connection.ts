// One HTTP exchange, for everything that wafsync calls: the WAF, feeds and the Kubernetes API. A request is sent at most once:
// there are no retries, redirects are not followed, and proxies in the environment are not used. `sent` is false only if it is
// certain that no byte of the request left the machine: then a write can't have taken effect.
import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import { types } from "node:util";
import type { AllowAddress, ResolveHost } from "./checked-lookup.ts";
import { createCheckedLookup, refusedLiteral } from "./checked-lookup.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Includes the query; percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

export interface HttpResponse {
  /** The status of the final response, at least 200. */
  readonly status: number;
  /** In lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Can be read once. Throws an `HttpFault` unless it arrives completely. A reader that stops early closes the connection. */
  readonly body: AsyncIterable<Buffer>;
}

export interface HttpConnection {
  /**
   * Resolves when the header of the response has arrived; otherwise rejects with an `HttpFault`. The signal ends the request
   * and also the body, until this has been read to its end.
   */
  send(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse>;
  /** Drops all sockets, with the requests in flight. */
  close(): void;
}

export type OpenConnection = (origin: string) => HttpConnection;

/** Which addresses a connection may go to. They are checked each time a socket is opened. */
export interface AddressCheck {
  readonly isAllowed: AllowAddress;
  readonly resolve?: ResolveHost;
}

export interface ConnectionLimits {
  /** The maximum number of sockets, each with one request at a time. */
  readonly socketsMax: number;
  /** How long an idle socket stays open; 0 closes each after its response. */
  readonly keepAliveMs: number;
  readonly check?: AddressCheck | undefined;
  readonly tls?: Pick<ConnectionOptions, "secureContext" | "servername" | "rejectUnauthorized"> | undefined;
  /** An HTTP or HTTPS proxy, which opens a tunnel to the server. */
  readonly proxyUrl?: string | undefined;
}

/** The codes of faults that are not from the network. */
export const abortedCode = "ABORTED";
export const bodyTooLargeCode = "BODY_TOO_LARGE";

export class HttpFault extends Error {
  /** Stable, such as `ECONNREFUSED`; the `code` of the signal's reason if the signal ended the exchange. */
  readonly code: string;
  readonly sent: boolean;

  constructor(code: string, sent: boolean, cause: unknown) {
    super(types.isNativeError(cause) ? cause.message : code, { cause });
    this.code = code;
    this.sent = sent;
  }
}

/** Longer headers are a protocol error. */
const headerBytesMax = 32_768;
/** An idle peer is probed, so that a dead connection does not remain open. */
const tcpProbeDelayMs = 30_000;

/** HTTP/1.1 to one `https://host:port` or `http://host:port`. */
export function openConnection(origin: string, limits: ConnectionLimits): HttpConnection {
  const url = new URL(origin);
  const { request: requestOn } = modulesFor(url.protocol);
  const agent = agentFor(url, limits);
  const { hostname, port, protocol } = url;
  return {
    async send({ method, path, headers, body }, signal) {
      const refused = limits.check && refusedLiteral(hostname, limits.check.isAllowed);
      if (refused !== undefined) throw new HttpFault(codeOf(refused), false, refused);
      if (signal.aborted) throw new HttpFault(codeOf(signal.reason, abortedCode), false, signal.reason);
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const target = { protocol, host: hostname.replace(/^\[(.*)\]$/, "$1"), port, method, path, agent };
      const options = { ...target, headers: { ...headers, ...length }, maxHeaderSize: headerBytesMax };
      let request: ClientRequest;
      try {
        request = requestOn(options);
      } catch (error) {
        throw new HttpFault(codeOf(error), false, error);
      }
      const response = receive(request, protocol === "https:" ? "secureConnect" : "connect", signal);
      request.end(body);
      return await response;
    },
    close: () => agent.destroy(),
  };
}

function receive(
  request: ClientRequest,
  opened: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<HttpResponse> {
  let sent = false;
  const faultOf = (error: unknown): HttpFault =>
    signal.aborted
      ? new HttpFault(codeOf(signal.reason, abortedCode), sent, signal.reason)
      : new HttpFault(codeOf(error), sent, error);
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(faultOf(undefined));
      request.destroy();
    };
    const release = (): void => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort, { once: true });
    request.once("socket", (socket: Socket) => {
      // Node.js writes a request only to an open socket, and to one with TLS only after it has verified the certificate.
      if (socket.connecting) socket.once(opened, () => (sent = true));
      else sent = true;
    });
    let failed: unknown;
    request.on("error", (error) => {
      failed = error;
      reject(faultOf(error));
    });
    request.once("close", release);
    request.once("response", (response) => {
      response.once("end", release);
      const body = readChunks(response, () => failed, faultOf);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
  });
}

/** Node.js takes a reset connection for the end of a body without a length, so errors of the request count too. */
async function* readChunks(
  response: IncomingMessage,
  failed: () => unknown,
  faultOf: (error: unknown) => HttpFault,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    throw faultOf(failed() ?? error);
  }
  if (failed() !== undefined) throw faultOf(failed());
}

/** Reads a whole body. Stops reading and throws the code `BODY_TOO_LARGE` if it is longer than `bytesMax`. */
export async function readBody(body: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new HttpFault(bodyTooLargeCode, true, undefined);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  chunks.forEach(freeMemory);
  return whole;
}

/**
 * Frees the memory of bytes that nothing uses any longer; they are empty then. Without it, large bodies make the garbage collector mark
 * the whole heap again and again.
 */
export function freeMemory({ buffer, byteLength }: Buffer): void {
  // Small buffers share their memory with others.
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Only the code: messages of network errors may quote received data. */
export function codeOf(error: unknown, otherwise = "NETWORK_ERROR"): string {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) ? code : otherwise;
}

/** An `import` of node:http would also load the WebSocket of Node.js, which takes 20 ms; TLS is loaded when it is needed. */
function modulesFor(protocol: string): Pick<typeof import("node:http"), "Agent" | "request"> {
  return protocol === "https:" ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");
}

function agentFor(url: URL, { socketsMax, keepAliveMs, check, tls, proxyUrl }: ConnectionLimits): Agent {
  const { Agent } = modulesFor(url.protocol);
  return new Agent({
    maxSockets: socketsMax,
    keepAlive: keepAliveMs > 0,
    // Only idle sockets are closed after this time.
    ...(keepAliveMs > 0 && { timeout: keepAliveMs }),
    keepAliveMsecs: tcpProbeDelayMs,
    ...(url.protocol === "https:" && { ALPNProtocols: ["http/1.1"], ...tls }),
    ...(check !== undefined && { lookup: createCheckedLookup(check.isAllowed, check.resolve) }),
    ...(proxyUrl !== undefined && { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
  });
}
