// Processes that compete for one Lease and write while they hold it, with faults that a seed determines. Every
// write is recorded with its start and end in true time: writes of different processes must never overlap.
import { LeaseElector } from "../../../src/kube/lease.ts";
import type { LeaseStanding } from "../../../src/kube/lease.ts";
import { seededRandom } from "../builders/seeded-random.ts";
import { SkewedClock, VirtualTime } from "../fakes/virtual-time.ts";
import { FakeLeaseServer, leaseOver } from "../fakes/fake-api-server.ts";
import type { Network } from "../fakes/fake-api-server.ts";

export interface Write {
  readonly identity: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Process {
  readonly identity: string;
  readonly elector: LeaseElector;
  readonly clock: SkewedClock;
  readonly network: Network;
  writing: Promise<void>;
  /** The process was killed: its later actions do not count. */
  ended: boolean;
}

/** The maximum duration of a write by the writer's own clock. */
const writeMsMax = 10_000;

export class ElectionWorld {
  readonly time = new VirtualTime();
  readonly server = new FakeLeaseServer();
  readonly random: () => number;
  readonly writes: Write[] = [];
  readonly standings: string[] = [];
  readonly processes: Process[] = [];
  #started = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  between(from: number, to: number): number {
    return from + this.random() * (to - from);
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)] as T;
  }

  get living(): Process[] {
    return this.processes.filter((process) => !process.ended);
  }

  /** Starts a process that writes whenever it is allowed to. */
  start({ rate = 1, wallMs = 0 }: { readonly rate?: number; readonly wallMs?: number } = {}): Process {
    this.#started += 1;
    const identity = `pod-${this.#started}`;
    const clock = new SkewedClock(this.time, { rate, wallMs });
    const network: Network = { partitioned: false, delayMs: () => 5, losesAnswer: () => false };
    const elector = new LeaseElector({
      api: leaseOver(this.server, { time: this.time, clock, network }),
      clock,
      random: this.random,
      identity,
      lease: { namespace: "wafsync", name: "leader" },
      onStanding: (standing: LeaseStanding) =>
        this.standings.push(`${Math.round(this.time.nowMs)} ${identity} ${standing}`),
    });
    const process: Process = { identity, elector, clock, network, ended: false, writing: Promise.resolve() };
    this.processes.push(process);
    void elector.run();
    void elector.lost.then(() => (process.ended = true));
    void this.#write(process, rate);
    return process;
  }

  /** Like SIGKILL. */
  kill(process: Process): void {
    process.ended = true;
    process.network.partitioned = true;
    process.clock.pause(1e9);
  }

  leaders(): string[] {
    return this.living.filter(({ elector }) => elector.mayWrite()).map(({ identity }) => identity);
  }

  /** The first two overlapping writes of different processes. */
  overlap(): [Write, Write] | undefined {
    let last: Write | undefined;
    for (const write of this.writes) {
      if (last !== undefined && last.identity !== write.identity && write.fromMs < last.untilMs) return [last, write];
      if (last === undefined || write.untilMs > last.untilMs) last = write;
    }
    return undefined;
  }

  async #write(process: Process, rate: number): Promise<void> {
    while (!process.ended) {
      await process.clock.sleep(this.between(100, 3_000));
      if (process.ended || !process.elector.mayWrite()) continue;
      const fromMs = this.time.nowMs;
      const durationMs = this.random() < 0.2 ? writeMsMax / rate : this.between(5, 500);
      this.writes.push({ identity: process.identity, fromMs, untilMs: fromMs + durationMs });
      process.writing = process.clock.sleep(durationMs * rate);
      await process.writing;
    }
  }
}
