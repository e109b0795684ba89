// Whether an instance that the cache shows in deletion really is being deleted. A process that starts with a stale cache may see
// the deletion of a former instance of the same name, which has been created again since: its entries must stay.
import type { Gathered } from "../../model/gathered.ts";
import type { ReconcilePorts } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { completeRelease, isReleaseOver } from "./release.ts";

export type Deletion =
  /** `gathered` is from the fresh read: a stale cache may lack that the entries are to stay. */
  | { readonly kind: "Confirmed"; readonly gathered: Gathered }
  | { readonly kind: "Ended"; readonly result: RunResult }
  /** The instance as it is now. */
  | { readonly kind: "Recreated"; readonly gathered: Gathered };

export async function confirmDeletion(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  cached: Gathered,
): Promise<Deletion> {
  const { meta } = cached.instance;
  const { clock, source, stopping } = ports;
  memory.releasingSinceMs ??= clock.monotonicMs();
  // Nothing is removed then, and kinds that are being removed can't be read.
  if ((await source.isUninstalling?.()) === true) return { kind: "Confirmed", gathered: cached };
  const confirmed = await source.confirm(meta, { signal: stopping });
  if (confirmed.state === "Failed") {
    const message = `Nothing is removed for an instance in deletion before it was read where it lives. ${confirmed.problem}`;
    if (!isReleaseOver(memory, clock.monotonicMs()))
      return { kind: "Ended", result: { kind: "Blocked", blocker: "Unconfirmed", message } };
    // Nothing stays in Terminating for good.
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
