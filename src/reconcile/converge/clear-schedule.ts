// When a run advances its cache clears again: as soon as something else is declared, and at a certain time.
import type { Gathered } from "../../model/gathered.ts";

export class ClearSchedule {
  #seen: Gathered | undefined;
  #nextMs = 0;
  #advancedMs = 0;

  /** Cheap, so that it can be asked before every write. */
  isDue(gathered: Gathered, nowMs: number): boolean {
    // The clock may have been set back since.
    return this.#seen !== gathered || nowMs >= this.#nextMs || nowMs < this.#advancedMs;
  }

  /** They were advanced; time alone changes nothing before `nextMs`, or never. */
  advanced(gathered: Gathered, nextMs: number | undefined, nowMs: number): void {
    this.#advancedMs = nowMs;
    this.#seen = gathered;
    this.#nextMs = nextMs ?? Number.POSITIVE_INFINITY;
  }

  /** A call was made: what follows from it is decided the next time. */
  called(nowMs: number): void {
    this.#nextMs = nowMs;
  }
}
