// Objects outside every reconcile run: those whose instance does not exist, and invalid ones. Their status says why. A
// deleted instance that is invalid loses its finalizer, so that it does not stay in Terminating for ever.
import type { ReconcilePorts } from "../reconcile/ports.ts";
import { reportUnattached } from "../reconcile/status/report-unattached.ts";
import type { UnattachedObject } from "../reconcile/status/report-unattached.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";

export type UnattachedSource = Pick<ClusterSource, "unattached" | "invalid">;
export type UnattachedPorts = Pick<ReconcilePorts, "status" | "lifecycle">;

/** Writes only changed statuses; call it after changes and periodically. Never rejects. */
export async function reconcileUnattached(
  source: UnattachedSource,
  ports: UnattachedPorts,
  nowMs: number,
): Promise<void> {
  const unattached = source.unattached().map(({ meta, reason, problem }) => reported(meta, reason, problem));
  const invalid = source.invalid().map(({ meta, problem }) => reported(meta, "InvalidSpec", problem));
  await reportUnattached(ports.status, [...unattached, ...invalid], nowMs);
  for (const { meta, message } of invalid) {
    if (meta.kind !== "WafInstance" || !meta.deleting) continue;
    if ((await ports.lifecycle.removeFinalizer(meta)) !== undefined) continue;
    const kept = `The entries that wafsync added stay on the WAF, because this object is invalid: ${message}`;
    ports.status.event(meta, { type: "Warning", reason: "EntriesLeftBehind", message: kept });
  }
}

function reported(
  meta: UnattachedObject["meta"],
  reason: UnattachedObject["reason"],
  message: string,
): UnattachedObject {
  return { meta, reason, message };
}
