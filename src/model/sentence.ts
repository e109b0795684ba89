// Messages are put together from parts that come from many places, some of them from outside.

/** The text with an ellipsis in place of what is too long. */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** The text with a full stop, unless it ends like a sentence already. */
export function asSentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`;
}

/** The first of some names, and how many more there are: `a, b and 3 more`. */
export function listed(names: readonly string[], shownMax: number): string {
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : "";
  return `${names.slice(0, shownMax).join(", ")}${more}`;
}

/** A readable number: `250,000`. */
export function inThousands(count: number): string {
  // Plans say thousands of numbers, most of them small, and the formatter takes a microsecond for each.
  return Number.isInteger(count) && count >= 0 && count < 1000 ? String(count) : count.toLocaleString("en-US");
}

/** `1 entry` or `1,413 entries`. */
export function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${inThousands(count)} ${many}`;
}
