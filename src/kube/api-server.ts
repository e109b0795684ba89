// Requests to the Kubernetes API as JSON over HTTP: each with one timeout, a bounded response, and a result union instead of
// exceptions. After a 401, the credentials are read again and the request is retried once; all other retries are up to the
// caller. Nothing here knows any kind of object.
import { types } from "node:util";
import { type Clock, type DeadlineOptions, withDeadline } from "../async/clock.ts";
import { type HttpResponse, HttpFault, bodyTooLargeCode, readBody } from "../net/http-connection.ts";
import { type Connection, Connections } from "./connections.ts";
import type { Credentials } from "./credentials.ts";
import { isRecord } from "./kube-object.ts";

const requestTimeoutMs = 30_000;
const connectionsMaxDefault = 4;
const bodyBytesMaxDefault = 64 * 1024 * 1024;
const faultBodyBytesMax = 256 * 1024;
const userAgentDefault = "wafsync";

const stopped = localFault("Aborted", "The request was stopped");

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface ApiRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Starts with a slash; see resource-path.ts. */
  readonly path: string;
  /** Undefined values are omitted. */
  readonly query?: Query;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Required for PATCH, where it is the type of the patch; `application/json` by default. */
  readonly contentType?: string;
  /** The format of the response: `application/json` by default. */
  readonly accept?: string;
  readonly timeoutMs?: number;
  /** The maximum size of the response; at most that of the client. */
  readonly bodyBytesMax?: number;
  readonly signal?: AbortSignal;
}

/** The timeout is for the start of the response, and the signal also ends the stream. */
export type ApiStreamRequest = Pick<ApiRequest, "path" | "query" | "accept" | "timeoutMs" | "signal">;

export interface ApiStream {
  /** Can be read once, by one reader. Throws when the connection breaks or is closed by this process. */
  readonly chunks: AsyncIterable<Uint8Array>;
  close(): void;
}

export interface ApiServer {
  /** The body of a 2xx response as JSON, unchecked: T is what the Kubernetes API documents. Never rejects. */
  request<T>(request: ApiRequest): Promise<ApiResult<T>>;
  /** A GET whose response is read as a stream. Never rejects. */
  openStream(request: ApiStreamRequest): Promise<ApiResult<ApiStream>>;
  /** Aborts all requests and streams. */
  close(): void;
}

export interface ApiServerOptions {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** For requests; streams have separate connections. */
  readonly connectionsMax?: number;
  readonly bodyBytesMax?: number;
  readonly userAgent?: string;
}

type Attempt<T> = (connection: Connection, signal: AbortSignal) => Promise<ApiResult<T>>;

/** Each client has its own sockets: create another one for requests that must not wait for others, such as those for the Lease. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { clock, bodyBytesMax = bodyBytesMaxDefault } = options;
  const { credentials, userAgent = userAgentDefault, connectionsMax = connectionsMaxDefault } = options;
  const connections = new Connections({ credentials, clock, connectionsMax });
  const closing = new AbortController();

  function request<T>(wanted: ApiRequest): Promise<ApiResult<T>> {
    const attempt: Attempt<T> = async (connection, signal) => {
      const body = wanted.body === undefined ? undefined : JSON.stringify(wanted.body);
      const headers = headersOf(connection, userAgent, wanted);
      const sent = { method: wanted.method, path: pathOf(connection, wanted), headers, body };
      const response = await connection.requests.send(sent, signal);
      return readAnswer<T>(response, Math.min(wanted.bodyBytesMax ?? bodyBytesMax, bodyBytesMax));
    };
    // Combining signals takes long, and most requests have none of their own.
    const stop = wanted.signal === undefined ? closing.signal : AbortSignal.any([wanted.signal, closing.signal]);
    const limits = { clock, timeoutMs: wanted.timeoutMs ?? requestTimeoutMs, signal: stop };
    return inTime(limits, (signal) => authenticated(connections, attempt, signal));
  }

  async function openStream(wanted: ApiStreamRequest): Promise<ApiResult<ApiStream>> {
    const ending = new AbortController();
    const close = (): void => ending.abort();
    const signal = AbortSignal.any([ending.signal, closing.signal, ...(wanted.signal ? [wanted.signal] : [])]);
    const attempt: Attempt<ApiStream> = async (connection) => {
      const headers = headersOf(connection, userAgent, wanted);
      const path = pathOf(connection, wanted);
      const response = await connection.streams.send({ method: "GET", path, headers }, signal);
      if (response.status !== 200) return await readFault(response);
      return { ok: true, value: { chunks: response.body, close }, status: 200 };
    };
    const limits = { clock, timeoutMs: wanted.timeoutMs ?? requestTimeoutMs, signal: wanted.signal };
    const result = await inTime(limits, (limit) => authenticated(connections, attempt, limit));
    if (!result.ok) close();
    return result;
  }

  return {
    request,
    openStream,
    close: () => {
      closing.abort();
      connections.close();
    },
  };
}

/** Runs an attempt, and another one with freshly read credentials if the server refused the first ones. */
async function authenticated<T>(
  connections: Connections,
  attempt: Attempt<T>,
  signal: AbortSignal,
): Promise<ApiResult<T>> {
  const first = await connect(connections);
  if (!first.ok) return first;
  const result = await attempt(first.value, signal);
  if (result.ok || result.fault.code !== "Unauthorized") return result;
  const second = await connect(connections, first.value);
  return second.ok ? attempt(second.value, signal) : second;
}

