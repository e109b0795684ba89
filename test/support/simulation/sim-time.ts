// The time of a simulation. Nothing waits for real: each step wakes one sleeper and lets all that follows from it come to
// rest. A sleeper belongs to a process, and a process that was killed never wakes again.
import { sleepBy } from "../../../src/async/clock.ts";
import type { CancelTimer, Clock } from "../../../src/async/clock.ts";

/** The clock on the wall of one node, which somebody may set. */
export class SimWall {
  offsetMs = 0;
  readonly #time: SimTime;
  /** Earlier settings, and until when they held. */
  readonly #former: { readonly offsetMs: number; readonly untilMs: number }[] = [];

  constructor(time: SimTime, offsetMs = 0) {
    this.#time = time;
    this.offsetMs = offsetMs;
  }

  nowMs(): number {
    return this.#time.nowMs() + this.offsetMs;
  }

  set(offsetMs: number): void {
    this.#former.push({ offsetMs: this.offsetMs, untilMs: this.#time.nowMs() });
    this.offsetMs = offsetMs;
  }

  /** What this clock may have shown from that true time until now: the bounds of each of its settings, the latest first. */
  shownSince(sinceMs: number): readonly number[] {
    const recent = this.#former.filter(({ untilMs }) => untilMs >= sinceMs);
    const past = recent.flatMap(({ offsetMs, untilMs }) => [untilMs + offsetMs, sinceMs + offsetMs]);
    return [this.nowMs(), sinceMs + this.offsetMs, ...past];
  }
}

/** Whoever sleeps: a process, or the world itself. */
export interface Life {
  alive: boolean;
}

interface Sleeper {
  readonly atMs: number;
  readonly order: number;
  readonly life: Life;
  readonly wake: () => void;
}

export class SimTime {
  readonly startMs = Date.UTC(2026, 0, 1);
  #elapsedMs = 0;
  #order = 0;
  readonly #sleepers = new Set<Sleeper>();
  readonly #world: Life = { alive: true };
  /** Sleepers that were woken. */
  steps = 0;

  nowMs(): number {
    return this.startMs + this.#elapsedMs;
  }

  get elapsedMs(): number {
    return this.#elapsedMs;
  }

  /** The clock of one process, and what it shows. */
  clockOf(life: Life, wall: Pick<SimWall, "nowMs"> = this): Clock {
    const schedule: Clock["schedule"] = (delayMs, act) => this.#schedule(delayMs, act, life);
    return {
      nowMs: () => wall.nowMs(),
      monotonicMs: () => this.#elapsedMs,
      sleep: async (delayMs, signal) => await sleepBy({ schedule }, delayMs, signal),
      schedule,
    };
  }

  /** Acts later, unless the process is dead by then. */
  after(delayMs: number, act: () => void, life: Life = this.#world): void {
    this.#schedule(delayMs, act, life);
  }

  /** Moves on by this much, waking one sleeper after the other, until `isOver` holds. */
  async advance(delayMs: number, isOver: () => boolean = () => false): Promise<void> {
    const targetMs = this.#elapsedMs + delayMs;
    await this.settle();
    while (!isOver()) {
      const due = this.#next(targetMs);
      if (due === undefined) {
        this.#elapsedMs = targetMs;
        return;
      }
      this.#sleepers.delete(due);
      this.#elapsedMs = Math.max(this.#elapsedMs, due.atMs);
      this.steps += 1;
      due.wake();
      await this.settle();
    }
  }

  /** Every promise that needs no time is kept before the event loop turns. */
  async settle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }

  #next(limitMs: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (!sleeper.life.alive) this.#sleepers.delete(sleeper);
      else if (sleeper.atMs > limitMs) continue;
      else if (
        first === undefined ||
        sleeper.atMs < first.atMs ||
        (sleeper.atMs === first.atMs && sleeper.order < first.order)
      )
        first = sleeper;
    }
    return first;
  }

  #schedule(delayMs: number, act: () => void, life: Life): CancelTimer {
    this.#order += 1;
    const sleeper: Sleeper = { atMs: this.#elapsedMs + Math.max(0, delayMs), order: this.#order, life, wake: act };
    this.#sleepers.add(sleeper);
    return () => void this.#sleepers.delete(sleeper);
  }
}
