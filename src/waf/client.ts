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
import { faultOf } from "./exchange-fault.ts";
import type { Lane, TurnRefusal } from "./lane.ts";
import { endpointOf, isWrite, wafOperations } from "./operations.ts";
import type { OperationName, WriteName } from "./operations.ts";
import { isSuccess, sendRequest } from "./request.ts";
import { listLengthMax } from "./wire.ts";
import type { Exchange } from "./request.ts";
import { inThousands } from "../model/sentence.ts";

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
  /** Called once for each write. */
  readonly permit: (operation: WriteName) => Permission;
  /** Called once for each read; absent if every read is permitted. */
  readonly permitRead?: (() => Permission) | undefined;
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
  const list = (name: ListName) => ({ list: name });
  return {
    readOrigins: async (how) => await caller.call({ name: "ReadOrigins", read: readOriginsAnswer }, how),
    readList: async (name, how) => {
      const read = await caller.call({ name: "ReadList", ...list(name), read: readListAnswer }, how);
      const { listEntriesMax } = limits;
      return read.ok && read.value.length > listEntriesMax
        ? { ok: false, fault: longList(name, listEntriesMax) }
        : read;
    },
    addEntry: async (name, ip, how) =>
      await caller.call({ name: "AddEntry", ...list(name), fields: { ip }, read: readWriteAnswer }, how),
    removeEntry: async (name, ip, how) =>
      await caller.call({ name: "RemoveEntry", ...list(name), fields: { ip }, read: readWriteAnswer }, how),
    addOrigin: async (origin, type, how) => {
      const fields = { origin, origin_type: type === "Alternate" ? "alternate" : "backup" };
      return await caller.call({ name: "AddOrigin", fields, read: readWriteAnswer }, how);
    },
    removeOrigin: async (origin, how) =>
      await caller.call({ name: "RemoveOrigin", fields: { origin }, read: readWriteAnswer }, how),
    clearCache: async (how) => await caller.call({ name: "ClearCache", read: readWriteAnswer }, how),
    queryLogs: async ({ startDate, endDate, perPage }, how) => {
      const fields = { start_date: startDate, end_date: endDate, per_page: String(perPage) };
      return await caller.call({ name: "QueryLogs", fields, read: readLogAnswer }, how);
    },
    scrollLogs: async (scrollId, how) =>
      await caller.call({ name: "ScrollLogs", fields: { scroll_id: scrollId }, read: readLogAnswer }, how),
  };
}

interface Call<T> {
  readonly name: OperationName;
  readonly list?: ListName;
  /** The parameters in addition to the key: in the query of a read, or in the form of a write. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly read: AnswerReader<T>;
}

class Caller {
  readonly #options: WafClientOptions;
  readonly #keys: SecretSearch;
  readonly #origin: string;
  readonly #path: string;
  /** Encoded once, for all calls. */
  readonly #keyParameter: string;

  constructor(options: WafClientOptions) {
    const { origin, path } = requireBaseUrl(options.baseUrl);
    this.#options = options;
    this.#keys = new SecretSearch([options.key, ...(options.formerKeys ?? [])].map((key) => key.reveal()));
    this.#keyParameter = new URLSearchParams({ api_key: options.key.reveal() }).toString();
    this.#origin = origin;
    this.#path = path;
  }

  async call<T>(call: Call<T>, { signal }: CallOptions = {}): Promise<WafResult<T>> {
    const turn = { urgency: wafOperations[call.name].urgency, signal };
    const { lane } = this.#options;
    const result = await lane.run(turn, async (connection) => await this.#take(call, connection, signal));
    if (result.ran) return result.value;
    return { ok: false, fault: result.refusal === "Busy" ? busyFault(result.by) : refusals[result.refusal] };
  }

  async #take<T>(call: Call<T>, connection: HttpConnection, signal: AbortSignal | undefined): Promise<WafResult<T>> {
    const { permit, clock, requestTimeoutMs, onCall } = this.#options;
    if (isWrite(call.name)) {
      const permission = permit(call.name);
      if (!permission.permitted) return { ok: false, fault: { code: "NotPermitted", message: permission.reason } };
    } else {
      const permission = this.#options.permitRead?.();
      if (permission?.permitted === false) return { ok: false, fault: { code: "Aborted", message: permission.reason } };
    }
    const { effect, method } = wafOperations[call.name];
    const isRead = effect === "Read";
    const { bodyBytesMax } = this.#options.limits ?? widestLimits;
    const timeoutMs = isRead ? requestTimeoutMs : Math.min(requestTimeoutMs, writeTimeoutMsMax);
    const limits = { timeoutMs, bodyBytesMax: isRead ? bodyBytesMax : writeBodyBytesMax, signal };
    const startMs = clock.monotonicMs();
    const exchange = await sendRequest(connection, this.#request(call), limits, clock);
    const result = this.#judge(call, exchange, timeoutMs);
    onCall?.({
      method,
      endpoint: endpointOf(call.name, call.list),
      status: exchange.status,
      faultCode: result.ok ? undefined : result.fault.code,
      durationMs: clock.monotonicMs() - startMs,
    });
    return result;
  }

  #request({ name, list, fields }: Call<unknown>): Parameters<typeof sendRequest>[1] {
    const { method, effect } = wafOperations[name];
    const path =
      this.#path + endpointOf(name, list).replace("{api_key}", () => encodeURIComponent(this.#options.key.reveal()));
    if (name === "ClearCache") return { method, path, form: "" };
    const parameters =
      fields === undefined ? this.#keyParameter : `${this.#keyParameter}&${new URLSearchParams(fields).toString()}`;
    return effect === "Read" ? { method, path: `${path}?${parameters}`, form: "" } : { method, path, form: parameters };
  }

  #judge<T>({ name, read }: Call<T>, exchange: Exchange, timeoutMs: number): WafResult<T> {
    const { clock, lane, hidesCause = false } = this.#options;
    const { status, body } = exchange;
    const answer = isSuccess(status) && body.state === "Whole" ? read(body.text, this.#keys, this.#redact) : undefined;
    if (answer?.ok === true) return { ok: true, value: answer.value };
    const fault = faultOf(exchange, {
      effect: wafOperations[name].effect,
      takesPlainFailures: name === "QueryLogs" || name === "ScrollLogs",
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

function busyFault(by: string): WafFault {
  const message = `Another wafsync process on this machine is using the same API key and has not released it: ${by}. Nothing was sent.`;
  return { code: "Unavailable", message };
}

const refusals: Readonly<Record<TurnRefusal, WafFault>> = {
  Aborted: { code: "Aborted", message: "The call was canceled before anything was sent." },
  Closed: { code: "Aborted", message: "The lane of this WAF is closed: nothing was sent." },
};
