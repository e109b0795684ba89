// The ports of a run in a cluster with several shards: nothing is stored or reported once the shard of the run is lost.
import type { ForwardLogsPorts } from "../reconcile/logs/forward-ports.ts";
import type { ReconcilePorts } from "../reconcile/ports.ts";
import type { HeldShard } from "./held-shard.ts";

const notHeld = "This process must not write: it is stopping or does not hold the Lease of the shard.";

export function portsWithin(ports: ReconcilePorts, held: Pick<HeldShard, "mayWrite" | "mayRecord">): ReconcilePorts {
  const { inventory, lifecycle, status, history } = ports;
  return {
    ...ports,
    inventory: {
      load: async (instance) => await inventory.load(instance),
      save: async (instance, next, revision) =>
        held.mayWrite() ? await inventory.save(instance, next, revision) : { state: "Failed", problem: notHeld },
      remove: async (instance) => (held.mayWrite() ? await inventory.remove(instance) : notHeld),
    },
    lifecycle: {
      ensureFinalizer: async (instance) => (held.mayWrite() ? await lifecycle.ensureFinalizer(instance) : notHeld),
      removeFinalizer: async (instance) => (held.mayWrite() ? await lifecycle.removeFinalizer(instance) : notHeld),
    },
    status: {
      ...status,
      write: async (object, next) => {
        if (held.mayWrite()) await status.write(object, next);
      },
      event: (object, event) => {
        if (held.mayWrite()) status.event(object, event);
      },
    },
    history: history && {
      note: (instance, events) => {
        if (held.mayRecord()) history.note(instance, events);
      },
      continues: (instance, former) => {
        if (held.mayRecord()) history.continues(instance, former);
      },
    },
  };
}

/** The same for a run that forwards logs. */
export function logPortsWithin(
  ports: ForwardLogsPorts,
  held: Pick<HeldShard, "mayWrite" | "mayRecord">,
): ForwardLogsPorts {
  const { status, records } = ports;
  return {
    ...ports,
    records: {
      load: async (instance) => await records.load(instance),
      // Rows that were forwarded before the shard was given up must still be recorded.
      save: async (instance, record, revision) =>
        held.mayRecord() ? await records.save(instance, record, revision) : { state: "Failed", problem: notHeld },
    },
    status: {
      ...status,
      update: async (object, change) => {
        if (held.mayWrite()) await status.update(object, change);
      },
    },
  };
}
