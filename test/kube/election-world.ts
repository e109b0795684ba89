// Processes that compete for one Lease and write while they hold it, with faults that a seed determines. Every
// write is recorded with its start and end in true time: writes of different processes must never overlap.
import { withDeadline } from "../../src/async/clock.ts";
import type { ApiResult, ApiRequest, ApiServer } from "../../src/kube/api-server.ts";
import { LeaseElector, type LeaseStanding } from "../../src/kube/lease.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { SkewedClock, VirtualTime } from "../support/fakes/virtual-time.ts";
import { done, failed, fakeApi, silence } from "./fake-api-server.ts";

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

interface StoredLease {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** One Lease with the API server's rules: creating an existing Lease or replacing an outdated version fails. */
class FakeLeaseServer {
  stored: StoredLease | undefined;
  writes = 0;
  #version = 100;

  answer({ method, body }: ApiRequest): ApiResult<unknown> {
    const { stored } = this;
    if (method === "POST") return stored === undefined ? this.#store(body as StoredLease) : failed("AlreadyExists");
    if (stored === undefined) return failed("NotFound");
    if (method === "GET") return done(stored);
    const wanted = body as StoredLease;
    const isCurrent = wanted.metadata["resourceVersion"] === stored.metadata["resourceVersion"];
    return isCurrent ? this.#store(wanted) : failed("Conflict");
  }

  #store(body: StoredLease): ApiResult<unknown> {
    this.#version += 1;
    this.writes += 1;
    const metadata = { ...body.metadata, uid: "l", resourceVersion: String(this.#version) };
    this.stored = { ...body, metadata };
    return done(this.stored);
  }
}

/** The possible faults between one process and the server. */
interface Network {
  partitioned: boolean;
  /** Returns a random latency for one direction, in milliseconds. */
  delayMs: () => number;
  losesAnswer: () => boolean;
}

/** As in `createApiServer`. */
const requestTimeoutMs = 30_000;

/** The server from the view of one process. Aborting a request does not undo it. */
function leaseOver(
  server: FakeLeaseServer,
  { time, clock, network }: { readonly time: VirtualTime; readonly clock: SkewedClock; readonly network: Network },
): ApiServer {
  return fakeApi(async (request) => {
    const { timeoutMs = requestTimeoutMs, signal: stopped } = request;
    const answered = await withDeadline({ clock, timeoutMs, signal: stopped }, async (signal) => {
      await time.sleep(network.delayMs());
      const result = network.partitioned ? undefined : server.answer(request);
      if (result === undefined || network.partitioned || network.losesAnswer()) return await silence(signal);
      await time.sleep(network.delayMs());
      await clock.whenRunning();
      return result;
    });
    return answered.inTime ? answered.value : failed("TimedOut");
  });
}
