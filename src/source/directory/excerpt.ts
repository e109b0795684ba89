// The first of some names, for a message.

const shownMax = 5;

export function excerpt(names: readonly string[]): string {
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : "";
  return `${names.slice(0, shownMax).join(", ")}${more}`;
}
