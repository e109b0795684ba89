// Sends one request and returns the exchange, without an assessment. The whole exchange has one deadline, which starts when it is
// passed to the connection. Redirects are not followed, and the size of bodies is checked while they arrive. `sent` is false only
// if it is certain that no byte of the request was sent: then a write can't have taken effect.
import { isUtf8 } from "node:buffer";
import { types } from "node:util";
import type { Dispatcher } from "undici";
import type { Clock } from "../async/clock.ts";
import type { Connection } from "./connection.ts";

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  /** Includes the query; percent-encoded. */
  readonly path: string;
  /** A form body, encoded; empty for none. */
  readonly form: string;
}

export interface RequestLimits {
  readonly timeoutMs: number;
  /** The limit for the body of a 2xx response. */
  readonly bodyBytesMax: number;
  readonly signal?: AbortSignal | undefined;
}

/** The limit for the body of any other response, which is only an explanation. */
export const failureBodyBytesMax = 65_536;

/** How much later than the deadline undici's own timers fire, as a fallback. */
const backstopMs = 2_000;

export type BodyFault = "Deadline" | "Aborted" | "Network" | "TooLarge" | "NotText";

export type ReceivedBody =
  | { readonly state: "Whole"; readonly text: string }
  /** `errorCode` is the stable code of the network or protocol error, such as `ECONNREFUSED`. */
  | { readonly state: "Missing"; readonly fault: BodyFault; readonly errorCode: string | undefined };

export interface Exchange {
  readonly sent: boolean;
  /** The status of the final response, even if its body did not arrive. */
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  /** The `Date` header: the time of the server. */
  readonly date: string | undefined;
  readonly body: ReceivedBody;
}

/** Never rejects: the result contains every failure. */
export async function sendRequest(
  connection: Connection,
  request: HttpRequest,
  { timeoutMs, bodyBytesMax, signal }: RequestLimits,
  clock: Pick<Clock, "schedule">,
): Promise<Exchange> {
  const handler = new ExchangeHandler(bodyBytesMax, () => connection.reset());
  if (signal?.aborted === true) handler.fail("Aborted");
  const abort = (): void => handler.fail("Aborted");
  signal?.addEventListener("abort", abort, { once: true });
  const cancelDeadline = clock.schedule(timeoutMs, () => handler.fail("Deadline"));
  try {
    if (!handler.isSettled) connection.dispatch(dispatchOptions(request, timeoutMs), handler);
  } catch (error) {
    handler.fail("Network", error);
  }
  const exchange = await handler.exchange;
  signal?.removeEventListener("abort", abort);
  cancelDeadline();
  return exchange;
}

const plainHeaders = { accept: "application/json", "user-agent": "wafsync" };
const formHeaders = { ...plainHeaders, "content-type": "application/x-www-form-urlencoded" };

function dispatchOptions({ method, path, form }: HttpRequest, timeoutMs: number): Dispatcher.DispatchOptions {
  // Without `reset: false`, undici closes the connection after a DELETE with a body, because most APIs do not expect one.
  const fixed = { reset: false, headersTimeout: timeoutMs + backstopMs, bodyTimeout: timeoutMs + backstopMs };
  return form === ""
    ? { method, path, headers: plainHeaders, ...fixed }
    : { method, path, headers: formHeaders, body: form, ...fixed };
}

class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly exchange: Promise<Exchange>;
  readonly #resolve: (exchange: Exchange) => void;
  readonly #bodyBytesMax: number;
  readonly #resetConnection: () => void;
  readonly #chunks: Buffer[] = [];
  #bodyBytes = 0;
  #controller: Dispatcher.DispatchController | undefined;
  #status: number | undefined;
  #retryAfter: string | undefined;
  #date: string | undefined;
  #isSettled = false;

  constructor(bodyBytesMax: number, resetConnection: () => void) {
    const { promise, resolve } = Promise.withResolvers<Exchange>();
    this.exchange = promise;
    this.#resolve = resolve;
    this.#bodyBytesMax = bodyBytesMax;
    this.#resetConnection = resetConnection;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** Ends the exchange from this side, unless it has already ended: drops the connection, or the attempt to open one. */
  fail(fault: BodyFault, error?: unknown): void {
    if (this.#isSettled) return;
    this.#settle({ state: "Missing", fault, errorCode: errorCodeOf(error) });
    if (this.#controller === undefined) this.#resetConnection();
    else this.#controller.abort(Object.assign(new Error("The exchange was ended."), { code: fault }));
  }

  /** undici calls this just before it writes the first byte. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#isSettled) controller.abort(new Error("The exchange ended before it began."));
    else this.#controller = controller;
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Interim responses, such as 103, precede the final one.
    if (status < 200) return;
    this.#status = status;
    this.#retryAfter = firstOf(headers["retry-after"]);
    this.#date = firstOf(headers["date"]);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const bodyBytesMax = isSuccess(this.#status) ? this.#bodyBytesMax : failureBodyBytesMax;
    this.#bodyBytes += chunk.byteLength;
    if (this.#bodyBytes > bodyBytesMax) this.fail("TooLarge");
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const body = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#settle(
      isUtf8(body)
        ? { state: "Whole", text: body.toString("utf8") }
        : { state: "Missing", fault: "NotText", errorCode: undefined },
    );
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: unknown): void {
    const errorCode = errorCodeOf(error);
    const isBackstop = errorCode === "UND_ERR_HEADERS_TIMEOUT" || errorCode === "UND_ERR_BODY_TIMEOUT";
    this.#settle({ state: "Missing", fault: isBackstop ? "Deadline" : "Network", errorCode });
  }

  #settle(body: ReceivedBody): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const sent = this.#controller !== undefined;
    this.#resolve({ sent, status: this.#status, retryAfter: this.#retryAfter, date: this.#date, body });
    this.#chunks.length = 0;
  }
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}

export function isSuccess(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}

/** The mark of undici's parser errors, whose code names at most the violated rule. */
const parserErrorMark = Symbol.for("undici.error.UND_ERR_HTTP_PARSER");

/** Returns only the code, because messages of network errors may quote received data. */
function errorCodeOf(error: unknown): string | undefined {
  if (!types.isNativeError(error)) return undefined;
  if (parserErrorMark in error) return "UND_ERR_HTTP_PARSER";
  const code: unknown = "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,60}$/.test(code) ? code : undefined;
}
