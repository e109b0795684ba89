// The format of times and strings in the lines of an inventory.

export function encodeTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

/** Null if the string is not a time. */
export function decodeTime(text: string | undefined): number | null {
  const timeMs = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(timeMs) ? null : timeMs;
}

/** JSON on one line, without characters that an editor or terminal would interpret as a line end or a command. */
export function encodeJsonLine(fields: Readonly<Record<string, string>>): string {
  const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(fields).replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escape);
}

/** Undefined unless the line has exactly these fields and all of them are strings. */
export function decodeJsonLine(line: string, names: readonly string[]): Record<string, string> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Record<string, string>;
  const complete =
    Object.keys(fields).length === names.length && names.every((name) => typeof fields[name] === "string");
  return complete ? fields : undefined;
}
