// What every command has that works on a WAF: terminals that show no keys, signals, errors without keys, and what to close at the end.
import { createStopping, type StoppingControl } from "../app/stopping.ts";
import { realClock } from "../async/clock.ts";
import { Redactor } from "../model/redactor.ts";
import { redactError } from "./describe-error.ts";
import { type Terminal, terminalOn } from "./terminal.ts";

export interface Session {
  /** Receives the results of the command. */
  readonly out: Terminal;
  /** Progress, faults and notes. */
  readonly notes: Terminal;
  /** Knows the keys that no output may contain. */
  readonly redactor: Redactor;
  /**
   * From the first call on, a signal no longer ends the process: it starts no new call, and the command ends its work. A second
   * signal gives up the call in flight.
   */
  readonly stopping: () => StoppingControl;
  /** Closes something when the command ends, whatever happens; what was opened last is closed first. */
  readonly atEnd: (close: () => Promise<void>) => void;
}

/**
 * @param graceMs how long a call in flight may continue after a signal; undefined for the default of commands
 * @returns the exit code of `work`. @throws what `work` throws, without keys
 */
export async function withSession(work: (session: Session) => Promise<number>, graceMs?: number): Promise<number> {
  const redactor = new Redactor();
  const redact = (text: string): string => redactor.redact(text);
  let control: StoppingControl | undefined;
  const stop = (signal: NodeJS.Signals): void => control?.begin(signal);
  const stopping = (): StoppingControl => {
    if (control === undefined) process.on("SIGINT", stop).on("SIGTERM", stop);
    return (control ??= createStopping(realClock, graceMs));
  };
  const closing: (() => Promise<void>)[] = [];
  try {
    return await work({
      out: terminalOn(process.stdout, redact),
      notes: terminalOn(process.stderr, redact),
      redactor,
      stopping,
      atEnd: (close) => void closing.unshift(close),
    });
  } catch (error) {
    throw redactError(error, redact);
  } finally {
    for (const close of closing) await close();
    // From now on, a signal ends the process as usual.
    process.off("SIGINT", stop).off("SIGTERM", stop);
    control?.done();
  }
}
