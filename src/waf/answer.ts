// Reads the documented responses of each operation, and keeps API keys out of the results. Messages for people are redacted. Data
// that determines what is written (domains, hosts, entries) must not be altered, so a response with a key there is rejected. Log
// entries affect no decisions, and contain a key if a client sent it to the protected site, so they are redacted.
import * as z from "zod";
import { logEntryFields, type LogEntry, type LogPage, type LogRows, type BrokenLogEntry } from "../model/log-entry.ts";
import type { OriginsRead, WriteAccepted } from "../model/waf-result.ts";
import { distinctiveLengthMin, type SecretSearch } from "../model/redactor.ts";
import { printable } from "./exchange-fault.ts";
import { listAnswer, originsAnswer, parseAnswer, parseJson, writeAnswer, type Parsed } from "./wire.ts";

/**
 * @param keys the current and former keys: an API may quote a rotated key, and clients may have sent it to the protected site
 * @param redact redacts further keys in messages
 */
export type AnswerReader<T> = (text: string, keys: SecretSearch, redact: (text: string) => string) => Parsed<T>;

const documentedFields: ReadonlySet<string> = new Set(logEntryFields);

const keyAsData: Parsed<never> = { ok: false, problem: "it contains the API key where other data belongs" };

/** Short keys are ignored: they occur in hosts and addresses by chance. */
const isShown = (keys: SecretSearch, text: string): boolean => keys.occursIn(text, distinctiveLengthMin);

/** The document without escapes of ASCII characters, of which JSON needs hardly any: the search knows only those of some programs. */
function plainJson(text: string): string {
  const parsed = text.includes(String.raw`\u00`) ? parseJson(text) : undefined;
  return parsed?.ok === true ? JSON.stringify(parsed.value) : text;
}

export const readOriginsAnswer: AnswerReader<OriginsRead> = (text, keys) =>
  isShown(keys, plainJson(text)) ? keyAsData : parseAnswer(originsAnswer, text);

export const readListAnswer: AnswerReader<readonly string[]> = (text, keys) =>
  isShown(keys, plainJson(text)) ? keyAsData : parseAnswer(listAnswer, text);

export const readWriteAnswer: AnswerReader<WriteAccepted> = (text, keys, redact) => {
  const answer = parseAnswer(writeAnswer, text);
  if (!answer.ok) return answer;
  const { domain, message } = answer.value;
  return isShown(keys, domain) ? keyAsData : { ok: true, value: { domain, message: printable(message, redact) } };
};

export const readLogAnswer: AnswerReader<LogPage> = (text, keys) => {
  const answer = parseAnswer(logAnswer, text);
  if (!answer.ok) return answer;
  const { _scroll_id: scrollId, hits } = answer.value;
  let parsed: readonly unknown[] | undefined = hits.hits;
  const rows = (): LogRows => {
    const items = parsed ?? (JSON.parse(text) as typeof answer.value).hits.hits;
    // A caller that keeps the page holds only its text in memory.
    parsed = undefined;
    const { entries, broken } = sortOut(items);
    if (!keys.occursIn(plainJson(text))) return { entries, broken };
    return { entries: entries.map((entry) => redactValue(entry, keys) as LogEntry), broken };
  };
  const { length } = hits.hits;
  return { ok: true, value: { scrollId, total: hits.total.value, length, textLength: text.length, rows } };
};

/** Names of undocumented fields may contain the key too. The depth of an entry has already been limited. */
function redactValue(value: unknown, keys: SecretSearch): unknown {
  if (typeof value === "string") return keys.redact(value);
  // A key can consist of digits alone.
  if (typeof value === "number") return keys.occursIn(String(value)) ? keys.redact(String(value)) : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, keys));
  const fields = Object.entries(value).map(([name, field]) => [
    documentedFields.has(name) ? name : keys.redact(name),
    redactValue(field, keys),
  ]);
  return Object.fromEntries(fields) as unknown;
}

// The documented shape of a page of logs. Entries are validated one by one, without zod: there may be ten thousand, a malformed one
// must not invalidate the others, and undocumented fields are passed through unchanged.

/** The maximum number of entries of one page; the API's own limit is 10,000. */
export const logPageLengthMax = 100_000;
const scrollIdLengthMax = 65_536;
/** Documented entries are flat. Code that walks a deeper value, such as JSON.stringify, could exhaust the stack. */
export const logEntryDepthMax = 20;

const logAnswer = z.object({
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
function sortOut(items: readonly unknown[]): LogRows {
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
