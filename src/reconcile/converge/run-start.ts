// What a reconcile run begins with: its view of the declared state and of the WAF, and the stored inventory.
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
  /** Of the wall clock. */
  readonly startedMs: number;
  /** The same moment of the monotonic clock. */
  readonly beganMs: number;
  readonly view: View;
  /** The inventory as stored; what the view has beyond it is still to be recorded. */
  readonly stored: { readonly inventory: Inventory; readonly revision: string };
  /** False for an instance that is being deleted: nothing that is declared from now on matters. */
  readonly followsSource: boolean;
}
