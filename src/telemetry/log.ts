// The operator's own log: JSON lines on stderr, so that stdout stays free for what a command prints.
// Messages are constant sentences, what varies goes into fields, and every string passes the redaction on its way.
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
  /** Where lines go, each with its line feed: stderr by default, written at once so that no line is lost at the end. */
  readonly destination?: { write(line: string): void };
  /** Takes the secrets out of a text. Called with every string of every line, names of fields included. */
  readonly redact: Redact;
}

const stderrDescriptor = 2;
/** Written by the logger itself; a field of that name gets an underscore, so that no line has a name twice. */
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
  // Beginning one level up keeps the depth of what is inside the fields.
  return logValue(Object.fromEntries(named), redact, -1) as Record<string, unknown>;
}

/** Says nothing: for commands that print their own results. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLogger,
};