async function connect(connections: Connections, refused?: Connection): Promise<ApiResult<Connection>> {
  try {
    return { ok: true, value: await connections.acquire(refused), status: 0 };
  } catch (error) {
    return failed(localFault("NoCredentials", `The credentials can't be read: ${messageOf(error)}`));
  }
}

async function inTime<T>(
  limits: DeadlineOptions,
  act: (signal: AbortSignal) => Promise<ApiResult<T>>,
): Promise<ApiResult<T>> {
  const isStopped = (): boolean => limits.signal?.aborted === true;
  if (isStopped()) return failed(stopped);
  const result = await withDeadline(limits, (signal) =>
    act(signal).catch((error: unknown) => failed(localFault("Unavailable", messageOf(error)))),
  );
  if (isStopped()) return failed(stopped);
  return result.inTime ? result.value : failed(localFault("TimedOut", `No response within ${limits.timeoutMs} ms`));
}

function pathOf(
  { baseUrl }: Connection,
  { path, query = {} }: { readonly path: string; readonly query?: Query },
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const url = new URL(`${baseUrl}${path}?${parameters.toString()}`);
  return `${url.pathname}${url.search}`;
}

function headersOf(
  { headers }: Connection,
  userAgent: string,
  {
    body,
    contentType = "application/json",
    accept = "application/json",
  }: Partial<Pick<ApiRequest, "body" | "contentType" | "accept">>,
): Record<string, string> {
  const common = { accept, "user-agent": userAgent, ...headers };
  return body === undefined ? common : { ...common, "content-type": contentType };
}

async function readAnswer<T>(response: HttpResponse, bytesMax: number): Promise<ApiResult<T>> {
  const { status, body } = response;
  if (status < 200 || status > 299) return await readFault(response);
  const text = await readText(body, bytesMax);
  if (text === undefined) return failed(localFault("BodyTooLarge", `The response is longer than ${bytesMax} bytes`));
  try {
    return { ok: true, value: JSON.parse(text) as T, status };
  } catch {
    return failed({ ...localFault("ContractBroken", `HTTP ${status} with a body that is not JSON`), status });
  }
}

async function readFault({ status, body, headers }: HttpResponse): Promise<ApiResult<never>> {
  const text = (await readText(body, faultBodyBytesMax)) ?? "";
  return failed(faultOfResponse(status, text, headers["retry-after"]));
}

/** Undefined if the body is longer than `bytesMax`. */
async function readText(body: HttpResponse["body"], bytesMax: number): Promise<string | undefined> {
  try {
    return (await readBody(body, bytesMax)).toString("utf8");
  } catch (error) {
    if (error instanceof HttpFault && error.code === bodyTooLargeCode) return undefined;
    throw error;
  }
}

function failed(fault: ApiFault): { readonly ok: false; readonly fault: ApiFault } {
  return { ok: false, fault };
}

/** The message of an error from the network or a credential plugin, without its stack. */
export function messageOf(error: unknown): string {
  if (!types.isNativeError(error)) return "unknown error";
  const code = "code" in error && typeof error.code === "string" ? `${error.code}: ` : "";
  return `${code}${error.message}`.slice(0, 500);
}

// Reads the error that the API server reports: a Status object, or the response of a proxy or a starting server.

const messageCharactersMax = 2048;
const bodyCharactersMax = 200;
const causesMax = 20;
const retryAfterMsMax = 60 * 60_000;

const codesByStatus: Readonly<Record<number, ApiFaultCode>> = {
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  429: "TooManyRequests",
  504: "TimedOut",
};

