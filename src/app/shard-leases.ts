// The Leases of the shards. This process competes for all of them, takes over those of dead replicas, and gives up shards to
// replicas that have fewer. It gives up a shard like the leadership: it starts no new calls, waits for the calls in flight, and
// then releases the Lease. A further Lease identifies the replica that asks for a shard. If any Lease is lost, the process ends.
import { randomBytes } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import { type LeaseApi, LeaseElector, type LeaseElectorOptions, leaseIdentity } from "../kube/lease.ts";
import type { LeaseTimings } from "../kube/lease-decision.ts";
import { annotationsOf, type LeaseView } from "../kube/lease-record.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import { type ShardHolders, shardToGive, takeDelayMs, wantsShard } from "../plan/shards/balance.ts";
import type { Logger } from "../telemetry/log.ts";
import { HeldShard } from "./held-shard.ts";
import { movedAnnotation } from "./moved-instances.ts";
import type { ShardLayout } from "./shard-layout.ts";
import type { Stopping } from "./stopping.ts";

const balanceIntervalMs = 1_000;
/** The asking replica must have renewed its Lease within this many renewal periods. */
const askedPeriodsMax = 3.5;
/** For this many renewal periods, a replica does not compete for a shard that it gave up. */
const givenUpPeriods = 5;

export interface ShardLeasesOptions {
  readonly shards: number;
  /** The leader's Lease. The names of the shards' Leases begin with its name. */
  readonly lease: ObjectAddress;
  readonly leaseApi: (lease: ObjectAddress) => LeaseApi;
  readonly timings: LeaseTimings;
  readonly layout: Pick<ShardLayout, "isAgreed" | "describe">;
  readonly clock: Clock;
  readonly random: () => number;
  readonly podName: string;
  readonly stopping: Stopping;
  readonly log: Logger;
  /** Called when shards were taken or given up, and when the replicas have agreed on the number of shards. */
  readonly onChange: () => void;
  /** Called when none of the shard's runs is in progress, before its Lease is released. */
  readonly onGivenUp: (held: HeldShard) => Promise<void>;
  /** Called with an event for people about the Lease of a shard. */
  readonly onEvent: (lease: ShardLeaseObject, reason: "ShardTaken" | "ShardGivenUp", message: string) => void;
  /** An annotation by which replicas tell each other about moved instances. */
  readonly moved: { readonly text: () => string | undefined; readonly see: (shard: number, text: string) => void };
}

export interface ShardLeaseObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Seen {
  readonly view: LeaseView;
  /** When (monotonic) this process first saw this version. */
  readonly sinceMs: number;
}

export class ShardLeases {
  readonly #options: ShardLeasesOptions;
  readonly #replica: string;
  readonly #electors = new Set<LeaseElector>();
  readonly #held = new Map<number, HeldShard>();
  readonly #giveUps = new Map<number, () => void>();
  readonly #seen = new Map<number, Seen>();
  /** Shards that this process is about to take. */
  readonly #taking = new Set<number>();
  /** When (monotonic) each shard became free to take, and when this process gave it up. */
  readonly #takeableMs = new Map<number, number>();
  readonly #givenUpMs = new Map<number, number>();
  readonly #lost = Promise.withResolvers<string>();
  readonly #ending = new AbortController();
  #asker: Seen | undefined;
  #electorCount = 0;
  #releasing: Promise<unknown> = Promise.resolve();
  #wasAgreed = false;

  constructor(options: ShardLeasesOptions) {
    this.#options = options;
    this.#replica = leaseIdentity(options.podName, randomBytes(6).toString("hex"));
  }

  /** Resolves with the reason if a Lease is lost, and never otherwise. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  get count(): number {
    return this.#options.shards;
  }

  /** The shard if this process may work on it now. */
  held(shard: number): HeldShard | undefined {
    const held = this.#held.get(shard);
    return held?.mayWrite() === true ? held : undefined;
  }

