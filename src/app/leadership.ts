// Who works: the process that holds the Lease, or this one where there is no election. Asked before every write.
import { randomBytes } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import { LeaseElector, leaseIdentity } from "../kube/lease.ts";
import type { LeaseStanding } from "../kube/lease.ts";
import { leaseApi } from "../kube/lease-api.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { Logger } from "../telemetry/log.ts";

export interface Leadership {
  /** Begins to seek the leadership. Resolves with true when this process may work, and with false if it never will. */
  begin(): Promise<boolean>;
  mayWrite(): boolean;
  /** Whether what was begun may still be written down: as `mayWrite`, and also until the leadership was given back. */
  mayRecord(): boolean;
  isLeading(): boolean;
  /** Resolves with the reason when the leadership is lost; never otherwise. */
  readonly lost: Promise<string>;
  /** Gives the leadership back once `workEnded` has resolved. */
  end(workEnded: () => Promise<void>): Promise<void>;
}

/** Without election this process works from its start to its end: for one replica, and for trials. */
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
    isLeading: () => isLeading,
    lost: new Promise(() => undefined),
    end: async (workEnded) => {
      isLeading = false;
      await workEnded();
    },
  };
}

export function electedLeadership(options: {
  /** Of its own: no other traffic may delay a renewal. */
  readonly api: ApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly podName: string;
  readonly lease: ObjectAddress;
  readonly log: Logger;
  readonly onStanding: (standing: LeaseStanding) => void;
}): Leadership {
  const { api, clock, random, podName, lease, log, onStanding } = options;
  const elector = new LeaseElector({
    api: leaseApi(api, lease),
    clock,
    random,
    identity: leaseIdentity(podName, randomBytes(6).toString("hex")),
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
    isLeading: () => elector.standing === "Leading",
    lost: elector.lost,
    end: async (workEnded) => {
      log.info("lease given back", { result: await elector.release(workEnded) });
    },
  };
}
