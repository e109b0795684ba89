// Durations as users write them: `30s`, `5m`, `1h30m`, `2d`, `250ms`. The grammar is Go's, without fractions and signs, but with
// days, and the units must be in descending order. The numbers are bounded so that CEL and JavaScript can hold every sum.

/** Valid in both RE2 and JavaScript. It also matches the empty string, which both parsers reject by length. */
export const durationPattern = "^([0-9]{1,4}d)?([0-9]{1,5}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?([0-9]{1,8}ms)?$";
export const durationLengthMax = 32;

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1000],
  ["ms", 1],
] as const;

const durationExpression = new RegExp(durationPattern, "u");

/** The duration in milliseconds, or undefined if the string is not a duration. */
export function parseDuration(text: string): number | undefined {
  if (text === "" || text.length > durationLengthMax) return undefined;
  const match = durationExpression.exec(text);
  if (match === null) return undefined;
  const parts = match.slice(1) as (string | undefined)[];
  return parts.reduce((sumMs, part, place) => sumMs + Number.parseInt(part ?? "0", 10) * (units[place]?.[1] ?? 0), 0);
}

/** The shortest spelling of a duration in whole milliseconds: `1h30m` for 5,400,000. Negative durations are treated as zero. */
export function formatDuration(spanMs: number): string {
  let restMs = Math.max(Math.round(spanMs), 0);
  let text = "";
  for (const [unit, unitMs] of units) {
    const count = Math.floor(restMs / unitMs);
    restMs -= count * unitMs;
    if (count > 0) text += `${count}${unit}`;
  }
  return text === "" ? "0s" : text;
}

/** For people: `45 s`, `3 min 20 s` or `2 h 5 min`. */
export function durationInWords(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
