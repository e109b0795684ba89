// Reads the documented responses of each operation, and keeps API keys out of the results. Messages for people are redacted. Data
// that determines what is written (domains, hosts, entries) must not be altered, so a response with a key there is rejected. Log
// entries affect no decisions, and contain a key if a client sent it to the protected site, so they are redacted.
import { logEntryFields } from "../model/log-entry.ts";
import type { LogEntry, LogPage, LogRows } from "../model/log-entry.ts";
import type { OriginsRead, WriteAccepted } from "../model/waf-result.ts";
import { distinctiveLengthMin } from "../model/redactor.ts";
import type { SecretSearch } from "../model/redactor.ts";
import { printable } from "./exchange-fault.ts";
import { logAnswer, sortOut } from "./log-wire.ts";
import { listAnswer, originsAnswer, parseAnswer, parseJson, writeAnswer } from "./wire.ts";
import type { Parsed } from "./wire.ts";

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