  /** All shards that this process holds, including those that it may not work on yet. */
  all(): readonly HeldShard[] {
    return [...this.#held.values()];
  }

  /** Starts to compete. Call it once. */
  begin(): void {
    for (let shard = 0; shard < this.count; shard += 1) void this.#compete(shard);
    void this.#ask();
    void this.#balance();
  }

  /** Releases all Leases once `workEnded` has resolved. */
  async end(workEnded: () => Promise<void>): Promise<void> {
    this.#ending.abort();
    const releases = [...this.#electors].map(async (elector) => await elector.release(workEnded));
    await Promise.all([...releases, this.#releasing]);
  }

  async #compete(shard: number): Promise<void> {
    const { clock, stopping, layout, log, onChange, onGivenUp } = this.#options;
    while (!this.#ending.signal.aborted) {
      const elector = this.#elector(shardLease(this.#options.lease, shard, this.count), {
        mayTake: () => this.#mayTake(shard),
        onSeen: (view) => this.#see(shard, view),
        annotate: () => {
          const text = this.#options.moved.text();
          return text === undefined ? undefined : { [movedAnnotation]: text };
        },
      });
      if (!(await elector.whenLeading())) return;
      const held = new HeldShard({ shard, elector, isAgreed: () => layout.isAgreed(), clock, stopping });
      this.#held.set(shard, held);
      log.info("shard taken", { shard });
      this.#emit(shard, "ShardTaken", "works on");
      onChange();
      await this.#untilGivenUp(shard);
      if (this.#ending.signal.aborted) return;
      held.stop();
      this.#emit(shard, "ShardGivenUp", "gives up");
      this.#electors.delete(elector);
      const release = elector.release(async () => {
        await held.ended();
        await onGivenUp(held);
      });
      this.#releasing = release;
      log.info("shard given up", { shard, result: await release });
      this.#held.delete(shard);
      this.#seen.delete(shard);
      this.#givenUpMs.set(shard, clock.monotonicMs());
      onChange();
    }
  }

  #emit(shard: number, reason: "ShardTaken" | "ShardGivenUp", verb: string): void {
    const { lease, podName, onEvent } = this.#options;
    const view = this.#seen.get(shard)?.view;
    const uid = view === undefined || view.state === "Absent" ? undefined : view.object.metadata["uid"];
    const { namespace = "", name } = shardLease(lease, shard, this.count);
    if (typeof uid !== "string") return;
    onEvent({ namespace, name, uid }, reason, `${podName} ${verb} shard ${shard} of ${this.count}.`);
  }

  async #untilGivenUp(shard: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#giveUps.set(shard, resolve);
    if (this.#ending.signal.aborted) resolve();
    this.#ending.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.#giveUps.delete(shard);
  }

  /** While this replica has too few shards, it competes for the Lease of the replica that asks for one. */
  async #ask(): Promise<void> {
    const { clock, lease } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      const elector = this.#elector(askingLease(lease, this.count), {
        mayTake: () => this.#wantsShard(),
        onSeen: (view) => void (this.#asker = after(this.#asker, view, clock.monotonicMs())),
      });
      if (!(await elector.whenLeading())) return;
      while (this.#wantsShard() && !signal.aborted) await clock.sleep(balanceIntervalMs, signal);
      if (signal.aborted) return;
      this.#electors.delete(elector);
      await elector.release(async () => undefined);
      this.#asker = undefined;
    }
  }

  async #balance(): Promise<void> {
    const { clock, layout, log, onChange } = this.#options;
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await clock.sleep(balanceIntervalMs, signal);
      if (signal.aborted) return;
      const isAgreed = layout.isAgreed();
      if (isAgreed !== this.#wasAgreed) {
        log.info("number of shards", { shards: this.count, agreed: layout.describe(), isAgreed });
        onChange();
      }
      this.#wasAgreed = isAgreed;
      if (this.#giveUps.size < this.#held.size) continue;
      const shard = shardToGive(this.#holders(), this.#replica, this.#askingReplica());
      if (shard !== undefined) this.#giveUps.get(shard)?.();
    }
  }

  #mayTake(shard: number): boolean {
    const { clock, timings } = this.#options;
    const nowMs = clock.monotonicMs();
    const givenUpMs = this.#givenUpMs.get(shard);
    if (givenUpMs !== undefined && nowMs - givenUpMs < givenUpPeriods * timings.retryPeriodMs) return false;
    const sinceMs = this.#takeableMs.get(shard) ?? nowMs;
    this.#takeableMs.set(shard, sinceMs);
    const delays = { periodMs: timings.retryPeriodMs, asker: this.#askingReplica() };
    if (nowMs - sinceMs < takeDelayMs(this.#holders(), this.#replica, delays)) return false;
    this.#taking.add(shard);
    return true;
  }

  #see(shard: number, view: LeaseView): void {
    const { clock, moved } = this.#options;
    const before = this.#seen.get(shard);
    const seen = after(before, view, clock.monotonicMs());
    this.#seen.set(shard, seen);
    if (view.state !== "Held") return;
    const isOwn = replicaOf(view.holder) === this.#replica;
    this.#taking.delete(shard);
    // The Lease of a dead holder does not change.
    if (seen.sinceMs !== before?.sinceMs) this.#takeableMs.delete(shard);
    if (isOwn) return;
    const text = annotationsOf(view)[movedAnnotation];
    if (text !== undefined) moved.see(shard, text);
  }

  #wantsShard(): boolean {
    return wantsShard(this.#holders(), this.#replica);
  }

  /** Returns the holders of the shards, without replicas that do not renew their Leases. */
  #holders(): ShardHolders {
    const { clock, timings } = this.#options;
    const holders = new Map<number, string>();
    for (const [shard, { view, sinceMs }] of this.#seen) {
      const isLive = clock.monotonicMs() - sinceMs < timings.renewDeadlineMs;
      if (view.state === "Held" && isLive) holders.set(shard, replicaOf(view.holder));
    }
    for (const shard of this.#taking) holders.set(shard, this.#replica);
    return holders;
  }

  #askingReplica(): string | undefined {
    const { clock, timings } = this.#options;
    if (this.#asker?.view.state !== "Held") return undefined;
    const agoMs = clock.monotonicMs() - this.#asker.sinceMs;
    return agoMs < askedPeriodsMax * timings.retryPeriodMs ? replicaOf(this.#asker.view.holder) : undefined;
  }

  #elector(lease: ObjectAddress, hooks: Pick<LeaseElectorOptions, "mayTake" | "onSeen" | "annotate">): LeaseElector {
    const { leaseApi, clock, random, timings, log } = this.#options;
    this.#electorCount += 1;
    const elector = new LeaseElector({
      api: leaseApi(lease),
      clock,
      random,
      // A process that gave up a Lease but could not release it must wait like any other process.
      identity: `${this.#replica}.${this.#electorCount}`,
      lease,
      timings,
      onFailure: (problem) => log.warn("a request on the lease failed", { lease: lease.name, problem }),
      ...hooks,
    });
    this.#electors.add(elector);
    void elector.lost.then((reason) => this.#lost.resolve(`${lease.name}: ${reason}`));
    void elector.run();
    return elector;
  }
}

export function shardLease({ namespace, name }: ObjectAddress, shard: number, shards: number): ObjectAddress {
  return { ...(namespace === undefined ? {} : { namespace }), name: `${name}-shard-${shard}-of-${shards}` };
}

function askingLease({ namespace, name }: ObjectAddress, shards: number): ObjectAddress {
  return { ...(namespace === undefined ? {} : { namespace }), name: `${name}-next-of-${shards}` };
}

function replicaOf(identity: string): string {
  return identity.slice(0, identity.lastIndexOf("."));
}

function after(before: Seen | undefined, view: LeaseView, nowMs: number): Seen {
  const versionOf = (seen: LeaseView | undefined): string | undefined =>
    seen === undefined || seen.state === "Absent" ? undefined : seen.resourceVersion;
  const isSame = before !== undefined && versionOf(before.view) === versionOf(view);
  return { view, sinceMs: isSame ? before.sinceMs : nowMs };
}
