// Sends blocked requests as OpenTelemetry log records, by OTLP over HTTP in its JSON form. Attributes have the names of the semantic
// conventions, if these define one.
import { type Clock, withDeadline } from "../async/clock.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import { nameKey } from "../model/resource.ts";
import { codeOf, type HttpConnection, openConnection, readBody } from "../net/http-connection.ts";
import type { LogOrigin, LogOutputPort } from "./forward-ports.ts";

export const stoppingProblem = "The operator is stopping.";
const noAnswerProblem = "The OpenTelemetry collector did not finish its response within 20 s.";
/** How long a collector may take for one page of rows. */
export const collectorMsMax = 20_000;
/** After a failure that took longer than this, all writes fail immediately for `awayMs`, so that a slow collector occupies few workers. */
const slowFailureMs = 5_000;
const awayMs = 30_000;
/** The next page follows soon. */
const keepAliveMs = 1_000;
const socketsMax = 32;
const answerBytesMax = 1_048_576;
/** Longer strings are truncated, because collectors reject a request that is too large as a whole. */
const stringLengthMax = 8_192;
/** Times are unsigned 64-bit nanoseconds. */
const timeMsMax = 2 ** 63 / 1_000_000;
const knownMethods = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]);
/** Of `SeverityNumber` in OTLP. */
const warn = 13;

export interface Collector {
  /** The base URL; `/v1/logs` is added. */
  readonly endpoint: string;
  /** Sent with each request; they may contain credentials. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The headers of `name=value,name=value` with percent-encoded values; undefined if one is invalid. */
export function readHeaders(text: string): Collector["headers"] | undefined {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "");
  try {
    return Object.fromEntries(new Headers(pairs.map(headerOf)));
  } catch {
    return undefined;
  }
}

/** Without `=`, the name is empty, and therefore invalid. */
function headerOf(pair: string): [string, string] {
  const { name = "", value = "" } = /^(?<name>[^=]*)=(?<value>.*)$/s.exec(pair)?.groups ?? {};
  return [decodeURIComponent(name.trim()), decodeURIComponent(value.trim())];
}

export interface CollectorOptions {
  readonly version: string;
  /** Distinguishes one operator from another. */
  readonly podName: string;
  readonly clock: Clock;
  /** Aborts a write that is still waiting. */
  readonly abandon: AbortSignal;
}

export class CollectorLogs implements LogOutputPort {
  readonly #url: URL;
  readonly #headers: Collector["headers"];
  readonly #options: CollectorOptions;
  readonly #connection: HttpConnection;
  #away: { readonly untilMs: number; readonly problem: string } | undefined;

  constructor({ endpoint, headers }: Collector, options: CollectorOptions) {
    this.#url = new URL(`${endpoint.replace(/\/+$/, "")}/v1/logs`);
    this.#headers = { ...headers, "content-type": "application/json" };
    this.#options = options;
    this.#connection = openConnection(this.#url.origin, { socketsMax, keepAliveMs });
  }

  /** All entries are in one request, and count as accepted if its status says so. */
  async write(origin: LogOrigin, entries: readonly LogEntry[]): Promise<string | undefined> {
    const { clock, abandon } = this.#options;
    if (this.#away !== undefined && clock.monotonicMs() < this.#away.untilMs) return this.#away.problem;
    const startMs = clock.monotonicMs();
    const body = JSON.stringify(this.#requestOf(origin, entries));
    const sent = await withDeadline({ clock, timeoutMs: collectorMsMax, signal: abandon }, async (signal) => {
      return await this.#send(body, signal);
    });
    if (abandon.aborted) return stoppingProblem;
    const problem = sent.inTime ? sent.value : noAnswerProblem;
    const nowMs = clock.monotonicMs();
    if (problem !== undefined && nowMs - startMs >= slowFailureMs) this.#away = { untilMs: nowMs + awayMs, problem };
    return problem;
  }

  close(): void {
    this.#connection.close();
  }

  /** Omits what the collector says, which may quote the sent data. */
  async #send(body: string, signal: AbortSignal): Promise<string | undefined> {
    const request = { method: "POST", path: this.#url.pathname, headers: this.#headers, body } as const;
    try {
      const { status, body: answer } = await this.#connection.send(request, signal);
      await readBody(answer, answerBytesMax);
      return status < 300 ? undefined : `The OpenTelemetry collector answers with HTTP status ${status}.`;
    } catch (error) {
      return `The OpenTelemetry collector can't be reached (${codeOf(error)}).`;
    }
  }

  #requestOf(origin: LogOrigin, entries: readonly LogEntry[]) {
    const { version, podName, clock } = this.#options;
    const resource = { "service.name": "wafsync", "service.version": version, "service.instance.id": podName };
    const logRecords = entries.map((entry) => recordOf(origin, entry, clock.nowMs()));
    const scopeLogs = [{ scope: { name: "wafsync", version }, logRecords }];
    return { resourceLogs: [{ resource: { attributes: attributesOf(resource) }, scopeLogs }] };
  }
}

/** Its time is when the request was blocked, and its observed time is `nowMs`. */
function recordOf(origin: LogOrigin, entry: LogEntry, nowMs: number) {
  const timeMs = logTimeMs(entry.timestamp);
  return {
    timeUnixNano: nanosecondsOf(timeMs >= 0 && timeMs < timeMsMax ? timeMs : nowMs),
    observedTimeUnixNano: nanosecondsOf(nowMs),
    severityNumber: warn,
    severityText: "WARN",
    eventName: "wafsync.request.blocked",
    body: valueOf(`Blocked: ${entry.block_reason}`),
    attributes: attributesOf(fieldsOf(origin, entry)),
  };
}

function nanosecondsOf(timeMs: number): string {
  return `${timeMs}000000`;
}

type Value = string | number | boolean | readonly string[];

function fieldsOf(
  { instance, domain }: LogOrigin,
  entry: LogEntry,
): Readonly<Record<string, Value | null | undefined>> {
  const isKnown = knownMethods.has(entry.http_method);
  const queryStart = entry.request_path.indexOf("?");
  const hasQuery = queryStart !== -1;
  return {
    "client.address": entry.client_ip,
    "http.request.method": isKnown ? entry.http_method : "_OTHER",
    "http.request.method_original": isKnown ? undefined : entry.http_method,
    "url.path": hasQuery ? entry.request_path.slice(0, queryStart) : entry.request_path,
    "url.query": hasQuery ? entry.request_path.slice(queryStart + 1) : undefined,
    "http.response.status_code": entry.http_status,
    "http.response.size": entry.response_size,
    "user_agent.original": entry.user_agent,
    "http.request.header.referer": entry.referrer === null ? undefined : [entry.referrer],
    "geo.country.iso_code": entry.country,
    "server.address": domain,
    "wafsync.instance": nameKey(instance),
    "wafsync.block.reason": entry.block_reason,
    "wafsync.cache.hit": entry.cache_hit,
  };
}

function attributesOf(fields: Readonly<Record<string, Value | null | undefined>>) {
  return Object.entries(fields).flatMap(([key, value]) => (value == null ? [] : [{ key, value: valueOf(value) }]));
}

function valueOf(value: Value): unknown {
  if (typeof value === "string") return { stringValue: value.slice(0, stringLengthMax) };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value !== "number") return { arrayValue: { values: value.map(valueOf) } };
  return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
}
