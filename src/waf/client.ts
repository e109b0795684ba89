// The WAF API of one key, with one method for each call. Every call takes its turn in the lane. There, immediately before it is
// sent, every write calls `permit`: this is the only place where dry runs, lost leases and stopping are enforced. The client never
// retries.
import type { Clock } from "../async/clock.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { ListName } from "../model/declared.ts";
import { SecretSearch } from "../model/redactor.ts";
import type { CallOptions, LogPort, WafFault, WafFaultCode, WafPort, WafResult } from "../model/waf-result.ts";
import { readListAnswer, readLogAnswer, readOriginsAnswer, readWriteAnswer } from "./answer.ts";
import type { AnswerReader } from "./answer.ts";
import { requireBaseUrl } from "./base-url.ts";
import type { HttpConnection } from "../net/http-connection.ts";
import { type Effect, faultOf } from "./exchange-fault.ts";
import type { Lane } from "./lane.ts";
import { type Exchange, isSuccess, sendRequest } from "./request.ts";
import { listLengthMax } from "./wire.ts";
import { inThousands } from "../model/texts.ts";

/** The time after which a lost lease may be taken over relies on this limit. */
export const writeTimeoutMsMax = 10_000;
export const readBodyBytesMax = 64 * 1_048_576;

/** The limits of a response, so that one WAF can't exhaust the memory. */
export interface AnswerLimits {
  readonly listEntriesMax: number;
  /** For lists and pages of logs. */
  readonly bodyBytesMax: number;
}

/** For a person who uses their own WAFs. */
const widestLimits: AnswerLimits = { listEntriesMax: listLengthMax, bodyBytesMax: readBodyBytesMax };
export const writeBodyBytesMax = 1_048_576;

export type Permission = { readonly permitted: true } | { readonly permitted: false; readonly reason: string };

/** One call that was passed to the connection, for metrics and logs. It never contains the key, an address or a host. */
export interface CallRecord {
  readonly method: "GET" | "POST" | "DELETE";
  /** The path with `{api_key}` in place of the key. */
  readonly endpoint: string;
  readonly status: number | undefined;
  readonly faultCode: WafFaultCode | undefined;
  readonly durationMs: number;
}

export interface WafClientOptions {
  /** Must have passed `normalizeBaseUrl`; otherwise an error with the code `InvalidBaseUrl` is thrown. */
  readonly baseUrl: string;
  readonly key: ApiKey;
  /** Former keys of the same WAF, newest first: the API may also return these. */
  readonly formerKeys?: readonly ApiKey[] | undefined;
  /** Also redacts former keys in the API's messages; the current key is always redacted. */
  readonly redact?: ((text: string) => string) | undefined;
  /** From the start of the turn to the last byte of the response; for a write, at most `writeTimeoutMsMax`. */
  readonly requestTimeoutMs: number;
  readonly lane: Lane;
  /** Called once for each call. */
  readonly permit: (effect: Effect) => Permission;
  readonly limits?: AnswerLimits | undefined;
  readonly clock: Clock;
  /** Whether faults hide the cause of a failed connection from their readers: see `ExchangeContext`. */
  readonly hidesCause?: boolean | undefined;
  /** Must not throw. */
  readonly onCall?: ((call: CallRecord) => void) | undefined;
}

export type WafClient = WafPort & LogPort;

/** A client for one base URL and key, for which `lane` must have been acquired. */
export function createWafClient(options: WafClientOptions): WafClient {
  const caller = new Caller(options);
  const { limits = widestLimits } = options;
  const write = async (method: "POST" | "DELETE", endpoint: string, fields: Fields | undefined, how?: CallOptions) =>
    await caller.call({ method, endpoint, fields, read: readWriteAnswer }, how);
  const get = async <T>(endpoint: string, fields: Fields, read: AnswerReader<T>, how?: CallOptions) =>
    await caller.call({ method: "GET", endpoint, fields, read }, how);
  return {
    readOrigins: async (how) => await get("/api/origins", {}, readOriginsAnswer, how),
    readList: async (list, how) => {
      const read = await get(`/api/${list}_ips`, {}, readListAnswer, how);
      const { listEntriesMax } = limits;
      return read.ok && read.value.length > listEntriesMax
        ? { ok: false, fault: longList(list, listEntriesMax) }
        : read;
    },
    addEntry: async (list, ip, how) => await write("POST", `/api/${list}_ip`, { ip }, how),
    removeEntry: async (list, ip, how) => await write("DELETE", `/api/${list}_ip`, { ip }, how),
    addOrigin: async (origin, type, how) =>
      await write("POST", "/api/origins", { origin, origin_type: type === "Alternate" ? "alternate" : "backup" }, how),
    removeOrigin: async (origin, how) => await write("DELETE", "/api/origins", { origin }, how),
    clearCache: async (how) => await write("POST", "/clear/{api_key}", undefined, how),
    queryLogs: async ({ startDate, endDate, perPage }, how) => {
      const fields = { start_date: startDate, end_date: endDate, per_page: String(perPage) };
      return await get("/api/logs/query", fields, readLogAnswer, how);
    },
    scrollLogs: async (scrollId, how) => await get("/api/logs/scroll", { scroll_id: scrollId }, readLogAnswer, how),
  };
}

