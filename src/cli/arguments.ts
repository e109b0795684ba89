// Parses times and addresses on the command line: `--since` and `--until` with the same language in every command, and addresses as
// strictly as those of a rule, so that no command affects an unintended address.
import { parseDuration } from "../kinds/durations.ts";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { asSentence } from "../model/sentence.ts";
import { dayMs, dayOf, parseDay } from "../model/time-text.ts";
import { CommandError } from "./describe-error.ts";

/** A whole day, or a time. */
export type Bound = { readonly day: number } | { readonly timeMs: number };

const timeHint =
  "Write a day as YYYY-MM-DD, 7d (seven days ago), today or yesterday, or a time as YYYY-MM-DDTHH:MM, 24h or 1d12h (ago). All times are UTC.";

/** @throws CommandError that says what to write instead */
export function parseBound(option: string, text: string, nowMs: number): Bound {
  const word = text.trim().toLowerCase();
  const today = dayOf(nowMs);
  if (word === "today") return { day: today };
  if (word === "yesterday") return { day: today - 1 };
  const days = /^(?<count>\d{1,5})d$/.exec(word)?.groups?.["count"];
  if (days !== undefined) return { day: today - Number(days) };
  const spanMs = parseDuration(word);
  // Truncated to seconds, as times are printed.
  if (spanMs !== undefined) return { timeMs: Math.floor((nowMs - spanMs) / 1000) * 1000 };
  const day = parseDay(word);
  if (day !== undefined) return { day };
  const timeMs = parseMoment(word);
  if (timeMs !== undefined) return { timeMs };
  if (/^\d{4}-\d{2}-\d{2}(?:t.*)?$/.test(word)) throw new CommandError(`${option} ${text}: no such time`, timeHint);
  throw new CommandError(`${option} ${JSON.stringify(text)} is not a time`, timeHint);
}

/** The first millisecond of a period that starts here. */
export function startOf(bound: Bound): number {
  return "day" in bound ? bound.day * dayMs : bound.timeMs;
}

/** The first millisecond after a period that ends here: a day is included as a whole. */
export function endOf(bound: Bound): number {
  return "day" in bound ? (bound.day + 1) * dayMs : bound.timeMs;
}

/** A UTC time with minutes or seconds; the Z is optional. */
function parseMoment(text: string): number | undefined {
  const parts = /^(\d{4}-\d{2}-\d{2})t([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?z?$/i.exec(text.trim());
  if (parts === null) return undefined;
  const [, date = "", hour, minute, second = "00"] = parts;
  const day = parseDay(date);
  return day === undefined ? undefined : day * dayMs + Date.parse(`1970-01-01T${hour}:${minute}:${second}Z`);
}

/** @throws CommandError that says what to write instead */
export function parseAddress(text: string): Entry {
  const parsed = parseDeclaredEntry(text.trim());
  if (parsed.ok) return parsed.entry;
  throw new CommandError(`${JSON.stringify(text)} is not an address or network`, asSentence(parsed.message));
}
