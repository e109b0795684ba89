// Whether an instance is really being deleted, as the cache shows. A process that starts with a stale cache may see the deletion
// of a former instance with the same name that has since been recreated: its entries must stay.
import type { Gathered } from "../../model/gathered.ts";
import type { ReconcilePorts } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { completeRelease, isReleaseOver } from "./release.ts";

export type Deletion =
  /** `gathered` is from the fresh read, because a stale cache may lack the policy that the entries stay. */
  | { readonly kind: "Confirmed"; readonly gathered: Gathered }
  | { readonly kind: "Ended"; readonly result: RunResult }
  /** `gathered` contains the new instance. */
  | { readonly kind: "Recreated"; readonly gathered: Gathered };

export async function confirmDeletion(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  cached: Gathered,
): Promise<Deletion> {
  const { meta } = cached.instance;
  const { clock, source, stopping } = ports;
  memory.releasingSinceMs ??= clock.monotonicMs();
  // An uninstallation removes no entries, and objects can't be read while their CRDs are being removed.
  if ((await source.isUninstalling?.()) === true) return { kind: "Confirmed", gathered: cached };
  const confirmed = await source.confirm(meta, { signal: stopping });
  if (confirmed.state === "Failed") {
    const message = `wafsync removes nothing until it has confirmed the deletion of the instance with a fresh read. ${confirmed.problem}`;
    if (!isReleaseOver(memory, clock.monotonicMs()))
      return { kind: "Ended", result: { kind: "Blocked", blocker: "Unconfirmed", message } };
    // No instance may stay in Terminating forever.
    const left = { why: message, keepsRecord: true, isWanted: false };
    return { kind: "Ended", result: await completeRelease(ports, meta, undefined, left) };
  }
  const { gathered } = confirmed;
  if (gathered === undefined) return { kind: "Ended", result: { kind: "Gone" } };
  const isSame = gathered.instance.meta.uid === meta.uid;
  if (isSame && gathered.instance.meta.deleting) return { kind: "Confirmed", gathered };
  memory.releasingSinceMs = undefined;
  return { kind: "Recreated", gathered };
}
