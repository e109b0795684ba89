// An instance that continues another one first takes over its record, once: the record is saved under the new name, and then
// removed under the former name, so that a crash in between leaves both and the next run finishes. The former instance is
// inactive in the meantime: see `admitInstance`.
import { wallTimeOf } from "../async/clock.ts";
import type { Gathered } from "../model/gathered.ts";
import { countManaged, type Inventory } from "../model/inventory.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { continuesAnnotation, continuesOf } from "../model/continues.ts";
import { isAboutSameWaf, joinRecords } from "../decide/continued-record.ts";
import type { ReconcilePorts } from "./ports.ts";
import { blocked, resultOfFault, type RunResult } from "./facts.ts";
import type { InstanceMemory } from "./report.ts";
import { emitChange } from "./status/events.ts";
import type { World } from "./world.ts";
import { formatTime, inThousands } from "../model/texts.ts";

/** Returns a result if the run ends with it. */
export async function takeOverRecord(world: World): Promise<RunResult | undefined> {
  const { ports, memory } = world;
  const { meta } = world.gathered.instance;
  const continues = continuesOf(meta);
  if (world.release !== undefined) return undefined;
  if (continues.state === "Invalid") return refused(continues.message);
  if (continues.state !== "Named" || memory.continued === nameKey(continues.former)) return undefined;
  const { former } = continues;
  const name = nameKey(former);
  const stored = await ports.inventory.load(former);
  const own = await ports.inventory.load(meta);
  // The run itself reports why its own record can't be used.
  if (own.state !== "Loaded") return undefined;
  if (stored.state === "Unreachable") return blocked("InventoryUnwritable", stored.problem);
  if (stored.state === "Unreadable") {
    return refused(`The record of WafInstance ${name} can't be taken over. ${stored.problem}`);
  }
  const isContinued = own.inventory.continued === name;
  if (stored.inventory.domain !== undefined) {
    const objection = await objectionTo(world, former, stored.inventory);
    if (typeof objection === "object") return objection;
    // The former instance was already taken over, and its name now belongs to another WAF.
    if (objection !== undefined && !isContinued) return refused(objection);
    const ended = objection === undefined ? await moveRecord(world, former, stored.inventory, own) : undefined;
    if (ended !== undefined) return ended;
  } else if (isContinued) {
    // A process that was killed may have taken over the record but not the history.
    ports.history?.continues(meta, former);
  } else {
    const message = `WafInstance ${name}, which ${continuesAnnotation} names, has no record: check the name. wafsync took over nothing.`;
    emitChange(world, meta, "continues", { reason: "NotContinued", message });
  }
  memory.continued = name;
  return undefined;
}

/** Why the record can't be taken over: a sentence, or the result of the run if the WAF can't be read. */
async function objectionTo(
  { ports, gathered: { instance, key, sameKey }, waf }: World,
  former: ObjectName,
  stored: Inventory,
): Promise<string | RunResult | undefined> {
  const name = nameKey(former);
  const exists = (await ports.source.gather(former)) !== undefined;
  const read = await waf.readOrigins({ signal: ports.abandon });
  if (!read.ok) return resultOfFault(read.fault);
  const { domain } = read.value;
  if (key.state !== "Present" || !isAboutSameWaf(stored, instance, { domain, key: key.key })) {
    return `The record of WafInstance ${name} belongs to a different WAF (${stored.domain}), or to a different API key and base URL: correct the annotation ${continuesAnnotation}, or use the API key with which ${name} was last synced.`;
  }
  if (!exists || sameKey.some((peer) => nameKey(peer) === name)) return undefined;
  return `WafInstance ${name} still exists with a different API key: delete it, or give both instances the same key.`;
}

async function moveRecord(
  { ports, gathered }: World,
  former: ObjectName,
  stored: Inventory,
  own: { readonly inventory: Inventory; readonly revision: string },
): Promise<RunResult | undefined> {
  const { meta } = gathered.instance;
  const saved = await ports.inventory.save(meta, joinRecords(own.inventory, stored, former, meta), own.revision);
  if (saved.state !== "Saved") return blocked("InventoryUnwritable", saved.problem);
  const count = inThousands(countManaged(stored));
  const message = `Took over the record of WafInstance ${nameKey(former)} with ${count} managed entries and origins.`;
  ports.status.event(meta, { type: "Normal", reason: "RecordContinued", message });
  const unremoved = await ports.inventory.remove(former);
  if (unremoved !== undefined) return blocked("InventoryUnwritable", unremoved);
  ports.history?.continues(meta, former);
  return undefined;
}

function refused(message: string): RunResult {
  return blocked("NotContinued", `${message} wafsync writes nothing until this is fixed.`);
}

/** How long nothing is removed after this process first saw an instance that continues another one. */
export const arrivalMs = 30_000;

/**
 * The objects of a renamed or moved instance arrive one after another. A rule that is missing right after the start may still arrive,
 * so nothing is removed for a moment. In directory mode, removals already wait for a quiet folder.
 */
export function whileArriving(
  gathered: Gathered,
  { source, clock }: Pick<ReconcilePorts, "source" | "clock">,
  memory: InstanceMemory,
): Gathered {
  const continues = continuesOf(gathered.instance.meta);
  if (source.isSettled !== undefined || continues.state !== "Named") return gathered;
  memory.arrivedAtMs ??= clock.monotonicMs() + arrivalMs;
  if (clock.monotonicMs() >= memory.arrivedAtMs) return gathered;
  const until = formatTime(wallTimeOf(clock, memory.arrivedAtMs));
  const reason = `The instance continues WafInstance ${nameKey(continues.former)}: wafsync removes nothing until ${until}, in case some of its rules have not arrived yet.`;
  return { ...gathered, brokenSources: [...gathered.brokenSources, reason] };
}
