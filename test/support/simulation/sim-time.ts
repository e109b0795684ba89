// The time of a simulation, without real waits: each step wakes one sleeper and lets the resulting work
// settle. A sleeper belongs to a process, and the sleepers of a killed process never wake.
import { type CancelTimer, type Clock, sleepBy } from "../../../src/async/clock.ts";
import { settle, VirtualTime } from "../fakes/virtual-time.ts";

/** The wall clock of one node, which can be set. */
export class SimWall {
  offsetMs = 0;
  readonly #time: SimTime;
  /** Earlier settings, and until when they applied. */
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

  /** The times that this clock may have shown since that true time: the bounds of each setting, latest first. */
  shownSince(sinceMs: number): readonly number[] {
    const recent = this.#former.filter(({ untilMs }) => untilMs >= sinceMs);
    const past = recent.flatMap(({ offsetMs, untilMs }) => [untilMs + offsetMs, sinceMs + offsetMs]);
    return [this.nowMs(), sinceMs + this.offsetMs, ...past];
  }
}

/** The owner of a sleeper: a process, or the world itself. */
export interface Life {
  alive: boolean;
}

export class SimTime {
  readonly startMs = Date.UTC(2026, 0, 1);
  readonly #world: Life = { alive: true };
  readonly #time = new VirtualTime(async () => await this.settle());
  /** Sleepers that were woken. */
  steps = 0;
  /** The turns of the event loop after each step. With a single one, calls in bulk wait, as on a busy machine. */
  turns = 1;

  nowMs(): number {
    return this.startMs + this.elapsedMs;
  }

  get elapsedMs(): number {
    return this.#time.nowMs;
  }

  /** The clock of one process. */
  clockOf(life: Life, wall: Pick<SimWall, "nowMs"> = this): Clock {
    const schedule: Clock["schedule"] = (delayMs, act) => this.after(delayMs, act, life);
    return {
      nowMs: () => wall.nowMs(),
      monotonicMs: () => this.elapsedMs,
      sleep: async (delayMs, signal) => await sleepBy({ schedule }, delayMs, signal),
      schedule,
    };
  }

  /** Calls the function later, unless the process was killed by then. */
  after(delayMs: number, act: () => void, life: Life = this.#world): CancelTimer {
    const wake = (): void => {
      this.steps += 1;
      act();
    };
    return this.#time.schedule(delayMs, wake, () => life.alive);
  }

  /** Advances by this duration, waking one sleeper after another, until `isOver` returns true. */
  async advance(delayMs: number, isOver?: () => boolean): Promise<void> {
    await this.#time.advance(delayMs, isOver);
  }

  /**
   * All promises that do not depend on time settle before the next turn of the event loop. A lane waits for one turn before each
   * call in bulk: with a single turn, the call waits for the next sleeper, unless that is longer than a machine is busy.
   */
  async settle(): Promise<void> {
    for (let turn = 0; turn < this.turns; turn += 1) await settle();
  }
}
