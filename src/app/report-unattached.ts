// What no pass works on: objects whose instance is missing, and objects that can't be understood. They are told why, and
// an instance that is deleted without being understood is let go, since nothing may stay in Terminating for good.
import type { ReconcilePorts } from "../reconcile/ports.ts";
import { reportUnattached } from "../reconcile/status/report-unattached.ts";
import type { UnattachedObject } from "../reconcile/status/report-unattached.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";

export type LeftOutPorts = Pick<ReconcilePorts, "status" | "lifecycle">;

/** Writes where something has changed, and nothing else: to be called after changes, and now and then. Never rejects. */
export async function tendLeftOut(
  source: Pick<ClusterSource, "unattached" | "invalid">,
  ports: LeftOutPorts,
  nowMs: number,
): Promise<void> {
  const unattached = source.unattached().map(({ meta, problem }) => leftOut(meta, "InstanceNotFound", problem));
  const invalid = source.invalid().map(({ meta, problem }) => leftOut(meta, "InvalidSpec", problem));
  await reportUnattached(ports.status, [...unattached, ...invalid], nowMs);
  for (const { meta, message } of invalid) {
    if (meta.kind !== "WafInstance" || !meta.deleting) continue;
    if ((await ports.lifecycle.removeFinalizer(meta)) !== undefined) continue;
    const left = `What wafsync added stays on the WAF, since this object can't be understood: ${message}`;
    ports.status.event(meta, { type: "Warning", reason: "EntriesLeftBehind", message: left });
  }
}

function leftOut(
  meta: UnattachedObject["meta"],
  reason: UnattachedObject["reason"],
  message: string,
): UnattachedObject {
  return { meta, reason, message };
}
