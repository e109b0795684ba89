// Durations as Go prints them: `3h59m59.5s`, `1m30s`, `-5s`, `1.5µs`, `0s`.

const unitsMs: ReadonlyMap<string, number> = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["μs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

const whole = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/u;
const parts = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gu;
const lengthMax = 64;

/** In milliseconds; negative for the past. Undefined if the string is not a duration. */
export function parseGoDuration(text: string): number | undefined {
  if (text.length > lengthMax || !whole.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount = "", unit = ""] of text.matchAll(parts)) sumMs += Number(amount) * (unitsMs.get(unit) ?? 0);
  return text.startsWith("-") ? -sumMs : sumMs;
}
