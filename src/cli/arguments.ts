// Parses times and addresses on the command line: `--since` and `--until` with the same language in every command, and addresses as
// strictly as those of a rule, so that no command affects an unintended address.
import { parseDuration } from "../kinds/durations.ts";
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { asSentence, dayMs, dayOf, parseDay } from "../model/texts.ts";
import { CommandError } from "./describe-error.ts";

/** A whole day, or a time, which starts and ends at the same millisecond. Milliseconds since 1970; `endMs` is exclusive. */
export interface Bound {
  readonly startMs: number;
  readonly endMs: number;
}

const timeHint =
  "Write a day as YYYY-MM-DD, 7d (seven days ago), today or yesterday, or a time as YYYY-MM-DDTHH:MM, 24h or 1d12h (ago). All times are UTC.";

/** @throws CommandError that says what to write instead */
export function parseBound(option: string, text: string, nowMs: number): Bound {
  const word = text.trim().toLowerCase();
  const days = word === "today" ? "0" : word === "yesterday" ? "1" : /^(\d{1,5})d$/.exec(word)?.[1];
  const day = days === undefined ? parseDay(word) : dayOf(nowMs) - Number(days);
  if (day !== undefined) return { startMs: day * dayMs, endMs: (day + 1) * dayMs };
  const spanMs = parseDuration(word);
  // Truncated to seconds, as times are printed.
  const timeMs = spanMs === undefined ? parseMoment(word) : Math.floor((nowMs - spanMs) / 1000) * 1000;
  if (timeMs !== undefined) return { startMs: timeMs, endMs: timeMs };
  throw new CommandError(`${option} ${JSON.stringify(text)} is not a time`, timeHint);
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
