// Fetches pages of logs one after another, and the next page while the last one is processed. Never makes two calls at a time.
import type { LogPage } from "../../model/log-entry.ts";
import type { WafResult } from "../../model/waf-result.ts";
import { formatDay } from "./log-days.ts";
import type { LogPort } from "./log-ports.ts";

export type PageRequest =
  | { readonly stage: "Query"; readonly day: number }
  | { readonly stage: "Scroll"; readonly scrollId: string };

export class LogPages {
  readonly #waf: LogPort;
  readonly #perPage: number;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  #ahead: { readonly request: PageRequest; readonly result: Promise<WafResult<LogPage>> } | undefined;

  constructor(waf: LogPort, perPage: number, stopping: AbortSignal) {
    this.#waf = waf;
    this.#perPage = perPage;
    this.#signal = AbortSignal.any([stopping, this.#ended.signal]);
  }

  /** Requests the page that is likely to be needed next. */
  readAhead(request: PageRequest): void {
    this.#ahead ??= { request, result: this.#call(request) };
  }

  async get(request: PageRequest): Promise<WafResult<LogPage>> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead === undefined) return await this.#call(request);
    const result = await ahead.result;
    return isSame(ahead.request, request) ? result : await this.#call(request);
  }

  /** Returns the number of rows of the day, from a page with a single row. */
  async total(day: number): Promise<WafResult<number>> {
    const date = formatDay(day);
    const page = await this.#waf.queryLogs({ startDate: date, endDate: date, perPage: 1 }, { signal: this.#signal });
    return page.ok ? { ok: true, value: page.value.total } : page;
  }

  /** Resolves when no request is in progress. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.#ahead?.result;
  }

  async #call(request: PageRequest): Promise<WafResult<LogPage>> {
    const options = { signal: this.#signal };
    if (request.stage === "Scroll") return await this.#waf.scrollLogs(request.scrollId, options);
    const date = formatDay(request.day);
    return await this.#waf.queryLogs({ startDate: date, endDate: date, perPage: this.#perPage }, options);
  }
}

function isSame(a: PageRequest, b: PageRequest): boolean {
  if (a.stage === "Query") return b.stage === "Query" && a.day === b.day;
  return b.stage === "Scroll" && a.scrollId === b.scrollId;
}
