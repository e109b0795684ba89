// Converts an unsuccessful status into a fault of the feed, with the delay that the server requests.
import { parseRetryAfter } from "../../net/retry-after.ts";
import type { FetchFault } from "../../plan/feeds/fetched-text.ts";
import { retryAfterMsMax } from "../../plan/feeds/schedule.ts";
import type { ExchangeAnswer } from "./exchange.ts";

/** @param server the responding server, for the message */
export function statusFault(
  server: string,
  { status, headers }: Pick<ExchangeAnswer, "status" | "headers">,
  nowMs: number,
): FetchFault {
  const delay = { retryAfter: headers["retry-after"], date: headers["date"] };
  const retryAfterMs = parseRetryAfter(delay, nowMs, retryAfterMsMax);
  return {
    code: status === 429 ? "RateLimited" : "HttpStatus",
    message: `${server} responded with status ${status}.`,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}
