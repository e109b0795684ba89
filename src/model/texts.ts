// Texts. Sanitizes external strings: they must not control a terminal or a pipeline, hide parts of themselves or change the text
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

// Times and days as texts.

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** `2026-11-22T09:12:01Z`: RFC 3339 in UTC, truncated to seconds, as Kubernetes writes times. For years from 1 to 9999. */
export function formatTime(timeMs: number): string;
export function formatTime(timeMs: number | undefined): string | undefined;
export function formatTime(timeMs: number | undefined): string | undefined {
  return timeMs === undefined ? undefined : new Date(timeMs).toISOString().replace(/\.\d+Z$/u, "Z");
}

/** The day that a time belongs to. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / dayMs);
}

/** `2026-11-22`. Days are whole numbers since 1970. */
export function formatDay(day: number): string {
  return formatTime(day * dayMs).slice(0, 10);
}

/** Parses a date in this format; undefined if it has another format, or the day does not exist. */
export function parseDay(date: string): number | undefined {
  const day = Date.parse(`${date}T00:00:00Z`) / dayMs;
  return Number.isInteger(day) && formatDay(day) === date ? day : undefined;
}
