// Whether this process leads: it holds the Lease, or there is no leader election. Checked before every write.
import { randomBytes } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import { LeaseElector, leaseIdentity, type LeaseStanding } from "../kube/lease.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Permission } from "../waf/client.ts";
import type { Stopping } from "./stopping.ts";

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
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly podName: string;
  readonly lease: ObjectAddress;
  readonly log: Logger;
  readonly onStanding: (standing: LeaseStanding) => void;
}): Leadership {
  const { api, clock, random, podName, lease, log, onStanding } = options;
  const identity = leaseIdentity(podName, randomBytes(6).toString("hex"));
  const elector = new LeaseElector({
    api,
    clock,
    random,
    identity,
    lease,
    onStanding: (standing, detail) => {
      log.info("leadership changed", { standing, ...(detail === "" ? {} : { detail }) });
      onStanding(standing);
    },
    onFailure: (message) => log.warn("a request on the lease failed", { problem: message }),
  });
  return {
    begin: async () => {
      void elector.run();
      return await elector.whenLeading();
    },
    mayWrite: () => elector.mayWrite(),
    mayRecord: () => elector.mayRecord(),
    lost: elector.lost,
    end: async (workEnded) => {
      log.info("lease released", { result: await elector.release(workEnded) });
    },
  };
}

/** Whether this process may write to WAFs and delete objects at this moment. */
export function writePermission(leadership: Pick<Leadership, "mayWrite">, stopping: Stopping): Permission {
  if (stopping.stop.aborted) return { permitted: false, reason: "wafsync is stopping." };
  if (!leadership.mayWrite()) return { permitted: false, reason: "This process does not hold the Lease." };
  return { permitted: true };
}
