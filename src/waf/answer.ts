// What each operation makes of a documented answer, and how it keeps the key out of what it returns. Texts for people are
// redacted. Data that decides what is written (domains, hosts, entries) must not be altered, so an answer that shows the key
// there is refused. Log entries affect no decisions, and contain the key if a client sent it to the protected site: it is redacted.
import type { ApiKey } from "../model/api-key.ts";
import { logEntryFields } from "../model/log-entry.ts";
import type { LogEntry, LogPage } from "../model/log-entry.ts";
import type { OriginsRead, WriteAccepted } from "../model/waf-result.ts";
import { isRawNumber, parseExactly } from "./exact-numbers.ts";
import { printable } from "./exchange-fault.ts";
import { logAnswer } from "./log-wire.ts";
import { listAnswer, originsAnswer, parseAnswer, plainWriteAnswer, writeAnswer } from "./wire.ts";
import type { Parsed } from "./wire.ts";

/** @param redact redacts further keys in messages */
export type AnswerReader<T> = (text: string, key: ApiKey, redact: (text: string) => string) => Parsed<T>;

const documentedFields: ReadonlySet<string> = new Set(logEntryFields);
const calculatedFields: ReadonlySet<string> = new Set(["http_status", "response_size"]);

const keyAsData: Parsed<never> = { ok: false, problem: "it shows the API key where other data belongs" };

export const readOriginsAnswer: AnswerReader<OriginsRead> = (text, key) =>
  showsKey(text, key) ? keyAsData : parseAnswer(originsAnswer, text);

export const readListAnswer: AnswerReader<readonly string[]> = (text, key) =>
  showsKey(text, key) ? keyAsData : parseAnswer(listAnswer, text);

/**
 * A reader for the writes of one key. The domain is nearly always the one of the answer before, which was checked, and nobody may
 * ever ask for the message: the next call does not wait for what is not needed.
 */
export function createWriteAnswerReader(): AnswerReader<WriteAccepted> {
  let checkedDomain: string | undefined;
  return (text, key, redact) => {
    const known = checkedDomain === undefined ? undefined : plainWriteAnswer(text, checkedDomain);
    if (known !== undefined) return { ok: true, value: writeAccepted(known.domain, known.message, redact) };
    const answer = parseAnswer(writeAnswer, text);
    if (!answer.ok) return answer;
    const { domain, message } = answer.value;
    if (showsKey(domain, key)) return keyAsData;
    checkedDomain = domain;
    return { ok: true, value: writeAccepted(domain, message, redact) };
  };
}

function writeAccepted(domain: string, message: string, redact: (text: string) => string): WriteAccepted {
  return {
    domain,
    get message() {
      return printable(message, redact);
    },
  };
}

export const readLogAnswer: AnswerReader<LogPage> = (text, key) => {
  const answer = parseAnswer(logAnswer, text, (body) => parseExactly(body, calculatedFields));
  if (!answer.ok || !key.occursIn(text)) return answer;
  const entries = answer.value.entries.map((entry) => redactEntry(entry, key));
  return { ok: true, value: { ...answer.value, entries } };
};

/** A short key turns up in hosts and addresses by chance, which shows nothing. */
function showsKey(text: string, key: ApiKey): boolean {
  return key.isDistinctive && key.occursIn(text);
}

/** Names of undocumented fields may contain the key too. The depth of an entry has already been limited. */
function redactEntry(entry: LogEntry, key: ApiKey): LogEntry {
  return redactValue(entry, key) as LogEntry;
}

function redactValue(value: unknown, key: ApiKey): unknown {
  if (typeof value === "string") return key.redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (isRawNumber(value)) return key.occursIn(value.rawJSON) ? key.redact(value.rawJSON) : value;
  if (Array.isArray(value)) return value.map((item) => redactValue(item, key));
  const fields = Object.entries(value).map(([name, field]) => [
    documentedFields.has(name) ? name : key.redact(name),
    redactValue(field, key),
  ]);
  return Object.fromEntries(fields) as unknown;
}
