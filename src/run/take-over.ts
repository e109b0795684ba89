// An instance that continues another one first takes over its record, once: the record is saved under the new name, and then
// removed under the former name, so that a crash in between leaves both and the next run finishes. The former instance is
// inactive in the meantime: see `admitInstance`.
import { wallTimeOf } from "../async/clock.ts";
import type { Gathered } from "../model/gathered.ts";
import type { Inventory } from "../model/inventory.ts";
import { countManaged } from "../model/inventory.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { continuesAnnotation, continuesOf } from "../model/continues.ts";
import { isAboutSameWaf, joinRecords } from "../decide/continued-record.ts";
import type { ReconcilePorts } from "./ports.ts";
import { blocked, resultOfFault, type RunResult } from "./run-result.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { World } from "./world.ts";
import { inThousands } from "../model/sentence.ts";

/** Returns a result if the run ends with it. */
export async function takeOverRecord(world: World): Promise<RunResult | undefined> {
  const { ports, memory } = world;
  const { meta } = world.gathered.instance;
  const continues = continuesOf(meta);
  if (world.release !== undefined) return undefined;
  if (continues.state === "Invalid") return refused(continues.message);
  if (continues.state !== "Named" || memory.continued === nameKey(continues.former)) return undefined;
  const { former } = continues;
  const stored = await ports.inventory.load(former);
  const own = await ports.inventory.load(meta);
  // The run itself reports why its own record can't be used.
  if (own.state !== "Loaded") return undefined;
  if (stored.state === "Unreachable") return blocked("InventoryUnwritable", stored.problem);
  if (stored.state === "Unreadable")
    return refused(`The record of WafInstance ${nameKey(former)} can't be taken over. ${stored.problem}`);
  const left = await recordLeft(world, { former, own: own.inventory, stored: stored.inventory });
  if (left.kind === "Ended") return left.result;
  if (left.kind === "Nothing") {
    if (left.why !== undefined && memory.emitted.isNew("continues", left.why)) {
      ports.status.event(meta, { type: "Warning", reason: "NotContinued", message: left.why });
    }
    // A process that was killed may have taken over the record but not the history.
    const isTaken = own.inventory.continued === nameKey(former) && stored.inventory.domain === undefined;
    if (isTaken) ports.history?.continues(nameOf(meta), former);
    memory.continued = nameKey(former);
    return undefined;
  }
  const joined = joinRecords(own.inventory, left.record, former, meta);
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
  return undefined;
}

function nameOf({ namespace, name }: ObjectName): ObjectName {
  return { namespace, name };
}

type Left =
  | { readonly kind: "Record"; readonly record: Inventory }
  /** `why` is undefined if there is no reason to report it. */
  | { readonly kind: "Nothing"; readonly why: string | undefined }
  | { readonly kind: "Ended"; readonly result: RunResult };

/** The record to take over. */
async function recordLeft(
  { ports, gathered: { instance, key, sameKey }, waf }: World,
  { former, own, stored }: { readonly former: ObjectName; readonly own: Inventory; readonly stored: Inventory },
): Promise<Left> {
  const name = nameKey(former);
  const isContinued = own.continued === name;
  if (stored.domain === undefined) {
    const why = `WafInstance ${name}, which ${continuesAnnotation} names, has no record: check the name. wafsync took over nothing.`;
    return { kind: "Nothing", why: isContinued ? undefined : why };
  }
  const exists = (await ports.source.gather(former)) !== undefined;
  const isPeer = sameKey.some((peer) => nameKey(peer) === name);
  const read = await waf.readOrigins({ signal: ports.abandon });
  if (!read.ok) return { kind: "Ended", result: resultOfFault(read.fault) };
  const isSame =
    key.state === "Present" && isAboutSameWaf(stored, instance, { domain: read.value.domain, key: key.key });
  if (isSame && (!exists || isPeer)) return { kind: "Record", record: stored };
  // The former instance was already taken over, and its name now belongs to another WAF.
  if (isContinued) return { kind: "Nothing", why: undefined };
  const why = isSame
    ? `WafInstance ${name} still exists with a different API key: delete it, or give both instances the same key.`
    : `The record of WafInstance ${name} belongs to a different WAF (${stored.domain}), or to a different API key and base URL: correct the annotation ${continuesAnnotation}, or use the API key with which ${name} was last synced.`;
  return { kind: "Ended", result: refused(why) };
}

function refused(message: string): RunResult {
  return blocked("NotContinued", `${message} wafsync writes nothing until this is fixed.`);
}

// The objects of a renamed or moved instance arrive one after another. A rule that is missing right after the start may still
// arrive, so nothing is removed for a moment. In directory mode, removals already wait for a quiet folder.

/** How long nothing is removed after this process first saw an instance that continues another one. */
export const arrivalMs = 30_000;

/** The ports of a run, with a source that counts as incomplete while the objects of the instance are arriving. */
export function holdDuringArrival(ports: ReconcilePorts, memory: InstanceMemory): ReconcilePorts {
  const { source, clock } = ports;
  if (source.isSettled !== undefined) return ports;
  const holding = (gathered: Gathered): Gathered => {
    const continues = continuesOf(gathered.instance.meta);
    if (continues.state !== "Named") return gathered;
    memory.arrivedAtMs ??= clock.monotonicMs() + arrivalMs;
    if (clock.monotonicMs() >= memory.arrivedAtMs) return gathered;
    const until = new Date(wallTimeOf(clock, memory.arrivedAtMs)).toISOString();
    const reason = `The instance continues WafInstance ${nameKey(continues.former)}: wafsync removes nothing until ${until}, in case some of its rules have not arrived yet.`;
    return { ...gathered, brokenSources: [...gathered.brokenSources, reason] };
  };
  return {
    ...ports,
    source: {
      gather: async (name) => {
        const gathered = await source.gather(name);
        return gathered === undefined ? undefined : holding(gathered);
      },
      confirm: async (name, options) => {
        const confirmed = await source.confirm(name, options);
        if (confirmed.state !== "Read" || confirmed.gathered === undefined) return confirmed;
        return { ...confirmed, gathered: holding(confirmed.gathered) };
      },
      version: (name) => source.version(name),
      ...(source.isUninstalling === undefined
        ? {}
        : { isUninstalling: async () => (await source.isUninstalling?.()) === true }),
      ...(source.removeObject === undefined
        ? {}
        : { removeObject: async (object) => await source.removeObject?.(object) }),
    },
  };
}
