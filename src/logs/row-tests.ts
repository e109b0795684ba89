// Tests for single fields of a log row, created from the strings that users write. Each function returns what to write instead if
// the string is invalid.
import type { LogEntry } from "../model/log-entry.ts";

export type RowTest = (entry: LogEntry) => boolean;

/**
 * The rows that fit one of the strings of each field; a field without strings fits every row.
 *
 * @param invalid returns the test for an invalid string, or throws; `problem` says what to write instead
 */
export function rowTestOf<Field extends string>(
  parsers: Readonly<Record<Field, (text: string) => RowTest | string>>,
  texts: Readonly<Record<Field, readonly string[]>>,
  invalid: (field: Field, problem: string) => RowTest,
): RowTest {
  const fields = (Object.keys(parsers) as Field[]).filter((field) => texts[field].length > 0);
  const tests = fields.map((field) =>
    texts[field].map((text) => {
      const test = parsers[field](text);
      return typeof test === "string" ? invalid(field, test) : test;
    }),
  );
  return (entry) => tests.every((anyOf) => anyOf.some((test) => test(entry)));
}

/** Two letters, case-insensitive. */
export function countryTest(text: string): RowTest | string {
  if (!/^[A-Za-z]{2}$/.test(text)) return "write two letters, for example NL";
  const country = text.toUpperCase();
  return (entry) => entry.country?.toUpperCase() === country;
}

/** Part of the block reason, case-insensitive. */
export function reasonTest(text: string): RowTest | string {
  if (text.trim() === "") return "write part of a block reason, for example SQL";
  const part = text.toLowerCase();
  return (entry) => entry.block_reason.toLowerCase().includes(part);
}

/** `403` or `4xx`. */
export function statusTest(text: string): RowTest | string {
  const status = /^(?<first>[1-5])(?:(?<rest>\d\d)|xx)$/i.exec(text)?.groups;
  if (status === undefined) return "write an HTTP status, for example 403 or 4xx";
  const hundreds = Number(status["first"]);
  const exact = status["rest"] === undefined ? undefined : Number(text);
  return ({ http_status: found }) => (exact === undefined ? Math.floor(found / 100) === hundreds : found === exact);
}

/** Part of the path; with `*`, the whole path. */
export function pathTest(text: string): RowTest | string {
  if (text === "") return "write part of a path, for example /wp-login";
  if (!text.includes("*")) return (entry) => entry.request_path.includes(text);
  const parts = text.split("*");
  return (entry) => fitsWildcards(entry.request_path, parts);
}

/** Uses no regular expression, because paths are long and controlled by attackers. */
function fitsWildcards(path: string, parts: readonly string[]): boolean {
  const first = parts[0] ?? "";
  const last = parts.at(-1) ?? "";
  if (path.length < first.length + last.length || !path.startsWith(first) || !path.endsWith(last)) return false;
  const end = path.length - last.length;
  let position = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = path.indexOf(part, position);
    if (found < 0 || found + part.length > end) return false;
    position = found + part.length;
  }
  return true;
}

/**
 * The label of a reason, without the WAF's rule number: `SQL Injection` for `SQL Injection 942100`. Uses no regular expression, because
 * a reason can be megabytes of digits.
 */
export function labelOfReason(reason: string): string {
  const text = reason.trim();
  let end = text.length;
  while (end > 0 && isDigit(text.charCodeAt(end - 1))) end -= 1;
  const label = text.slice(0, end).trimEnd();
  return label === "" ? text : label;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
