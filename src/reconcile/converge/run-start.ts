// What a reconcile run starts with: its view of the declared state and of the WAF, and the stored inventory.
import type { Inventory } from "../../model/inventory.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { ReconcilePorts, WafPort } from "../ports.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { View } from "./view.ts";

export interface RunStart {
  readonly name: ObjectName;
  readonly ports: ReconcilePorts;
  readonly memory: InstanceMemory;
  readonly waf: WafPort;
  /** By the wall clock. */
  readonly startedMs: number;
  /** The same moment by the monotonic clock. */
  readonly beganMs: number;
  readonly view: View;
  /** The stored inventory. Differences in the view's inventory have yet to be recorded. */
  readonly stored: { readonly inventory: Inventory; readonly revision: string };
  /** False for an instance that is being deleted, because further declarations no longer matter. */
  readonly followsSource: boolean;
}
