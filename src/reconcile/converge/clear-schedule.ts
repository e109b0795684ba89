// When a run advances its cache clears again: as soon as the declared state changes, and at a scheduled time.
import type { Gathered } from "../../model/gathered.ts";

export class ClearSchedule {
  #seen: Gathered | undefined;
  #nextMs = 0;
  #advancedMs = 0;

  /** Cheap enough to be called before every write. */
  isDue(gathered: Gathered, nowMs: number): boolean {
    // The clock may have been set back since.
    return this.#seen !== gathered || nowMs >= this.#nextMs || nowMs < this.#advancedMs;
  }

  /** Call this after the clears were advanced. Unless the objects change, nothing is due before `nextMs`, or at all if undefined. */
  advanced(gathered: Gathered, nextMs: number | undefined, nowMs: number): void {
    this.#advancedMs = nowMs;
    this.#seen = gathered;
    this.#nextMs = nextMs ?? Number.POSITIVE_INFINITY;
  }

  /** Call this after a call of the WAF, so that the clears are advanced again. */
  called(nowMs: number): void {
    this.#nextMs = nowMs;
  }
}
