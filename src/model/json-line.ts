// Formats a value as one line of JSON that is safe to show on a terminal.
import { visibleText } from "./visible-text.ts";

/** Without the line feed at its end. The same value comes out of it as out of `JSON.stringify`. */
export function jsonLineOf(value: object): string {
  return visibleText(JSON.stringify(value));
}
