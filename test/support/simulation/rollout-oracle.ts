// What a person who reads the documentation would say of the clears that follow rollouts. Each completed revision leads to a
// clear after its completion, and a clear has a completed revision of its own, or something went wrong since the last one.
import type { RolloutRecord, WorkloadSight } from "../../../src/model/workload.ts";
import { workloadKey } from "../../../src/model/workload.ts";

/** A revision of a workload, from its completion until it is cleared for. */
interface Owed {
  /** `revisionKey` of it. */
  readonly revision: string;
  /** The instance had a record of the workload when the revision began, so a clear must follow. */
  readonly isDue: boolean;
}

interface Cleared {
  readonly process: number;
  readonly atMs: number;
  /** How often something had gone wrong by then. */
  readonly upsets: number;
}

export class RolloutOracle {
  /** Revisions that have completed and were not cleared for, by workload, oldest first. */
  readonly #owed = new Map<string, readonly Owed[]>();
  /** Whether a record was stored when the revision under way began. */
  readonly #wasRecorded = new Map<string, boolean>();
  readonly #minIntervalMs: number;
  #last: Cleared | undefined;
  #upsets = 0;
  /** Clears that nobody would call for, and something that went wrong explains. */
  #excused = 0;

  constructor(minIntervalMs: number) {
    this.#minIntervalMs = minIntervalMs;
  }

  /** A kill, a lost response, a record that was not stored: wafsync may clear once more. */
  upset(): void {
    this.#upsets += 1;
    this.#excused += 1;
  }

  /** The record of the instance is deleted with it: what is complete by then counts as seen before. */
  forgotten(): void {
    for (const workload of this.#owed.keys()) this.#excuse(workload);
    this.#wasRecorded.clear();
    this.upset();
  }

  /** Somebody declares another content. */
  begun(workload: string, records: readonly RolloutRecord[]): void {
    const isRecorded = records.some((record) => record.workload === workload);
    this.#wasRecorded.set(workload, this.#wasRecorded.get(workload) === true || isRecorded);
  }

  /**
   * @param content as it is recorded. If that is the content on record, and nothing else has begun by the record, then another
   *   content came and went unseen, or only the object is another one: no clear must follow.
   */
  completed(workload: string, revision: string, content: string, records: readonly RolloutRecord[]): void {
    const record = records.find((one) => one.workload === workload);
    const isAsBefore = record?.hasBegun === false && record.content === content;
    if (isAsBefore) this.#excuse(workload);
    const isDue = this.#wasRecorded.get(workload) === true && !isAsBefore;
    this.#owed.set(workload, [...(this.#owed.get(workload) ?? []), { revision, isDue }]);
    this.#wasRecorded.delete(workload);
  }

  /** What is wrong with a clear that has just taken effect, if anything. */
  cleared(process: number, sights: readonly WorkloadSight[], atMs: number): string | undefined {
    const last = this.#last;
    this.#last = { process, atMs, upsets: this.#upsets };
    const wanted = sights.filter((sight) => this.#takeOwed(sight));
    if (last?.process === process && last.upsets === this.#upsets && atMs - last.atMs < this.#minIntervalMs)
      return `The cache was cleared twice within ${atMs - last.atMs} ms, which is less than minInterval`;
    if (wanted.length > 0) return undefined;
    if (this.#excused === 0) return "The cache was cleared, and no rollout had completed since the last clear";
    this.#excused -= 1;
    return undefined;
  }

  /** Workloads whose rollout was never followed by a clear. */
  missed(): readonly string[] {
    return [...this.#owed].filter(([, owed]) => owed.some(({ isDue }) => isDue)).map(([workload]) => workload);
  }

  /** From now on, nothing goes wrong. */
  settled(): void {
    this.#excused = Math.min(this.#excused, 2);
  }

  #excuse(workload: string): void {
    const owed = this.#owed.get(workload) ?? [];
    this.#owed.set(
      workload,
      owed.map(({ revision }) => ({ revision, isDue: false })),
    );
  }

  /** The clear was made for this revision and those before it: false if none of them was owed. */
  #takeOwed(sight: WorkloadSight): boolean {
    if (sight.state === "Unseen" || !sight.seen.isRolledOut) return false;
    const workload = workloadKey(sight.workload);
    const owed = this.#owed.get(workload) ?? [];
    const place = owed.findIndex(({ revision }) => revision === revisionKey(sight.seen));
    this.#owed.set(workload, owed.slice(place + 1));
    return place !== -1;
  }
}

export function revisionKey({ uid, revision }: { readonly uid: string; readonly revision: string }): string {
  return `${uid} ${revision}`;
}
