// The log of wafsync: JSON lines on stderr, so that stdout is free for results. Messages are constant, values are fields, and
// every string is redacted.
import { pino } from "pino";
import { type Redact, logValue } from "./log-value.ts";

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
