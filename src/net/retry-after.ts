// The Retry-After header of RFC 9110: a number of seconds, or one of the three forms of an HTTP date. A date is compared with the
// Date header of the same response, because the clocks of server and client may differ by hours.

/** The default limit: no response can pause a lane for longer than this. */
export const retryAfterMsMax = 3_600_000;

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const fixedDate = /^[a-z]{3}, (?<day>\d{2}) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) gmt$/;
const rfc850Date = /^[a-z]{6,9}, (?<day>\d{2})-(?<month>[a-z]{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) gmt$/;
const asctimeDate = /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/;

export interface DelayHeaders {
  readonly retryAfter: string | undefined;
  /** The time of the server. Without it, the time of this machine is used. */
  readonly date: string | undefined;
}

/**
 * Returns how long to wait, from 0 to `longestMs`; undefined if the header is missing or invalid. A date in the past results
 * in 0.
 */
export function parseRetryAfter(
  { retryAfter, date }: DelayHeaders,
  nowMs: number,
  longestMs = retryAfterMsMax,
): number | undefined {
  const text = normalized(retryAfter);
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  const untilMs = parseHttpDate(text, nowMs);
  const serverMs = parseHttpDate(normalized(date), nowMs) ?? nowMs;
  return untilMs === undefined ? undefined : Math.min(Math.max(untilMs - serverMs, 0), longestMs);
}

function normalized(header: string | undefined): string {
  return header?.trim().toLowerCase() ?? "";
}

function parseHttpDate(text: string, nowMs: number): number | undefined {
  const parts = (fixedDate.exec(text) ?? rfc850Date.exec(text) ?? asctimeDate.exec(text))?.groups;
  if (parts === undefined) return undefined;
  const month = months.indexOf(parts["month"] ?? "");
  const day = Number(parts["day"]);
  const [hour = 0, minute = 0, second = 0] = (parts["time"] ?? "").split(":").map(Number);
  // Second 60 is a leap second, which a Date rolls into the next minute.
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return undefined;
  const dateMs = Date.UTC(fullYear(parts["year"] ?? "", nowMs), month, day, hour, minute, second);
  // An invalid day would roll over into the next month.
  return day >= 1 && new Date(dateMs - second * 1000).getUTCDate() === day ? dateMs : undefined;
}

/** Two digits that seem more than 50 years ahead mean the last year that ended in them. */
function fullYear(digits: string, nowMs: number): number {
  if (digits.length === 4) return Number(digits);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return year > thisYear + 50 ? year - 100 : year;
}