/** The fault of a response other than 2xx. The body may be anything; only a Status object is trusted. */
export function faultOfResponse(status: number, body: string, retryAfter: string | undefined): ApiFault {
  const parsed = parseJson(body);
  if (isRecord(parsed) && parsed["kind"] === "Status") return faultOfStatus(parsed, status, retryAfterMs(retryAfter));
  const text = beginning(body.trim(), bodyCharactersMax);
  const message = text === "" ? `HTTP ${status}` : `HTTP ${status}: ${text}`;
  return { code: codeOf(status, ""), status, message, causes: [], ...retryAfterMs(retryAfter) };
}

/** The fault that a Status object reports: the object of an ERROR event in a watch, or the body of a failed request. */
export function faultOfStatus(
  object: unknown,
  httpStatus?: number,
  headerDelay: { readonly retryAfterMs?: number } = {},
): ApiFault {
  const body = isRecord(object) ? object : {};
  const details = isRecord(body["details"]) ? body["details"] : {};
  const status = httpStatus ?? (typeof body["code"] === "number" ? body["code"] : 500);
  const reason = textOf(body["reason"]);
  const detailDelay = retryAfterMs(details["retryAfterSeconds"]);
  const message = beginning(textOf(body["message"]), messageCharactersMax);
  return {
    code: codeOf(status, reason),
    status,
    message: message === "" ? `HTTP ${status} ${reason}`.trim() : message,
    causes: causesOf(details["causes"]),
    ...detailDelay,
    ...headerDelay,
  };
}

/** Truncated between two words: a part of a secret would not be recognized by the redactor. */
function beginning(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : text.slice(0, lengthMax).replace(/\S*$/u, "…");
}

function codeOf(status: number, reason: string): ApiFaultCode {
  if (reason === "AlreadyExists") return "AlreadyExists";
  if (reason === "Expired" || reason === "Gone") return "Gone";
  const code = codesByStatus[status];
  if (code !== undefined) return code;
  if (status >= 500) return "Unavailable";
  return status >= 400 ? "Invalid" : "ContractBroken";
}

function causesOf(causes: unknown): string[] {
  if (!Array.isArray(causes)) return [];
  return causes.slice(0, causesMax).flatMap((cause: unknown) => (isRecord(cause) ? textOf(cause["reason"]) : []));
}

/** Kubernetes sends whole seconds, never a date. */
function retryAfterMs(seconds: unknown): { readonly retryAfterMs?: number } {
  if (!/^[0-9]{1,9}$/.test(String(seconds))) return {};
  return { retryAfterMs: Math.min(Number(seconds) * 1000, retryAfterMsMax) };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// The possible results of a Kubernetes API request. Results are unions, not exceptions: every caller sees every case.

/**
 * - `Unauthorized`: 401, even after the credentials were read again. `Forbidden`: 403.
 * - `NotFound`: 404: the object, or the whole kind, does not exist.
 * - `AlreadyExists`, `Conflict`: 409: the name is taken, or the resourceVersion is not the current one.
 * - `Gone`: 410: a resourceVersion or continue token has expired.
 * - `Invalid`: any other 4xx: the server refuses the content.
 * - `TooManyRequests`: 429. `Unavailable`: 5xx, or no response; a write may or may not have taken effect.
 * - `TimedOut`: the timeout of the request expired, or 504; a write may or may not have taken effect.
 * - `BodyTooLarge`: the response exceeds the size limit.
 * - `ContractBroken`: the response is not what the Kubernetes API documents.
 * - `NoCredentials`: the server address, certificates or token could not be read; nothing was sent.
 * - `Aborted`: the caller's signal was aborted.
 */
export type ApiFaultCode =
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "Invalid"
  | "TooManyRequests"
  | "Unavailable"
  | "TimedOut"
  | "BodyTooLarge"
  | "ContractBroken"
  | "NoCredentials"
  | "Aborted";

export interface ApiFault {
  readonly code: ApiFaultCode;
  /** One sentence for users; at most 2,048 characters. */
  readonly message: string;
  /** The HTTP status, or the code of a Status object in a watch; undefined if there was no response. */
  readonly status?: number;
  /** `details.causes[].reason` of the Status object, at most 20. */
  readonly causes: readonly string[];
  /** The delay that the server requested, if any. */
  readonly retryAfterMs?: number;
}

export type ApiResult<T> =
  | { readonly ok: true; readonly value: T; readonly status: number }
  | { readonly ok: false; readonly fault: ApiFault };

/** A fault that was not reported by a server. */
export function localFault(code: ApiFaultCode, message: string): ApiFault {
  return { code, message, causes: [] };
}
