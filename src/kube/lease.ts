// Leader election with a Lease, and the gate that every protected write checks first. This is the thin loop;
// lease-decision.ts explains why two holders never write at the same time. Losing the Lease is final: nothing more is written,
// and the process ends. Needs a separate API client, so that no other traffic can delay a renewal.
import { type Clock, withDeadline } from "../async/clock.ts";
import type { ApiResult, ApiServer } from "./api-server.ts";
import type { KubeObject } from "./kube-object.ts";
import {
  afterLeaseFailure,
  afterLeaseRead,
  afterLeaseWrite,
  type ElectorState,
  heldLease,
  initialElectorState,
  type Instant,
  isHoldExpired,
  leasePauseMs,
  leaseRequestTimeoutMs,
  type LeaseView,
  mayWriteUnder,
  nextLeaseAct,
  readLease,
  releasedLease,
} from "./lease-decision.ts";
import type { ObjectAddress, ResourceType } from "./resource-path.ts";
import { createObject, getObject, replaceObject } from "./verbs.ts";

/**
 * `Waiting`: it waits for the Lease; `Settling`: it holds the Lease, but writes may not start yet; `Leading`; `Ended`: `release` has
 * ended all writes; `Lost`.
 */
export type LeaseStanding = "Waiting" | "Settling" | "Leading" | "Ended" | "Lost";

/** The result of a release. After any other result than `Released`, the next holder waits until the Lease expires. */
export type LeaseRelease = "Released" | "NotHeld" | "WorkStillRunning" | "Failed";

export interface LeaseElectorOptions {
  /** The client should serve no other requests. */
  readonly api: ApiServer;
  readonly clock: Clock;
  /** At least 0 and less than 1. */
  readonly random: () => number;
  /** Unique to this process: a restarted container must not be mistaken for its predecessor. */
  readonly identity: string;
  /** Its namespace is required. */
  readonly lease: ObjectAddress;
  /** `onStanding` is called once for each new standing, `onFailure` for failed requests: for the log and metrics. */
  readonly onStanding?: (standing: LeaseStanding, detail: string) => void;
  readonly onFailure?: (message: string) => void;
}

const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases", namespaced: true };
/** How long a release waits for writes in flight. */
const releaseWaitMs = 10_000;

export class LeaseElector {
  readonly #options: LeaseElectorOptions;
  readonly #stop = new AbortController();
  readonly #lost = Promise.withResolvers<string>();
  readonly #leading = Promise.withResolvers<boolean>();
  #state: ElectorState = initialElectorState;
  #standing: LeaseStanding = "Waiting";
  #isReleased = false;
  #running: Promise<void> | undefined;

  constructor(options: LeaseElectorOptions) {
    this.#options = options;
  }

  /** Resolves with the reason once the Lease is lost, and never otherwise. */
  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  /** Resolves with true when writes may start, and with false if this process ends without ever leading. */
  whenLeading(): Promise<boolean> {
    return this.#leading.promise;
  }

  /** Check this immediately before each write. A write that starts now may take up to 10 s. */
  mayWrite(): boolean {
    return !this.#isReleased && this.mayRecord();
  }

