// Workloads as they are seen, for tests.
import type { SeenWorkload, WorkloadSight } from "../../../src/model/workload.ts";

/** Of Deployment `edge/web`: complete at revision 1 with the content `one`, unless told otherwise. */
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
