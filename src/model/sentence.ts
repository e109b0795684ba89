// Messages are put together from parts that come from many places, some of them from outside.

/** The text with a full stop, unless it ends like a sentence already. */
export function asSentence(text: string): string {
  return /[.!?…]$/u.test(text) ? text : `${text}.`;
}
