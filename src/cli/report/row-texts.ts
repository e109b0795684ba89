// The strings of log rows that reports count. Attackers control their content and length, so they are truncated here, and escaped
// when they are shown.

/** In characters. */
export const reportTextLengthMax = 300;

export function keptText(text: string): string {
  return text.length <= reportTextLengthMax ? text : copyOf(text.slice(0, reportTextLengthMax));
}

/** The path without its query. */
export function keptPath(path: string): string {
  const mark = path.indexOf("?");
  return mark < 0 ? keptText(path) : copyOf(path.slice(0, Math.min(mark, reportTextLengthMax)));
}

/** A part of a string keeps the whole string in memory, so it is copied. */
function copyOf(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}
