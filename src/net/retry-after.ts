// The Retry-After header of RFC 9110: a number of seconds, or an HTTP date. A date is compared with the
// Date header of the same response, because the clocks of server and client may differ by hours.
import type { IncomingHttpHeaders } from "node:http";

/** The default limit: no response can pause a lane for longer than this. */
export const retryAfterMsMax = 3_600_000;

/** The only form of a date that a server may send today: the preferred one of RFC 9110, section 5.6.7. */
const httpDate = /^[a-z]{3}, \d{2} [a-z]{3} \d{4} \d{2}:\d{2}:\d{2} gmt$/i;

/**
 * Returns how long to wait, from 0 to `longestMs`; undefined if the header is missing or invalid. A date in the past results
 * in 0.
 */
export function parseRetryAfter(
  { "retry-after": retryAfter, date }: Pick<IncomingHttpHeaders, "retry-after" | "date">,
  nowMs: number,
  longestMs = retryAfterMsMax,
): number | undefined {
  const text = retryAfter?.trim() ?? "";
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  const untilMs = parseHttpDate(text);
  const serverMs = parseHttpDate(date?.trim() ?? "") ?? nowMs;
  return untilMs === undefined ? undefined : Math.min(Math.max(untilMs - serverMs, 0), longestMs);
}

function parseHttpDate(text: string): number | undefined {
  const dateMs = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : dateMs;
}
