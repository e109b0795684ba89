// Formats a value as one line of JSON that is safe to show on a terminal.
import { visibleText } from "./visible-text.ts";

/** Without the trailing line feed. Parsing it gives the same value as parsing the result of `JSON.stringify`. */
export function jsonLineOf(value: object): string {
  return visibleText(JSON.stringify(value));
}
