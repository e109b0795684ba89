// Observed workloads, for tests.
import type { SeenWorkload, WorkloadSight } from "../../../src/model/workload.ts";

/** The Deployment `edge/web`, by default complete at revision 1 with the content `one`. */
export function aSight(seen: Partial<SeenWorkload> = {}, name = "web"): WorkloadSight {
  const { isRolledOut = true } = seen;
  return {
    state: "Seen",
    workload: { kind: "Deployment", namespace: "edge", name },
    seen: {
      uid: "u-1",
      generation: 1,
      revision: "1",
      content: "one",
      isPaused: false,
      wasUnderWay: !isRolledOut,
      progress: { state: isRolledOut ? "Complete" : "Progressing", message: "" },
      ...seen,
      isRolledOut,
    },
  };
}
