// Buffers history events and stores them in batches, so that no call of a WAF waits for them, and ten thousand writes need only a
// few requests. A process that is killed loses the last batch; a graceful stop loses nothing.
import type { CancelTimer, Clock } from "../async/clock.ts";
import type { HistoryEvent } from "../model/history.ts";
import { joinEvents } from "../model/history.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { HistoryPort } from "../run/ports.ts";

/** The delay before the first events after an idle period are stored. */
const firstDelayMs = 1_000;
/** The minimum time between two batches. */
const batchIntervalMs = 10_000;
/** The maximum number of buffered events while the store does not respond; the oldest are dropped first. */
const waitingMax = 20_000;

export interface HistoryStore {
  /** Returns why the events could not be stored, or undefined if they were. Never rejects. */
  append(instance: ObjectName, events: readonly HistoryEvent[]): Promise<string | undefined>;
  /** Moves the history of `former`, if there is any, in front of that of `instance`. Returns like `append`, and never rejects. */
  takeOver(instance: ObjectName, former: ObjectName): Promise<string | undefined>;
}

interface Waiting {
  readonly instance: ObjectName;
  events: HistoryEvent[];
}

export class HistoryKeeper implements HistoryPort {
  readonly #store: HistoryStore;
  readonly #clock: Clock;
  readonly #onProblem: (problem: string) => void;
  #waiting = new Map<string, Waiting>();
  #count = 0;
  /** Instances that another instance continues, by the name of the continuing instance. */
  readonly #continued = new Map<string, { readonly instance: ObjectName; readonly former: ObjectName }>();
  #cancel: CancelTimer | undefined;
  #lastBatchMs = Number.NEGATIVE_INFINITY;
  #storing: Promise<void> = Promise.resolve();

  constructor(store: HistoryStore, clock: Clock, onProblem: (problem: string) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onProblem = onProblem;
  }

  note(instance: ObjectName, events: readonly HistoryEvent[]): void {
    const waiting = this.#waitingOf(instance);
    for (const event of events) waiting.events.push(event);
    this.#added(events.length);
    this.#cancel ??= this.#clock.schedule(this.#delayMs(), () => {
      this.#cancel = undefined;
      void this.flush();
    });
  }

  /** Flushes immediately: with `deletionPolicy: Delete`, the history of the former instance is deleted together with that instance. */
  continues(instance: ObjectName, former: ObjectName): void {
    this.#continued.set(nameKey(instance), { instance, former });
    void this.flush();
  }

  /** Stores all buffered events, and resolves afterwards. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#storing = this.#storing.then(async () => await this.#storeAll());
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = new Map();
    this.#count = 0;
    this.#lastBatchMs = this.#clock.monotonicMs();
    for (const { instance, events } of batch.values()) {
      const problem = await this.#store.append(instance, joinEvents(events));
      if (problem === undefined) continue;
      this.#onProblem(problem);
      // They are retried with the next events.
      const waiting = this.#waitingOf(instance);
      waiting.events = [...events, ...waiting.events];
      this.#added(events.length);
    }
    for (const [key, { instance, former }] of this.#continued) {
      const problem = await this.#store.takeOver(instance, former);
      if (problem === undefined) this.#continued.delete(key);
      else this.#onProblem(problem);
    }
  }

  #waitingOf(instance: ObjectName): Waiting {
    const waiting = this.#waiting.get(nameKey(instance)) ?? { instance, events: [] };
    this.#waiting.set(nameKey(instance), waiting);
    return waiting;
  }

  /** Drops the oldest events if there are too many. */
  #added(count: number): void {
    this.#count += count;
    for (const [key, waiting] of this.#waiting) {
      if (this.#count <= waitingMax) return;
      const dropped = Math.min(waiting.events.length, this.#count - waitingMax);
      waiting.events = waiting.events.slice(dropped);
      this.#count -= dropped;
      if (waiting.events.length === 0) this.#waiting.delete(key);
    }
  }

  #delayMs(): number {
    return Math.max(firstDelayMs, this.#lastBatchMs + batchIntervalMs - this.#clock.monotonicMs());
  }
}
