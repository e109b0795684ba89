// When a run advances its cache clears again: as soon as something else is declared, and at a certain time.
import type { Gathered } from "../../model/gathered.ts";

export class ClearSchedule {
  #seen: Gathered | undefined;
  #nextMs = 0;

  /** Cheap, so that it can be asked before every write. */
  isDue(gathered: Gathered, nowMs: number): boolean {
    return this.#seen !== gathered || nowMs >= this.#nextMs;
  }

  /** They were advanced; time alone changes nothing before `nextMs`, or never. */
  advanced(gathered: Gathered, nextMs: number | undefined): void {
    this.#seen = gathered;
    this.#nextMs = nextMs ?? Number.POSITIVE_INFINITY;
  }

  /** A call was made: what follows from it is decided the next time. */
  called(nowMs: number): void {
    this.#nextMs = nowMs;
  }
}