type Fields = Readonly<Record<string, string>>;

interface Call<T> {
  /** Only a GET is a read. */
  readonly method: "GET" | "POST" | "DELETE";
  /** The path below the base URL, with `{api_key}` in place of the key. */
  readonly endpoint: string;
  /** The parameters next to the key: in the query of a read, or in the form of a write. Undefined if the key is in the path. */
  readonly fields: Fields | undefined;
  readonly read: AnswerReader<T>;
}

function effectOf({ method }: Pick<Call<unknown>, "method">): Effect {
  return method === "GET" ? "Read" : "Write";
}

function isOfLogs({ endpoint }: Pick<Call<unknown>, "endpoint">): boolean {
  return endpoint.startsWith("/api/logs/");
}

class Caller {
  readonly #options: WafClientOptions;
  readonly #keys: SecretSearch;
  readonly #origin: string;
  readonly #path: string;

  constructor(options: WafClientOptions) {
    const { origin, path } = requireBaseUrl(options.baseUrl);
    this.#options = options;
    this.#keys = new SecretSearch([options.key, ...(options.formerKeys ?? [])].map((key) => key.reveal()));
    this.#origin = origin;
    this.#path = path;
  }

  async call<T>(call: Call<T>, { signal }: CallOptions = {}): Promise<WafResult<T>> {
    const turn = { urgency: isOfLogs(call) ? "Bulk" : "Normal", signal } as const;
    const { lane } = this.#options;
    return await lane.run(turn, async (connection) => await this.#take(call, connection, signal));
  }

  async #take<T>(call: Call<T>, connection: HttpConnection, signal: AbortSignal | undefined): Promise<WafResult<T>> {
    const { permit, clock, requestTimeoutMs, onCall } = this.#options;
    const effect = effectOf(call);
    const isRead = effect === "Read";
    const permission = permit(effect);
    if (!permission.permitted) {
      return { ok: false, fault: { code: isRead ? "Aborted" : "NotPermitted", message: permission.reason } };
    }
    const { bodyBytesMax } = this.#options.limits ?? widestLimits;
    const timeoutMs = isRead ? requestTimeoutMs : Math.min(requestTimeoutMs, writeTimeoutMsMax);
    const limits = { timeoutMs, bodyBytesMax: isRead ? bodyBytesMax : writeBodyBytesMax, signal };
    const startMs = clock.monotonicMs();
    const exchange = await sendRequest(connection, this.#request(call), limits, clock);
    const result = this.#judge(call, exchange, timeoutMs);
    onCall?.({
      method: call.method,
      endpoint: call.endpoint,
      status: exchange.status,
      faultCode: result.ok ? undefined : result.fault.code,
      durationMs: clock.monotonicMs() - startMs,
    });
    return result;
  }

  #request({ method, endpoint, fields }: Call<unknown>): Parameters<typeof sendRequest>[1] {
    const key = this.#options.key.reveal();
    const path = this.#path + endpoint.replace("{api_key}", () => encodeURIComponent(key));
    if (fields === undefined) return { method, path, form: "" };
    const parameters = new URLSearchParams({ api_key: key, ...fields }).toString();
    return method === "GET" ? { method, path: `${path}?${parameters}`, form: "" } : { method, path, form: parameters };
  }

  #judge<T>(call: Call<T>, exchange: Exchange, timeoutMs: number): WafResult<T> {
    const { clock, lane, hidesCause = false } = this.#options;
    const { text, status } = exchange;
    const answer = text !== undefined && isSuccess(status) ? call.read(text, this.#keys, this.#redact) : undefined;
    if (answer?.ok === true) return { ok: true, value: answer.value };
    const fault = faultOf(exchange, {
      effect: effectOf(call),
      takesPlainFailures: isOfLogs(call),
      redact: this.#redact,
      origin: this.#origin,
      hidesCause,
      bodyBytesMax: (this.#options.limits ?? widestLimits).bodyBytesMax,
      timeoutMs,
      nowMs: clock.nowMs(),
      problem: answer?.problem,
    });
    // The API limits the key and not the caller, so all users of the lane wait.
    if (fault.code === "RateLimited") lane.pauseUntil(clock.monotonicMs() + (fault.retryAfterMs ?? 0));
    return { ok: false, fault: { ...fault, message: this.#redact(fault.message) } };
  }

  readonly #redact = (text: string): string => {
    const withoutKey = this.#keys.redact(text);
    return this.#options.redact?.(withoutKey) ?? withoutKey;
  };
}

function longList(list: ListName, entriesMax: number): WafFault {
  const most = inThousands(entriesMax);
  const message = `The ${list} has more entries than the limit of ${most} (--max-list-entries).`;
  return { code: "TooLarge", message, status: 200 };
}
