// The end of an instance: what wafsync added is removed from the WAF, or left there on purpose, and then the instance may go.
//
// It is a pass like any other, with nothing declared: so it is recorded, resumed after a crash, and verified in the same way.
// Nothing keeps an instance in Terminating for good: what can't be removed within a time is left behind, and said so.
import type { ConfirmedGathering, Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { ObjectName } from "../../model/resource.ts";
import { compileDesired } from "../../plan/instance/desired.ts";
import type { Declared } from "./begin-pass.ts";
import { beginPass } from "./begin-pass.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { Pass } from "./run-state.ts";
import type { RunResult } from "../run-result.ts";
import type { ReconcilePorts } from "../ports.ts";

/** How long a deletion waits for a WAF that can't be reached. */
const releaseMsMax = 600_000;
const uninstalling = "the kinds of wafsync are being removed from the API server";

export interface Release {
  readonly end: RunResult;
  readonly known: Pass | Declared;
}

/** Ends with `Gone` when the instance may go, and otherwise as a pass ends. */
export async function releaseInstance(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
  declared: Declared,
  runPass: (pass: Pass) => Promise<RunResult>,
): Promise<Release> {
  memory.releasingSinceMs ??= ports.clock.nowMs();
  const stored = await ports.inventory.load(name);
  const inventory = stored.state === "Loaded" ? stored.inventory : undefined;
  if ((await ports.source.isUninstalling?.()) === true) return await letGo(ports, declared, inventory, uninstalling);
  const leave = leavesEntries(declared.gathered);
  if (leave !== undefined || (inventory !== undefined && countOwned(inventory) === 0)) {
    return await letGo(ports, declared, inventory, leave);
  }
  const nothing = withoutDeclarations(declared, memory, ports.clock.nowMs());
  const begun = await beginPass(name, portsOf(ports, nothing.gathered), memory, nothing);
  const end = "end" in begun ? begun : await runPass(begun);
  if (result.kind === "Interrupted") return { end, known: declared };
  if (result.kind === "Done" && !("end" in begun)) {
    return await letGo(ports, declared, begun.inventory, "they could not be removed");
  }
  if (isHopeless(end) || ports.clock.nowMs() - memory.releasingSinceMs >= releaseMsMax) {
    return await letGo(ports, declared, inventory, reasonOf(end));
  }
  return { end, known: declared };
}

/** Why the entries are to stay, or undefined if they are to be removed. */
function leavesEntries({ instance }: Gathered): string | undefined {
  if (instance.deletionPolicy === "Retain") return "spec.deletionPolicy is Retain";
  return instance.suspend ? "the instance is suspended" : undefined;
}

/** Lets the instance go, and tells what stays on the WAF. */
async function letGo(
  ports: ReconcilePorts,
  declared: Declared,
  inventory: Inventory | undefined,
  why: string | undefined,
): Promise<Release> {
  const { meta } = declared.gathered.instance;
  const left = inventory === undefined ? undefined : countOwned(inventory);
  if (left !== 0) {
    const count = left === undefined ? "An unknown number of" : String(left);
    const message = `${count} entries and origins that wafsync added stay on the WAF: ${why ?? "the inventory can't be read"}.`;
    ports.status.event(meta, { type: "Warning", reason: "EntriesLeftBehind", message });
    ports.observer.orphaned?.(meta, left);
  }
  // Should the kinds come back, and the instance with them, it finds again what is its own.
  const unremoved = why === uninstalling ? undefined : await ports.inventory.remove(meta);
  const problem = unremoved ?? (await ports.lifecycle.removeFinalizer(meta));
  if (problem === undefined) return { end: { kind: "Gone" }, known: declared };
  return { end: { kind: "Blocked", blocker: "InventoryUnwritable", message: problem }, known: declared };
}

/** The same instance with nothing declared, and guards that do not ask: its owner has asked for the deletion. */
function withoutDeclarations({ version, gathered }: Declared, memory: InstanceMemory, nowMs: number): Declared {
  const { instance } = gathered;
  const nothing: Gathered = {
    ...gathered,
    instance: {
      ...instance,
      policies: {
        blocklist: withoutExclusive(instance.policies.blocklist),
        allowlist: withoutExclusive(instance.policies.allowlist),
        origins: instance.policies.origins,
      },
      guards: { ...instance.guards, neverBlock: [], maxRemovals: Number.MAX_SAFE_INTEGER, maxRemovalPercent: 100 },
    },
    key:
      gathered.key.state === "Missing" && memory.key !== undefined
        ? { state: "Present", key: memory.key }
        : gathered.key,
    rules: [],
    origins: [],
    cacheClears: [],
    brokenSources: [],
  };
  return { version, gathered: nothing, desired: compileDesired(nothing, nowMs) };
}

/** What others added is not removed because an instance goes, whatever its policy was. */
function withoutExclusive(policy: Gathered["instance"]["policies"]["blocklist"]) {
  return policy === "Exclusive" ? "Additive" : policy;
}

/** Rules no longer matter, so changes of them are not looked at, and there is nothing to confirm. */
function portsOf(ports: ReconcilePorts, gathered: Gathered): ReconcilePorts {
  const confirmed: ConfirmedGathering = { state: "Read", gathered };
  return {
    ...ports,
    lifecycle: { hold: async () => undefined, release: async (meta) => await ports.lifecycle.removeFinalizer(meta) },
    source: {
      gather: async () => gathered,
      confirm: async () => confirmed,
      version: (name) => ports.source.version(name),
    },
  };
}

/** Without a key, or with the key of another WAF, waiting would change nothing. */
function isHopeless(end: RunResult): boolean {
  if (result.kind !== "Blocked") return false;
  return result.blocker === "MissingApiKey" || result.blocker === "DomainChanged" || result.blocker === "DuplicateKey";
}

function reasonOf(end: RunResult): string {
  switch (result.kind) {
    case "Blocked":
      return result.message;
    case "Failed":
      return result.fault.message;
    case "Done":
    case "Unsettled":
    case "Outdated":
    case "Interrupted":
    case "Gone":
      return "they could not be removed in time";
  }
}

function countOwned(inventory: Inventory): number {
  return inventory.entries.blocklist.size + inventory.entries.allowlist.size + inventory.origins.size;
}
