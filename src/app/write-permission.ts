// Whether this process may write to WAFs and delete objects at this moment.
import type { Permission } from "../waf/client.ts";
import type { Leadership } from "./leadership.ts";
import type { Stopping } from "./stopping.ts";

export function writePermission(leadership: Pick<Leadership, "mayWrite">, stopping: Stopping): Permission {
  if (stopping.stop.aborted) return { permitted: false, reason: "wafsync is stopping." };
  if (!leadership.mayWrite()) return { permitted: false, reason: "This process does not hold the Lease." };
  return { permitted: true };
}
