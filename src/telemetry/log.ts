// The log of wafsync: JSON lines on stderr, so that stdout is free for results. Messages are constant, values are fields, and
// every string is redacted.
import { types } from "node:util";
import { pino } from "pino";
import { visibleLines } from "../model/texts.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Receives each line with its line feed; stderr by default, written synchronously so that no line is lost at exit. */
  readonly destination?: { write(line: string): void };
  /** Removes secrets from a string. Called with every string of every line, including field names. */
  readonly redact: Redact;
}

const stderrDescriptor = 2;
/** The logger sets these itself: a field of the same name gets an underscore, so that no line has a duplicate name. */
const ownNames: ReadonlySet<string> = new Set(["level", "time", "msg"]);

export function createLogger({ level, destination, redact }: LoggerOptions): Logger {
  const target = destination ?? pino.destination({ dest: stderrDescriptor, sync: true });
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return loggerOn(pino(options, target), redact);
}

function loggerOn(sink: pino.Logger, redact: Redact): Logger {
  const write = (level: Exclude<LogLevel, "silent">, message: string, fields: LogFields): void => {
    if (sink.isLevelEnabled(level)) sink[level](plainFields(fields, redact), redact(message));
  };
  return {
    debug: (message, fields = {}) => write("debug", message, fields),
    info: (message, fields = {}) => write("info", message, fields),
    warn: (message, fields = {}) => write("warn", message, fields),
    error: (message, fields = {}) => write("error", message, fields),
    child: (fields) => loggerOn(sink.child(plainFields(fields, redact)), redact),
  };
}

function plainFields(fields: LogFields, redact: Redact): Record<string, unknown> {
  const named = Object.entries(fields).map(([name, value]) => [ownNames.has(name) ? `${name}_` : name, value] as const);
  // Starting one level up keeps the full depth for the values of the fields.
  return logValue(Object.fromEntries(named), redact, -1) as Record<string, unknown>;
}

// Converts logged values to plain JSON values in which every string is redacted. Everything that is logged goes through here.
// Never throws, whatever the value is: an error path must not fail because it logs.

/** Deeper objects are omitted: a log line is for people. */
export const logDepthMax = 5;
/** Items of an array or fields of an object; further ones are only counted. */
export const logItemsMax = 50;
/** Characters of a string, before redaction. */
export const logTextLengthMax = 8192;

type Redact = (text: string) => string;

/** The value as JSON: errors with their causes, other objects by their own enumerable fields. */
function logValue(value: unknown, redact: Redact, depth = 0): unknown {
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
