// A value as one line of JSON that may be shown on a terminal, whoever wrote the texts in it.

/** JSON escapes the control characters below the space; terminals obey some above it too. */
const furtherControls = /[\u007f-\u009f\u2028\u2029]/g;

/** Without the line feed at its end. The same value comes out of it as out of `JSON.stringify`. */
export function jsonLineOf(value: object): string {
  const json = JSON.stringify(value);
  return json.search(furtherControls) < 0 ? json : json.replaceAll(furtherControls, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
