// A value as one line of JSON that may be shown on a terminal, whoever wrote the texts in it.
import { visibleText } from "./visible-text.ts";

/** Without the line feed at its end. The same value comes out of it as out of `JSON.stringify`. */
export function jsonLineOf(value: object): string {
  return visibleText(JSON.stringify(value));
}
