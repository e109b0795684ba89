// Judges the clears after rollouts as documented. Each completed revision leads to a
// clear after its completion, and each clear belongs to a completed revision, unless a fault occurred since the previous clear.
import type { RolloutRecord, WorkloadSight } from "../../../src/model/workload.ts";
import { workloadKey } from "../../../src/model/workload.ts";

/** A revision of a workload, from its completion until its clear. */
interface Owed {
  /** The `id` of its rollout. */
  readonly rollout: string;
  /** The instance had a record of the workload when the revision started, so a clear must follow. */
  readonly isDue: boolean;
}

interface Cleared {
  readonly process: number;
  readonly atMs: number;
  /** The number of faults until then. */
  readonly upsets: number;
}

export class RolloutOracle {
  /** Completed revisions without a clear, by workload, oldest first. */
  readonly #owed = new Map<string, readonly Owed[]>();
  /** Whether a record was stored when the current revision started. */
  readonly #wasRecorded = new Map<string, boolean>();
  readonly #minIntervalMs: number;
  #last: Cleared | undefined;
  #upsets = 0;
  /** Additional clears that a fault explains. */
  #excused = 0;

  constructor(minIntervalMs: number) {
    this.#minIntervalMs = minIntervalMs;
  }

  /** A kill, a lost response, a record that was not stored: wafsync may clear once more. */
  upset(): void {
    this.#upsets += 1;
    this.#excused += 1;
  }

  /** The record of the instance is deleted with it: revisions that are complete by then count as already handled. */
  forgotten(): void {
    for (const [workload, owed] of this.#owed) {
      this.#owed.set(
        workload,
        owed.map(({ rollout }) => ({ rollout, isDue: false })),
      );
    }
    this.#wasRecorded.clear();
    this.upset();
  }

  /** A user declares a different content. */
  begun(workload: string, records: readonly RolloutRecord[]): void {
    const isRecorded = records.some((record) => record.workload === workload);
    this.#wasRecorded.set(workload, this.#wasRecorded.get(workload) === true || isRecorded);
  }

  completed(workload: string, rollout: string): void {
    const isDue = this.#wasRecorded.get(workload) === true;
    this.#owed.set(workload, [...(this.#owed.get(workload) ?? []), { rollout, isDue }]);
    this.#wasRecorded.delete(workload);
  }

  /** Returns the fault of a clear that has just taken effect, if any. `records` are those that were stored before it. */
  cleared(
    process: number,
    { sights, records }: { readonly sights: readonly WorkloadSight[]; readonly records: readonly RolloutRecord[] },
    atMs: number,
  ): string | undefined {
    const last = this.#last;
    this.#last = { process, atMs, upsets: this.#upsets };
    const wanted = sights.filter((sight) => this.#takeOwed(sight));
    if (last?.process === process && last.upsets === this.#upsets && atMs - last.atMs < this.#minIntervalMs)
      return `The cache was cleared twice within ${atMs - last.atMs} ms, which is less than minInterval`;
    if (wanted.length > 0 || sights.some((sight) => wasFirstSeenInProgress(sight, records))) return undefined;
    if (this.#excused === 0) return "The cache was cleared, and no rollout had completed since the last clear";
    this.#excused -= 1;
    return undefined;
  }

  /** Workloads whose completed rollout was not followed by a clear. */
  missed(): readonly string[] {
    return [...this.#owed].filter(([, owed]) => owed.some(({ isDue }) => isDue)).map(([workload]) => workload);
  }

  /** No faults occur from now on. */
  settled(): void {
    this.#excused = Math.min(this.#excused, 2);
  }

  /** The clear was made for this revision and earlier ones. Returns false if none of them needed a clear. */
  #takeOwed({ workload, rollout }: WorkloadSight): boolean {
    if (rollout?.isComplete !== true) return false;
    const key = workloadKey(workload);
    const owed = this.#owed.get(key) ?? [];
    const place = owed.findIndex((one) => one.rollout === rollout.id);
    this.#owed.set(key, owed.slice(place + 1));
    return place !== -1;
  }
}

/** At first sight, scaling can't be told from a rollout. */
function wasFirstSeenInProgress({ workload, rollout }: WorkloadSight, records: readonly RolloutRecord[]): boolean {
  const record = records.find((one) => one.workload === workloadKey(workload));
  return rollout?.isComplete === true && record?.handled === "" && record.clearedAtMs === undefined;
}
