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
  const signals = new Signals(graceMs);
  const closing: (() => Promise<void>)[] = [];
  try {
    return await work({
      out: terminalOn(process.stdout, redact),
      notes: terminalOn(process.stderr, redact),
      redactor,
      stopping: () => signals.stopping(),
      atEnd: (close) => void closing.unshift(close),
    });
  } catch (error) {
    throw redactError(error, redact);
  } finally {
    for (const close of closing) await close();
    signals.end();
  }
}

/** SIGINT and SIGTERM. Afterwards, a signal ends the process as usual. */
class Signals {
  readonly #stop = (signal: NodeJS.Signals): void => this.#stopping?.begin(signal);
  readonly #graceMs: number | undefined;
  #stopping: StoppingControl | undefined;

  constructor(graceMs: number | undefined) {
    this.#graceMs = graceMs;
  }

  stopping(): StoppingControl {
    if (this.#stopping === undefined) process.on("SIGINT", this.#stop).on("SIGTERM", this.#stop);
    return (this.#stopping ??= createStopping(realClock, this.#graceMs));
  }

  end(): void {
    process.off("SIGINT", this.#stop).off("SIGTERM", this.#stop);
    this.#stopping?.done();
  }
}
