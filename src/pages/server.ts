// Serves the page over HTTP: read-only, without a session, and only to pages of its own origin.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isIP, isIPv6 } from "node:net";
import { startServer } from "../app/health-server.ts";
import { CommandError } from "../cli/describe-error.ts";

export interface BindAddress {
  readonly host: string;
  readonly port: number;
}

export interface PageRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface PageResponse {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** The content at this path never changes. */
  readonly isImmutable?: boolean;
}

const requestTimeoutMs = 10_000;
/** In characters. */
const urlLengthMax = 2_048;

/** With these headers, browsers run and load only what this server serves, and nothing inline. */
const headers = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/**
 * @param onProblem called when a request failed unexpectedly
 * @throws an error of Node.js if the address can't be used
 */
export async function startPageServer(
  bind: BindAddress,
  handle: (request: PageRequest) => Promise<PageResponse>,
  onProblem: (error: unknown) => void,
) {
  const answer = async (request: IncomingMessage): Promise<PageResponse> => {
    const refusal = refusalOf(request);
    if (refusal !== undefined) return refusal;
    const url = URL.parse(request.url ?? "", "http://localhost");
    if (url === null) return plain(400, "The path is not valid.");
    return await handle({ path: url.pathname, query: url.searchParams });
  };
  const options = { requestTimeout: requestTimeoutMs, connectionsCheckingInterval: 1_000 };
  const server = createServer(options, (request, response) => {
    answer(request)
      .catch((error: unknown) => {
        onProblem(error);
        return plain(500, "An unexpected error occurred. This is a bug in wafsync: its log has the details.");
      })
      .then((found) => send(request, response, found), onProblem);
  });
  const { port, close } = await startServer(server, bind.host, bind.port);
  server.on("error", onProblem);
  return { url: urlOf({ host: bind.host, port }), close };
}

function refusalOf({ method, headers: sent, url = "" }: IncomingMessage): PageResponse | undefined {
  if (method !== "GET" && method !== "HEAD")
    return plain(405, "This page is read-only: only GET and HEAD are allowed.");
  if (!isOwnHost(sent.host)) return plain(421, "Open this page with an IP address or localhost as its host name.");
  if (url.length > urlLengthMax) return plain(414, "The address is too long.");
  const site = sent["sec-fetch-site"];
  // Another page must not make wafsync call a WAF, even if it can't read the response.
  const isForeign = site === "cross-site" || site === "same-site";
  if (!isForeign || (url === "/" && sent["sec-fetch-mode"] === "navigate")) return undefined;
  return plain(403, "Another website linked to this page. To see the page, open its address yourself.");
}

function plain(status: number, text: string): PageResponse {
  return { status, type: "text/plain; charset=utf-8", body: `${text}\n` };
}

function send({ method }: IncomingMessage, response: ServerResponse, found: PageResponse): void {
  const { status, type, body, isImmutable } = found;
  const common = {
    ...headers,
    "cache-control": isImmutable === true ? "private, max-age=31536000, immutable" : "no-store",
    ...(status === 405 ? { allow: "GET, HEAD" } : {}),
  };
  const bytes = Buffer.from(body);
  response.writeHead(status, { ...common, "content-type": type, "content-length": bytes.length });
  response.end(method === "HEAD" ? undefined : bytes);
}

const portMax = 65_535;

/** `127.0.0.1:8082` or `[::1]:8082`. @throws CommandError */
export function parseBindAddress(text: string, option = "--bind-address"): BindAddress {
  const { ipv6, ipv4, port } = /^(?:\[(?<ipv6>[^\]]+)\]|(?<ipv4>[^:]+)):(?<port>\d{1,5})$/.exec(text)?.groups ?? {};
  const host = ipv6 ?? (ipv4 === "localhost" ? "127.0.0.1" : (ipv4 ?? ""));
  if (isIP(host) === 0 || isIPv6(host) !== (ipv6 !== undefined) || Number(port) > portMax) {
    throw new CommandError(
      `${option} ${JSON.stringify(text)} is not an address with a port`,
      "Write an IP address and a port, for example 127.0.0.1:8082 or [::1]:8082. Port 0 takes a free one.",
    );
  }
  return { host, port: Number(port) };
}

/** For `catch`: throws a CommandError that says why the address in this option can't be used. */
export function cannotListen(option: string, address: string): (error: NodeJS.ErrnoException) => never {
  return ({ code = "unknown error" }) => {
    throw new CommandError(`cannot listen on ${address} (${code})`, `Choose another ${option}.`);
  };
}

/** Whether only this machine can reach the address. */
export function isLoopback({ host }: BindAddress): boolean {
  return host === "::1" || host.startsWith("127.");
}

export function urlOf({ host, port }: BindAddress): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}/`;
}

/**
 * Whether the `Host` header of a request names an IP address or this machine. A website that makes its own name resolve to this
 * machine can't read the page, because its requests carry that name.
 */
export function isOwnHost(header: string | undefined): boolean {
  const name = /^(?<name>\[[\da-fA-F:.]+\]|[^:[\]]+)(?::\d{1,5})?$/.exec(header ?? "")?.groups?.["name"]?.toLowerCase();
  if (name === undefined) return false;
  if (name === "localhost" || name.endsWith(".localhost")) return true;
  return isIP(name.replaceAll(/[[\]]/g, "")) !== 0;
}
