// An instance that continues another one first takes over its record, once: the record is saved under the new name, and then
// removed under the former name, so that a crash in between leaves both and the next run finishes. The former instance is
// inactive in the meantime: see `admitInstance`.
import type { Inventory } from "../../model/inventory.ts";
import { countManaged } from "../../model/inventory.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { type Continues, continuesAnnotation, continuesOf } from "../../model/continues.ts";
import { isAboutSameWaf, joinRecords } from "../../plan/instance/continued-record.ts";
import type { InventoryPort, ReconcilePorts } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { Declared } from "./view.ts";
import { inThousands } from "../../model/sentence.ts";

export type TakeOver =
  /** The run continues with `ports`. */
  { readonly kind: "Done"; readonly ports: ReconcilePorts } | { readonly kind: "Ended"; readonly result: RunResult };

/** @param options.isPreview if true, nothing is saved, and the returned `ports` show the record as it would be */
export async function takeOverRecord(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  declared: Declared,
  { key, isPreview }: { readonly key: ApiKey; readonly isPreview: boolean },
): Promise<TakeOver> {
  const { meta } = declared.gathered.instance;
  const continues = continuesOf(meta);
  const done: TakeOver = { kind: "Done", ports };
  if (continues.state === "Invalid") return refused(continues.message);
  if (!isDue(continues, memory)) return done;
  const { former } = continues;
  const stored = await ports.inventory.load(former);
  const own = await ports.inventory.load(meta);
  // The run itself reports why its own record can't be used.
  if (own.state !== "Loaded") return done;
  if (stored.state === "Unreachable") return blocked("InventoryUnwritable", stored.problem);
  if (stored.state === "Unreadable")
    return refused(`The record of WafInstance ${nameKey(former)} can't be taken over. ${stored.problem}`);
  const left = await recordLeft(ports, declared, { key, former, own: own.inventory, stored: stored.inventory });
  if (left.kind === "Ended") return left;
  if (left.kind === "Nothing") {
    if (left.why !== undefined && memory.emitted.isNew("continues", left.why)) {
      ports.status.event(meta, { type: "Warning", reason: "NotContinued", message: left.why });
    }
    // A process that was killed may have taken over the record but not the history.
    const isTaken = own.inventory.continued === nameKey(former) && stored.inventory.domain === undefined;
    if (isTaken && !isPreview) ports.history?.continues(nameOf(meta), former);
    memory.continued = nameKey(former);
    return done;
  }
  const joined = joinRecords(own.inventory, left.record, former, meta);
  if (isPreview) return { kind: "Done", ports: { ...ports, inventory: showing(ports.inventory, meta, joined) } };
  if (joined !== own.inventory) {
    const saved = await ports.inventory.save(meta, joined, own.revision);
    if (saved.state !== "Saved") {
      return blocked(saved.state === "Conflict" ? "InventoryConflict" : "InventoryUnwritable", saved.problem);
    }
    const count = inThousands(countManaged(left.record));
    const message = `Took over the record of WafInstance ${nameKey(former)} with ${count} managed entries and origins.`;
    ports.status.event(meta, { type: "Normal", reason: "RecordContinued", message });
  }
  const unremoved = await ports.inventory.remove(former);
  if (unremoved !== undefined) return blocked("InventoryUnwritable", unremoved);
  ports.history?.continues(nameOf(meta), former);
  memory.continued = nameKey(former);
  return done;
}

function nameOf({ namespace, name }: ObjectName): ObjectName {
  return { namespace, name };
}

function isDue(continues: Continues, memory: InstanceMemory): continues is Extract<Continues, { state: "Named" }> {
  return continues.state === "Named" && memory.continued !== nameKey(continues.former);
}

type Left =
  | { readonly kind: "Record"; readonly record: Inventory }
  /** `why` is undefined if there is no reason to report it. */
  | { readonly kind: "Nothing"; readonly why: string | undefined }
  | { readonly kind: "Ended"; readonly result: RunResult };

/** The record to take over. */
async function recordLeft(
  ports: ReconcilePorts,
  { gathered: { instance, sameKey } }: Declared,
  found: { readonly key: ApiKey; readonly former: ObjectName; readonly own: Inventory; readonly stored: Inventory },
): Promise<Left> {
  const { key, former, own, stored } = found;
  const name = nameKey(former);
  const isContinued = own.continued === name;
  if (stored.domain === undefined) {
    const why = `WafInstance ${name}, which ${continuesAnnotation} names, has no record: check the name. wafsync took over nothing.`;
    return { kind: "Nothing", why: isContinued ? undefined : why };
  }
  const exists = (await ports.source.gather(former)) !== undefined;
  const isPeer = sameKey.some((peer) => nameKey(peer) === name);
  const read = await ports.openWaf(instance, key).readOrigins({ signal: ports.abandon });
  if (!read.ok) return { kind: "Ended", result: resultOfFault(read.fault) };
  const isSame = isAboutSameWaf(stored, instance, { domain: read.value.domain, key });
  if (isSame && (!exists || isPeer)) return { kind: "Record", record: stored };
  // The former instance was already taken over, and its name now belongs to another WAF.
  if (isContinued) return { kind: "Nothing", why: undefined };
  const why = isSame
    ? `WafInstance ${name} still exists with a different API key: delete it, or give both instances the same key.`
    : `The record of WafInstance ${name} belongs to a different WAF (${stored.domain}), or to a different API key and base URL: correct the annotation ${continuesAnnotation}, or use the API key with which ${name} was last synced.`;
  return refused(why);
}

/** Returns a port that replaces the inventory of this instance. */
function showing(port: InventoryPort, shown: ObjectName, inventory: Inventory): InventoryPort {
  return {
    load: async (instance) =>
      nameKey(instance) === nameKey(shown)
        ? { state: "Loaded", inventory, revision: "previewed" }
        : await port.load(instance),
    save: async (instance, next, revision) => await port.save(instance, next, revision),
    remove: async (instance) => await port.remove(instance),
  };
}

function refused(message: string): { readonly kind: "Ended"; readonly result: RunResult } {
  return blocked("NotContinued", `${message} wafsync writes nothing until this is fixed.`);
}

function blocked(
  blocker: Extract<RunResult, { kind: "Blocked" }>["blocker"],
  message: string,
): { readonly kind: "Ended"; readonly result: RunResult } {
  return { kind: "Ended", result: { kind: "Blocked", blocker, message } };
}
