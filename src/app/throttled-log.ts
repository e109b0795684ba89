// Logs trouble that comes back with every attempt: once as a warning, and again after a while; in between for debugging only.
import type { Clock } from "../async/clock.ts";
import { LruMap } from "../async/lru-map.ts";
import type { Logger } from "../telemetry/log.ts";

const repeatMs = 300_000;
const subjectsMax = 1_000;

export class ProblemLog {
  readonly #log: Logger;
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #warned = new LruMap<string, number>(subjectsMax);

  constructor(log: Logger, clock: Pick<Clock, "monotonicMs">) {
    this.#log = log;
    this.#clock = clock;
  }

  /** `subject` and `code` make the trouble the same; the message is a constant sentence. */
  warn(message: string, trouble: { readonly subject: string; readonly code: string; readonly problem: string }): void {
    const key = `${message} ${trouble.subject} ${trouble.code}`;
    const nowMs = this.#clock.monotonicMs();
    const warnedMs = this.#warned.get(key);
    if (warnedMs !== undefined && nowMs - warnedMs < repeatMs) {
      this.#log.debug(message, trouble);
      return;
    }
    this.#warned.set(key, nowMs);
    this.#log.warn(message, trouble);
  }
}
