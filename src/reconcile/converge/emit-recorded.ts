// Emits events and history for facts that take effect with a record of the inventory: an approval, and adoptions.
import type { Plan } from "../../plan/instance/plan.ts";
import type { ReconcilePorts } from "../ports.ts";
import { emitAdoptions } from "../status/emit-entry-changes.ts";
import { emitApproval } from "../status/emit-events.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { noteRecorded } from "./note-history.ts";
import type { View } from "./view.ts";

export function emitRecorded(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  { gathered, desired }: Pick<View, "gathered" | "desired">,
  { adoptions, inventory }: Plan,
  isApproved: boolean,
): void {
  const { meta } = gathered.instance;
  if (isApproved) emitApproval(ports.status, memory.emitted, meta, inventory.approval);
  emitAdoptions(ports.status, { gathered, desired }, adoptions);
  noteRecorded(ports, meta, adoptions, isApproved ? inventory : undefined);
}
