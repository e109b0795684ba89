// Logs a recurring problem as a warning at most every 5 minutes.
import type { Clock } from "../async/clock.ts";
import { LruMap } from "../async/lru-map.ts";
import type { LogFields, Logger } from "../telemetry/log.ts";

const repeatMs = 300_000;
const subjectsMax = 1_000;

/** Logs a recurring problem as a warning at most every 5 minutes, and every further occurrence at debug level. */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #warned = new LruMap<string, number>(subjectsMax);

  constructor(log: Logger, clock: Pick<Clock, "monotonicMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Problems with the same message, `subject` and `code` count as one. The message is constant. */
  warn(
    message: string,
    details: LogFields & { readonly subject: string; readonly code: string },
    log: Logger = this.#log,
  ): void {
    const key = `${message} ${details.subject} ${details.code}`;
    const nowMs = this.#clock.monotonicMs();
    const warnedMs = this.#warned.get(key);
    if (warnedMs !== undefined && nowMs - warnedMs < repeatMs) {
      log.debug(message, details);
      return;
    }
    this.#warned.set(key, nowMs);
    log.warn(message, details);
  }
}
