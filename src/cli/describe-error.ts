// Formats errors for users: one clear line, and a hint that says what to do.
import { asSentence, capitalized, visibleLines } from "../model/texts.ts";

/** An expected failure of a command. `hint` says what to do next. */
export class CommandError extends Error {
  readonly code = "Command";
  readonly hint: string | undefined;

  constructor(problem: string, hint?: string) {
    super(problem);
    this.name = "CommandError";
    this.hint = hint;
  }
}

/** For `catch`: throws a CommandError with the message of the error, which is a sentence for users. */
export function asCommandError(hint?: string): (error: Error) => never {
  return ({ message }) => {
    throw new CommandError(message, hint);
  };
}

/** The error in sentences, for pages. */
export function sentencesOf({ message, hint }: CommandError): string {
  return [asSentence(capitalized(message)), hint ?? []].flat().join(" ");
}

/** The same error with all keys redacted. An unexpected error may contain anything. */
export function redactError(error: unknown, redact: (text: string) => string): unknown {
  if (!Error.isError(error)) return typeof error === "string" ? redact(error) : error;
  error.message = redact(error.message);
  if (error.stack !== undefined) error.stack = redact(error.stack);
  return error;
}

/** The text for stderr. For an unexpected error, it says that this is a bug in wafsync; `--debug` adds the stack. */
export function describeError(error: unknown, isDebug: boolean): string {
  return visibleLines(descriptionOf(error, isDebug));
}

function descriptionOf(error: unknown, isDebug: boolean): string {
  if (error instanceof CommandError)
    return `error: ${error.message}\n${error.hint === undefined ? "" : `  ${error.hint}\n`}`;
  const { message, stack } = (error ?? {}) as Partial<Error>;
  const text = `error: unexpected error: ${message ?? String(error)}\n`;
  if (isDebug) return `${text}${stack ?? ""}\n`;
  return `${text}  This is a bug in wafsync. Run the command again with --debug and report the output.\n`;
}
