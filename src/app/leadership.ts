// Whether this process leads: it holds the Lease, or there is no leader election. Checked before every write.
import { randomBytes } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import { LeaseElector, leaseIdentity } from "../kube/lease.ts";
import type { LeaseApi, LeaseStanding } from "../kube/lease.ts";
import type { ShardLayout } from "./shard-layout.ts";
import { defaultLeaseTimings, type LeaseTimings } from "../kube/lease-decision.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { Logger } from "../telemetry/log.ts";

const agreementPollMs = 500;

export interface Leadership {
  /** Competes for the leadership. Resolves with true as soon as this process leads, or with false if it never will. */
  begin(): Promise<boolean>;
  mayWrite(): boolean;
  /** Like `mayWrite`, but also true until the leadership is released: for recording what was already done. */
  mayRecord(): boolean;
  /** Resolves with the reason if the leadership is lost, and never otherwise. */
  readonly lost: Promise<string>;
  /** Releases the leadership once `workEnded` has resolved. */
  end(workEnded: () => Promise<void>): Promise<void>;
}

/** Without leader election, this process always leads: for a single replica, and for trials. */
export function soleLeadership(): Leadership {
  let isLeading = false;
  let hasBegun = false;
  return {
    begin: async () => {
      isLeading = true;
      hasBegun = true;
      return true;
    },
    mayWrite: () => isLeading,
    mayRecord: () => hasBegun,
    lost: new Promise(() => undefined),
    end: async (workEnded) => {
      isLeading = false;
      await workEnded();
    },
  };
}

export function electedLeadership(options: {
  readonly api: LeaseApi;
  readonly clock: Clock;
  readonly random: () => number;
  readonly podName: string;
  readonly lease: ObjectAddress;
  readonly timings?: LeaseTimings;
  readonly layout: ShardLayout;
  readonly log: Logger;
  readonly onStanding: (standing: LeaseStanding) => void;
}): Leadership {
  const { api, clock, random, podName, lease, timings = defaultLeaseTimings, layout, log, onStanding } = options;
  const identity = leaseIdentity(podName, randomBytes(6).toString("hex"));
  const elector = new LeaseElector({
    api,
    clock,
    random,
    identity,
    lease,
    timings,
    onSeen: (seen, started) => layout.see(seen, started),
    annotate: (seen) => layout.annotate(seen, identity),
    onStanding: (standing, detail) => {
      log.info("leadership changed", { standing, ...(detail === "" ? {} : { detail }) });
      onStanding(standing);
    },
    onFailure: (message) => log.warn("a request on the lease failed", { problem: message }),
  });
  return {
    begin: async () => {
      void elector.run();
      if (!(await elector.whenLeading())) return false;
      if (!layout.isAgreed()) log.info("waiting until the replicas agree on the number of shards");
      while (!layout.isAgreed()) {
        await clock.sleep(agreementPollMs);
        if (elector.standing !== "Leading") return false;
      }
      return true;
    },
    mayWrite: () => elector.mayWrite() && layout.isAgreed(),
    mayRecord: () => elector.mayRecord() && layout.isAgreed(),
    lost: elector.lost,
    end: async (workEnded) => {
      log.info("lease released", { result: await elector.release(workEnded) });
    },
  };
}