  /** Like `mayWrite`, but also true while the Lease is being released: for records of completed writes. */
  mayRecord(): boolean {
    return mayWriteUnder(this.#state, this.#now());
  }

  /** Acquires and renews the Lease until it is lost or released. Call it once. */
  run(): Promise<void> {
    this.#running ??= this.#loop();
    return this.#running;
  }

  /**
   * Ends the leadership properly: no further write starts, the writes in flight end, and only then is the Lease released. It
   * is renewed meanwhile.
   *
   * @param workEnded Resolves once no protected write is in flight; it may abort them.
   */
  async release(workEnded: () => Promise<void>): Promise<LeaseRelease> {
    this.#isReleased = true;
    this.#announce();
    const limits = { clock: this.#options.clock, timeoutMs: releaseWaitMs };
    const work = await withDeadline(limits, () => workEnded());
    this.#stop.abort();
    await this.#running;
    if (this.#state.hold === undefined || this.#state.lost !== undefined) return "NotHeld";
    if (!work.inTime) return "WorkStillRunning";
    return (await this.#giveBack()) ? "Released" : "Failed";
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted && this.#state.lost === undefined) {
      const goOn = await this.#step();
      this.#announce();
      if (goOn || this.#state.lost !== undefined) continue;
      const { clock, random } = this.#options;
      await clock.sleep(leasePauseMs(this.#state, this.#now(), random), signal);
      // A candidate reads the Lease again; a holder knows its own record until a request fails.
      if (this.#state.hold === undefined) this.#state = { ...this.#state, seen: undefined };
    }
  }

  /** Performs one step; true if the next one follows immediately. */
  async #step(): Promise<boolean> {
    const { identity, api, lease, onFailure } = this.#options;
    const started = this.#now();
    const act = nextLeaseAct(this.#state, identity, started);
    if (act.kind === "Wait") return false;
    if (act.kind === "Lose") {
      this.#state = { ...this.#state, lost: act.reason };
      return true;
    }
    if (act.kind === "Read") {
      const seen = await this.#request((options) => getObject(api, leases, lease, options), started);
      if (seen !== undefined) this.#state = afterLeaseRead(this.#state, seen, identity, this.#now());
      return seen !== undefined;
    }
    const body = heldLease(act.over, lease, { identity, nowMs: started.wallMs });
    const seen = await this.#request(
      (options) =>
        act.over === "Absent"
          ? createObject(api, leases, lease.namespace, body, options)
          : replaceObject(api, leases, lease, body, options),
      started,
    );
    if (seen === "Absent") {
      onFailure?.("the Lease or its namespace does not exist");
      this.#state = { ...this.#state, seen };
    } else if (seen !== undefined)
      this.#state = afterLeaseWrite(this.#state, seen, { ...act, started, now: this.#now() });
    return false;
  }

  /** The result of the request; undefined if it failed and the Lease has to be read again. */
  async #request(
    send: (options: { readonly timeoutMs: number }) => Promise<ApiResult<KubeObject>>,
    started: Instant,
  ): Promise<LeaseView | undefined> {
    const result = await send({ timeoutMs: leaseRequestTimeoutMs(this.#state, started) });
    // The process may have been suspended past its deadline, although the response had arrived.
    if (isHoldExpired(this.#state, this.#now())) {
      this.#state = { ...this.#state, lost: "the response to its renewal was too late" };
      return undefined;
    }
    if (result.ok) return readLease(result.value);
    if (result.fault.code === "NotFound") return "Absent";
    this.#options.onFailure?.(result.fault.message);
    this.#state = afterLeaseFailure(this.#state);
    return undefined;
  }

  /** A renewal without a response may have changed the resourceVersion: then the Lease is read again. */
  async #giveBack(): Promise<boolean> {
    const { api, identity, clock, lease } = this.#options;
    const { seen } = this.#state;
    const now = this.#now();
    const read = seen ?? (await this.#request((options) => getObject(api, leases, lease, options), now));
    this.#state = { ...this.#state, hold: undefined };
    if (read === undefined || read === "Absent" || read.holder !== identity) return false;
    const timeoutMs = leaseRequestTimeoutMs(this.#state, now);
    return (await replaceObject(api, leases, lease, releasedLease(read, clock.nowMs()), { timeoutMs })).ok;
  }

  #announce(): void {
    const { lost } = this.#state;
    const standing = this.#currentStanding();
    if (standing === this.#standing) return;
    this.#standing = standing;
    if (standing === "Leading") this.#leading.resolve(true);
    if (standing === "Lost" || standing === "Ended") this.#leading.resolve(false);
    if (lost !== undefined) this.#lost.resolve(lost);
    this.#options.onStanding?.(standing, lost ?? "");
  }

  #currentStanding(): LeaseStanding {
    if (this.#state.lost !== undefined) return "Lost";
    if (this.#isReleased) return "Ended";
    if (this.#state.hold === undefined) return "Waiting";
    return this.#standing === "Leading" || this.mayWrite() ? "Leading" : "Settling";
  }

  #now(): Instant {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
  }
}
