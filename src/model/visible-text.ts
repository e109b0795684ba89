// Sanitizes external strings: they must not control a terminal or a pipeline, hide parts of themselves or change the text
// direction. Such characters are replaced by JSON escapes, so that JSON stays valid.
import { excerpt } from "./redactor.ts";

const plain = /^[\x20-\x7e]*$/;
const plainLines = /^[\x20-\x7e\n]*$/;
/** `##[` and `##vso[` start commands of pipelines, even in the middle of a line. */
const commandMark = "##";
const invisible = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu;
const unseen = new RegExp(String.raw`${invisible.source}|#(?=#(?:\[|vso\[))`, "gu");
/**
 * Characters that wafsync itself uses in multi-line output: line feeds, tabs, and bold, dim and colored text. All other
 * terminal codes are excluded: a code that hides text or swaps its colors can only come from an external string.
 */
const ownOrUnseen = new RegExp(String.raw`\n|\t|${"\u001b"}\[(?:1|2|22|3[1-6]|39)m|${unseen.source}`, "gu");

/** A single line without invisible characters. */
export function visibleText(text: string): string {
  // Nearly all strings are plain, and there may be a million of them.
  return plain.test(text) && !text.includes(commandMark) ? text : text.replaceAll(unseen, escaped);
}

/** A single line with `�` for each invisible character. */
export function markedText(text: string): string {
  return text.replaceAll(invisible, "\u{FFFD}");
}

const noteLengthMax = 120;

/** The comment behind an entry, for people; may be empty. The copy does not keep the complete text alive. */
export function noteText(comment: string): string {
  return ` ${excerpt(visibleText(comment.trim()), noteLengthMax)}`.slice(1);
}

/** The value with all strings in it, at any depth, as single lines without invisible characters. */
export const visibleTexts = <Value>(value: Value): Value => editedTexts(value, visibleText);

/** The value with all strings in it, at any depth, edited. */
export function editedTexts<Value>(value: Value, edit: (text: string) => string): Value;
export function editedTexts(value: unknown, edit: (text: string) => string): unknown {
  if (typeof value === "string") return edit(value);
  if (Array.isArray(value)) return value.map((item: unknown) => editedTexts(item, edit));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, editedTexts(field as unknown, edit)]));
}

/** Lines that wafsync has composed and colored from sanitized strings. */
export function visibleLines(text: string): string {
  // V8 takes tens of milliseconds to compile the other pattern.
  if (plainLines.test(text) && !text.includes(commandMark)) return text;
  return text.replaceAll(ownOrUnseen, (found) => (isOwn(found) ? found : escaped(found)));
}

function isOwn(found: string): boolean {
  return found === "\n" || found === "\t" || found.length > 2;
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, unit) => {
    const code = character.charCodeAt(unit).toString(16);
    return String.raw`\u${code.padStart(4, "0")}`;
  }).join("");
}

/** Without the trailing line feed. Parsing it gives the same value as parsing the result of `JSON.stringify`. */
export function jsonLineOf(value: object): string {
  return visibleText(JSON.stringify(value));
}
