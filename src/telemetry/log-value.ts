// Converts logged values to plain JSON values in which every string is redacted. Everything that is logged goes through here.
// Never throws, whatever the value is: an error path must not fail because it logs.
import { types } from "node:util";
import { visibleLines } from "../model/texts.ts";

/** Deeper objects are omitted: a log line is for people. */
export const logDepthMax = 5;
/** Items of an array or fields of an object; further ones are only counted. */
export const logItemsMax = 50;
/** Characters of a string, before redaction. */
export const logTextLengthMax = 8192;

export type Redact = (text: string) => string;

/** The value as JSON: errors with their causes, other objects by their own enumerable fields. */
export function logValue(value: unknown, redact: Redact, depth = 0): unknown {
  switch (typeof value) {
    case "string":
      return text(value, redact);
    case "bigint":
    case "symbol":
      return text(String(value), redact);
    case "object":
      return value === null ? null : objectValue(value, redact, depth);
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "boolean":
      return value;
    case "function":
    case "undefined":
      return undefined;
  }
}

/** Truncates after redaction, so that no part of a secret remains at the end. */
function text(value: string, redact: Redact): string {
  // JSON escapes line feeds and similar characters; some log viewers interpret the others.
  const redacted = visibleLines(redact(value));
  if (redacted.length <= logTextLengthMax) return redacted;
  return `${redacted.slice(0, logTextLengthMax)}… (${redacted.length} characters)`;
}

function objectValue(value: object, redact: Redact, depth: number): unknown {
  if (depth >= logDepthMax) return "…";
  try {
    if (types.isNativeError(value)) return errorValue(value, redact, depth);
    if ("toJSON" in value && typeof value.toJSON === "function") return logValue(value.toJSON(), redact, depth + 1);
    if (isIterable(value)) return arrayValue(firstOf(value), redact, depth);
    return fieldsValue(Object.entries(value), redact, depth);
  } catch {
    return "(cannot be logged)";
  }
}

function errorValue(error: Error, redact: Redact, depth: number): unknown {
  const own = Object.entries(error);
  const fields: [string, unknown][] = [
    ["name", error.name],
    ["message", error.message],
    ["stack", error.stack],
    ...own,
  ];
  if (error.cause !== undefined) fields.push(["cause", error.cause]);
  return fieldsValue(fields, redact, depth);
}

function arrayValue(items: readonly unknown[], redact: Redact, depth: number): unknown[] {
  const shown = items.slice(0, logItemsMax).map((item) => logValue(item, redact, depth + 1) ?? null);
  return items.length > logItemsMax ? [...shown, "…"] : shown;
}

function fieldsValue(
  fields: readonly (readonly [string, unknown])[],
  redact: Redact,
  depth: number,
): Record<string, unknown> {
  const shown = fields
    .slice(0, logItemsMax)
    .map(([name, value]) => [text(name, redact), logValue(value, redact, depth + 1)] as const);
  return Object.fromEntries(fields.length > logItemsMax ? [...shown, ["…", fields.length - logItemsMax]] : shown);
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value && typeof value[Symbol.iterator] === "function";
}

/** One more than is shown, to detect that there are more, without copying a set of 100,000 entries for a log line. */
function firstOf(items: Iterable<unknown>): unknown[] {
  return Iterator.from(items)
    .take(logItemsMax + 1)
    .toArray();
}
