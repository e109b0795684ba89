// Collects garbage when a burst of work has ended. V8 collects only when something is allocated, so an idle process would keep
// the garbage of its last work, a quarter of its memory, for as long as it is idle.
import type { CancelTimer, Clock } from "../async/clock.ts";

/** The number of writes to WAFs that leaves enough garbage behind. */
const writesMin = 500;
/** Callers that wait for the end of the work should not also wait for the collection, which takes a tenth of a second. */
const quietMs = 5_000;

export interface IdleCollectionOptions {
  readonly clock: Pick<Clock, "schedule">;
  readonly isIdle: () => boolean;
  readonly collect: () => void;
}

export class IdleCollection {
  readonly #options: IdleCollectionOptions;
  /** The number of writes since the last collection. It starts at the minimum, because the start itself leaves garbage behind. */
  #writes = writesMin;
  #cancel: CancelTimer | undefined;

  constructor(options: IdleCollectionOptions) {
    this.#options = options;
  }

  /** Call this when work with this many writes has ended. */
  ended(writes: number): void {
    const { clock, isIdle } = this.#options;
    this.#writes += writes;
    if (this.#cancel === undefined && this.#writes >= writesMin && isIdle()) {
      this.#cancel = clock.schedule(quietMs, () => this.#collectIfIdle());
    }
  }

  stop(): void {
    this.#cancel?.();
  }

  #collectIfIdle(): void {
    const { isIdle, collect } = this.#options;
    this.#cancel = undefined;
    // Otherwise, the end of the current work is the next chance.
    if (!isIdle()) return;
    this.#writes = 0;
    collect();
  }
}

/** In bytes. Collecting a larger heap would block the event loop for too long. */
const heapMax = 96 * 1024 * 1024;

/** Undefined without `--expose-gc`, which the image passes to Node.js. */
export function garbageCollector(): (() => void) | undefined {
  const { gc } = globalThis;
  if (gc === undefined) return undefined;
  return () => {
    // Any other flavor collects, but returns no memory to the system.
    if (process.memoryUsage().heapUsed <= heapMax) gc({ type: "major", execution: "sync", flavor: "last-resort" });
  };
}
