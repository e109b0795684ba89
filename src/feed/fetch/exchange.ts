// One GET request on a separate connection to a checked address. Independent of feeds: returns the status, the headers and the body
// as a stream. Does not follow redirects or read proxy environment variables.
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import buildConnector from "undici/lib/core/connect.js";
import Client from "undici/lib/dispatcher/client.js";
import type { AllowAddress, ResolveHost } from "../../net/checked-lookup.ts";
import { createCheckedLookup, refusedLiteral } from "../../net/checked-lookup.ts";

export interface ExchangeRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
}

export interface NetworkOptions {
  /** Whether an address is allowed. */
  readonly isAllowed: AllowAddress;
  /** Resolves host names; DNS by default. */
  readonly resolve?: ResolveHost;
}

export interface ExchangeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Fails if the connection ends before the complete body has arrived. */
  readonly body: Readable;
}

/** Limits of the header section and of the time to receive it: the caller's deadline is shorter. */
const headerBytesMax = 32_768;
const backstopMs = 120_000;

/** Rejects with an error with a `code`: from the network, from undici, `ADDRESS_REFUSED`, or the signal's reason. */
export async function exchange(
  request: ExchangeRequest,
  network: NetworkOptions,
  signal: AbortSignal,
): Promise<ExchangeAnswer> {
  signal.throwIfAborted();
  const refused = refusedLiteral(request.url.hostname, network.isAllowed);
  if (refused !== undefined) throw refused;
  const client = openClient(request.url, network, (error) => void (handler.connectionFault = error));
  const handler = new AnswerHandler(client, signal);
  client.dispatch(dispatchOptions(request), handler);
  return await handler.answer;
}

function openClient(
  { origin }: URL,
  { isAllowed, resolve }: NetworkOptions,
  onConnectionFault: (error: Error) => void,
): Client {
  const connect = buildConnector({ allowH2: false, lookup: createCheckedLookup(isAllowed, resolve) });
  return new Client(origin, {
    connect: (options, callback) =>
      connect(options, (...result) => {
        result[1]?.once("error", onConnectionFault);
        callback(...result);
      }),
    pipelining: 1,
    allowH2: false,
    maxHeaderSize: headerBytesMax,
    headersTimeout: backstopMs,
    bodyTimeout: backstopMs,
  });
}

function dispatchOptions({ url, headers }: ExchangeRequest): Dispatcher.DispatchOptions {
  const path = `${url.pathname}${url.search}`;
  return { method: "GET", path, headers: { ...headers }, reset: true };
}

/** Streams the body with backpressure, and closes the connection afterwards. */
class AnswerHandler implements Dispatcher.DispatchHandler {
  readonly answer: Promise<ExchangeAnswer>;
  readonly #resolve: (answer: ExchangeAnswer) => void;
  readonly #reject: (error: unknown) => void;
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #abort = (): void => this.#end(this.#signal.reason);
  #body: Readable | undefined;
  /** undici takes a reset connection for the end of a body without a length. */
  connectionFault: Error | undefined;

  constructor(client: Client, signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<ExchangeAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#client = client;
    this.#signal = signal;
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#signal.aborted) controller.abort(new Error("The exchange ended before it began."));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Interim responses, such as 103, precede the final one.
    if (status < 200) return;
    this.#body = new Readable({
      read: () => controller.resume(),
      destroy: (error, callback) => {
        this.#end(error ?? new Error("The body is not read to its end."));
        callback(error);
      },
    });
    this.#resolve({ status, headers: singleHeaders(headers), body: this.#body });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body?.push(chunk) === false) controller.pause();
  }

  onResponseEnd(): void {
    if (this.connectionFault !== undefined) return this.#end(this.connectionFault);
    this.#body?.push(null);
    this.#close();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: unknown): void {
    this.#end(error);
  }

  #end(error: unknown): void {
    this.#reject(error);
    if (this.#body !== undefined && !this.#body.readableEnded) this.#body.destroy(error as Error);
    this.#close();
  }

  #close(): void {
    this.#signal.removeEventListener("abort", this.#abort);
    this.#client.destroy().catch(() => undefined);
  }
}

/** In lowercase, as in undici. If a header is repeated, the first value is used. */
function singleHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const single: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const first = typeof value === "string" ? value : value?.[0];
    if (first !== undefined) single[name] = first;
  }
  return single;
}
