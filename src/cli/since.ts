// Parses `--since` and `--until` for commands whose data is not organized by days.
import { parseDuration } from "../api/durations.ts";
import { CommandError } from "./describe-error.ts";

const hint =
  "Write a duration such as 24h or 7d, a day such as 2026-11-21, or a time such as 2026-11-21T09:30. All times are UTC.";

/** @throws CommandError that says what to write instead */
export function parseMoment(option: string, text: string, nowMs: number): number {
  const word = text.trim();
  const spanMs = parseDuration(word);
  if (spanMs !== undefined) return nowMs - spanMs;
  const isTime = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2})?Z?)?$/.test(word);
  const timeMs = isTime ? Date.parse(word.length === 10 || word.endsWith("Z") ? word : `${word}Z`) : Number.NaN;
  if (Number.isNaN(timeMs)) throw new CommandError(`${option} ${JSON.stringify(text)} is not a time`, hint);
  return timeMs;
}
