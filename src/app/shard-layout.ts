// Whether the replicas agree on this process's number of shards: see plan/shards/layout.ts. The agreement is an annotation of the
// leader's Lease, which every replica reads as a candidate, and writes as the leader.
import type { Clock } from "../async/clock.ts";
import type { Instant, LeaseTimings } from "../kube/lease-decision.ts";
import { elapsedMs } from "../kube/lease-decision.ts";
import { annotationsOf, type LeaseAnnotations, type LeaseView } from "../kube/lease-record.ts";
import { nextLayout, parseLayout, shardsAnnotation } from "../plan/shards/layout.ts";

export interface ShardLayoutOptions {
  readonly shards: number;
  readonly clock: Clock;
  readonly timings: LeaseTimings;
}

export class ShardLayout {
  readonly #options: ShardLayoutOptions;
  #seen: { readonly text: string | undefined; readonly started: Instant } | undefined;
  /** The holder that set the current number as pending, and since when (monotonic). */
  #pending: { readonly holder: string; readonly sinceMs: number } | undefined;

  constructor(options: ShardLayoutOptions) {
    this.#options = options;
  }

  /** Whether this process may write, as far as the number of shards is concerned. */
  isAgreed(): boolean {
    const { clock, timings, shards } = this.#options;
    if (this.#seen === undefined) return false;
    const layout = parseLayout(this.#seen.text);
    if (layout.shards !== shards || layout.isPending) return false;
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
    return elapsedMs(this.#seen.started, now) < timings.renewDeadlineMs;
  }

  /** The agreement of the replicas, for the log. */
  describe(): string {
    if (this.#seen === undefined) return "unknown";
    return this.#seen.text ?? "1";
  }

  /** Call this after every read of the leader's Lease. */
  see(seen: LeaseView, started: Instant): void {
    const text = annotationsOf(seen)[shardsAnnotation];
    this.#seen = { text, started };
    const { shards, isPending } = parseLayout(text);
    const holder = seen.state === "Held" && isPending && shards === this.#options.shards ? seen.holder : undefined;
    if (holder === undefined) this.#pending = undefined;
    else if (this.#pending?.holder !== holder) this.#pending = { holder, sinceMs: this.#options.clock.monotonicMs() };
  }

  /** The annotations for the next write of the leader's Lease by `identity`. */
  annotate(seen: LeaseView, identity: string): LeaseAnnotations | undefined {
    const { shards: own, clock, timings } = this.#options;
    // A deleted Lease does not end the agreement: processes that have not noticed the deletion may still write under it.
    const found = seen.state === "Absent" ? this.#seen?.text : annotationsOf(seen)[shardsAnnotation];
    const isNew = seen.state === "Absent" && this.#seen === undefined;
    const isUnused = isNew || (seen.state === "Free" && seen.released);
    const isMine = this.#pending?.holder === identity;
    const pendingMs = isMine ? clock.monotonicMs() - (this.#pending?.sinceMs ?? 0) : 0;
    const text = nextLayout({ own, found, isUnused, pendingMs, waitMs: timings.leaseDurationMs });
    return text === undefined ? undefined : { [shardsAnnotation]: text };
  }
}
