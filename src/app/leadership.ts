// Whether this process leads: it holds the Lease, or there is no leader election. Checked before every write.
import { randomBytes } from "node:crypto";
import { LeaseElector, type LeaseElectorOptions, type LeaseStanding } from "../kube/lease.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Permission } from "../waf/client.ts";
import type { Stopping } from "./stopping.ts";

/** `run` competes for the leadership; `whenLeading` resolves with true as soon as this process leads. */
export type Leadership = Pick<LeaseElector, "run" | "whenLeading" | "mayWrite" | "mayRecord" | "lost" | "release">;

/** Without leader election, this process always leads: for a single replica, and for trials. */
export function soleLeadership(onStanding: (standing: LeaseStanding) => void): Leadership {
  let standing: "Waiting" | "Leading" | "Released" = "Waiting";
  return {
    run: async () => onStanding((standing = "Leading")),
    whenLeading: async () => true,
    mayWrite: () => standing === "Leading",
    mayRecord: () => standing !== "Waiting",
    lost: new Promise(() => undefined),
    release: async (workEnded) => {
      standing = "Released";
      onStanding("Ended");
      await workEnded();
      return "NotHeld";
    },
  };
}

export function electedLeadership({
  podName,
  log,
  onStanding,
  ...options
}: Pick<LeaseElectorOptions, "api" | "clock" | "random" | "lease"> & {
  readonly podName: string;
  readonly log: Logger;
  readonly onStanding: (standing: LeaseStanding) => void;
}): Leadership {
  return new LeaseElector({
    ...options,
    identity: `${podName}_${randomBytes(6).toString("hex")}`,
    onStanding: (standing, detail) => {
      log.info("leadership changed", { standing, ...(detail === "" ? {} : { detail }) });
      onStanding(standing);
    },
    onFailure: (message) => log.warn("a request on the lease failed", { problem: message }),
  });
}

/** Whether this process may write to WAFs and delete objects at this moment. */
export function writePermission(leadership: Pick<Leadership, "mayWrite">, stopping: Stopping): Permission {
  if (stopping.stop.aborted) return { permitted: false, reason: "wafsync is stopping." };
  if (!leadership.mayWrite()) return { permitted: false, reason: "This process does not hold the Lease." };
  return { permitted: true };
}
