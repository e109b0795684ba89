// The documented shape of a page of logs. Entries are validated one by one, without zod: there may be ten thousand, a malformed one
// must not invalidate the others, and undocumented fields are passed through unchanged.
import * as z from "zod";
import { type BrokenLogEntry, type LogEntry, logEntryFields, type LogRows } from "../model/log-entry.ts";

/** The maximum number of entries of one page; the API's own limit is 10,000. */
export const logPageLengthMax = 100_000;
const scrollIdLengthMax = 65_536;
/** Documented entries are flat. Code that walks a deeper value, such as JSON.stringify, could exhaust the stack. */
export const logEntryDepthMax = 20;

export const logAnswer = z.object({
  _scroll_id: z.string().min(1).max(scrollIdLengthMax).nullable(),
  hits: z.object({
    total: z.object({ value: z.number().int().min(0) }),
    // zod copies arrays that it validates.
    hits: z.custom<readonly unknown[]>(
      (value) => Array.isArray(value) && value.length <= logPageLengthMax,
      `expected an array of at most ${logPageLengthMax} entries`,
    ),
  }),
});

/** Separates the entries in the documented format from the others. */
export function sortOut(items: readonly unknown[]): LogRows {
  const broken: BrokenLogEntry[] = [];
  items.forEach((item, position) => {
    const problem = entryProblem(item);
    if (problem !== undefined) broken.push({ position, problem });
  });
  if (broken.length === 0) return { entries: items as readonly LogEntry[], broken };
  const positions = new Set(broken.map(({ position }) => position));
  return { entries: items.filter((_, position) => !positions.has(position)) as LogEntry[], broken };
}

/** The problem with an entry, in words that contain no part of it. */
function entryProblem(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return "is not an object";
  const entry = item as Partial<Record<keyof LogEntry, unknown>>;
  if (typeof entry.timestamp !== "string" || entry.timestamp === "") return "timestamp is not a non-empty string";
  if (typeof entry.client_ip !== "string") return "client_ip is not a string";
  if (typeof entry.http_method !== "string") return "http_method is not a string";
  if (typeof entry.request_path !== "string") return "request_path is not a string";
  if (typeof entry.http_status !== "number") return "http_status is not a number";
  if (typeof entry.response_size !== "number") return "response_size is not a number";
  if (!isTextOrNull(entry.referrer)) return "referrer is neither a string nor null";
  if (!isTextOrNull(entry.user_agent)) return "user_agent is neither a string nor null";
  if (typeof entry.block_reason !== "string") return "block_reason is not a string";
  if (!isTextOrNull(entry.country)) return "country is neither a string nor null";
  if (typeof entry.cache_hit !== "boolean") return "cache_hit is neither true nor false";
  let fields = 0;
  for (const _ in item) fields += 1;
  // The documented fields are flat.
  return fields > logEntryFields.length && isDeeper(item, logEntryDepthMax) ? "is nested too deep" : undefined;
}

/** Copies nothing, because there are tens of thousands of rows, and hardly any is nested. */
function isDeeper(value: object, depthMax: number): boolean {
  if (depthMax === 0) return true;
  const fields = value as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const field = fields[name];
    if (typeof field === "object" && field !== null && isDeeper(field, depthMax - 1)) return true;
  }
  return false;
}

function isTextOrNull(value: unknown): boolean {
  return typeof value === "string" || value === null;
}
