// Helpers for messages, which are composed of strings from many places, some of them external.

/** The string, truncated with an ellipsis if it is too long. */
export function shortened(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** The string with a full stop, unless it already ends like a sentence. */
export function asSentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`;
}

/** The string with a capital first letter. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

/** The first few names, and the number of the others: `a, b and 3 more`. */
export function listed(names: readonly string[], shownMax: number): string {
  const more = names.length > shownMax ? ` and ${inThousands(names.length - shownMax)} more` : "";
  return `${names.slice(0, shownMax).join(", ")}${more}`;
}

/** The first few of them: `a, b, …`. */
export function examplesOf(texts: readonly string[], shownMax = 5): string {
  return `${texts.slice(0, shownMax).join(", ")}${texts.length > shownMax ? ", …" : ""}`;
}

/** A readable number: `250,000`. */
export function inThousands(count: number): string {
  // The platform's formatter is only used for fractions: loading it takes as long as a small plan.
  return Number.isInteger(count) ? String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",") : count.toLocaleString("en-US");
}

/** `1 entry` or `1,413 entries`. */
export function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${inThousands(count)} ${many}`;
}
