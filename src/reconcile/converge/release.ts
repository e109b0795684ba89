// Releases a deleted instance: removes its managed entries from the WAF, or intentionally leaves them there, and then removes the
// finalizer.
//
// The release is a normal run with nothing declared, so it is recorded, resumed after a crash, and verified in the same way. No
// instance stays in Terminating forever: entries that can't be removed in time stay on the WAF, and an event reports this.
import { continuedBy, continuesAnnotation } from "../../model/continues.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import { countManaged } from "../../model/inventory.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { asSentence, inThousands, listed } from "../../model/sentence.ts";
import { nothingDesired } from "../../plan/instance/desired.ts";
import type { ReconcilePorts } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { Run } from "./run-state.ts";
import type { Declared } from "./view.ts";
import { attemptIn } from "./view.ts";

/** How long a deletion waits for an unreachable WAF after its last progress. */
const releaseMsMax = 600_000;

const domainsShownMax = 3;

/** When (monotonic) the deletion stops waiting; undefined if the instance is not being deleted. */
export function releaseEndsMs({ releasingSinceMs }: InstanceMemory): number | undefined {
  return releasingSinceMs === undefined ? undefined : releasingSinceMs + releaseMsMax;
}

/** What happens to the managed entries of a deleted instance. `stored` is undefined if the record can't be read. */
export type Release =
  | {
      readonly kind: "Remove";
      readonly stored: Inventory | undefined;
      readonly nothing: Declared;
      /** The entries on the WAFs of other domains stay, so their record stays, too. */
      readonly keepsRecord: boolean;
    }
  | {
      readonly kind: "Leave";
      readonly stored: Inventory | undefined;
      readonly why: string;
      readonly keepsRecord: boolean;
      /** Whether the owner chose to retain the entries. */
      readonly isWanted: boolean;
    }
  /** Another instance will take over the record. */
  | { readonly kind: "Wait"; readonly result: RunResult };

/** Decides whether the managed entries are removed or stay. */
export async function decideRelease(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  { version, gathered }: Declared,
): Promise<Release> {
  memory.releasingSinceMs ??= ports.clock.monotonicMs();
  const { instance } = gathered;
  const loaded = await ports.inventory.load(instance.meta);
  const stored = loaded.state === "Loaded" ? loaded.inventory : undefined;
  const keepsOthers = stored !== undefined && stored.otherDomains.size > 0;
  const leave = (why: string, { keepsRecord = keepsOthers, isWanted = false } = {}): Release => {
    return { kind: "Leave", stored, why, keepsRecord, isWanted };
  };
  // If the CRDs and the instance are restored later, the instance finds its record again.
  const isUninstalling = (await ports.source.isUninstalling?.()) === true;
  if (isUninstalling) return leave("the CRDs of wafsync are being removed from the API server", { keepsRecord: true });
  const kept = { keepsRecord: true, isWanted: true };
  const successor = continuedBy(instance.meta, gathered.sameKey);
  if (successor !== undefined)
    return waitFor(successor, ports.clock.monotonicMs() - memory.releasingSinceMs, leave, stored);
  if (instance.deletionPolicy === "Retain")
    return leave(`spec.deletionPolicy is Retain. ${retained(instance.meta)}`, kept);
  if (instance.suspend) return leave("the instance is suspended");
  if (stored !== undefined && countManaged(stored) === 0) return leave("there are none");
  const detached = withoutAttached(gathered, memory);
  const nothing = { version, gathered: detached, desired: nothingDesired(instance) };
  return { kind: "Remove", stored, nothing, keepsRecord: keepsOthers };
}

/** Removes nothing for an instance that another one continues, but waits until its record is taken over. */
function waitFor(
  successor: ResourceMeta,
  releasingMs: number,
  leave: (why: string, options: { readonly keepsRecord: boolean; readonly isWanted: boolean }) => Release,
  stored: Inventory | undefined,
): Release {
  const name = nameKey(successor);
  const isTaken = stored !== undefined && countManaged(stored) + stored.otherDomains.size === 0;
  if (isTaken || releasingMs >= releaseMsMax) {
    return leave(`WafInstance ${name} continues with them`, { keepsRecord: !isTaken, isWanted: true });
  }
  const message = `WafInstance ${name} continues this one, but has not taken over its record yet.`;
  return { kind: "Wait", result: { kind: "Blocked", blocker: "Continued", message } };
}

function retained({ namespace, name }: ResourceMeta): string {
  return `Their record is kept: a new WafInstance ${namespace}/${name} continues it, or one with a different name and the annotation ${continuesAnnotation}: ${namespace}/${name}`;
}

export function isReleaseOver(memory: InstanceMemory, monotonicMs: number): boolean {
  return monotonicMs >= (releaseEndsMs(memory) ?? monotonicMs);
}

/** Restarts the waiting time if the run left fewer removals than any run before. Another writer can't prolong the deletion. */
export function noteReleased(memory: InstanceMemory, { ledger, left }: Run, monotonicMs: number): void {
  const least = memory.removalsLeft ?? left + ledger.done.removed + ledger.done.originsRemoved;
  memory.removalsLeft = Math.min(left, least);
  if (left < least) memory.releasingSinceMs = monotonicMs;
}

/** After the waiting time, returns why the last attempt failed. A further attempt could wait for as long as the API asks. */
export function lastFailure(memory: InstanceMemory, { gathered }: Declared, monotonicMs: number): string | undefined {
  const { backOff } = memory;
  if (backOff?.result.kind !== "Failed" || backOff.attempted !== attemptIn(gathered)) return undefined;
  return isReleaseOver(memory, monotonicMs) ? reasonOf(backOff.result) : undefined;
}

/** After a run that tried to remove the entries, returns why the remaining ones stay, or undefined to retry. */
export function givesUp(result: RunResult, isOver: boolean): string | undefined {
  if (result.kind === "Done") return "they could not be removed";
  if (result.kind === "Interrupted") return undefined;
  return isHopeless(result) || isOver ? reasonOf(result) : undefined;
}

/** Removes the finalizer, and the record unless it is kept, and reports what stays on the WAFs. `inventory` is undefined if it can't be read. */
export async function completeRelease(
  ports: ReconcilePorts,
  instance: ResourceMeta,
  inventory: Inventory | undefined,
  { why, keepsRecord, isWanted }: { readonly why: string; readonly keepsRecord: boolean; readonly isWanted: boolean },
): Promise<RunResult> {
  const left = inventory === undefined ? undefined : countManaged(inventory);
  if (left !== 0) {
    const count = left === undefined ? "An unknown number of" : inThousands(left);
    const message = `${count} managed entries and origins stay on the WAF: ${asSentence(why)}`;
    const [type, reason] = isWanted
      ? (["Normal", "EntriesRetained"] as const)
      : (["Warning", "EntriesLeftBehind"] as const);
    ports.status.event(instance, { type, reason, message });
    if (!isWanted) ports.observer.orphaned?.(instance, left);
  }
  const others = [...(inventory?.otherDomains.keys() ?? [])];
  if (keepsRecord && others.length > 0) {
    const message = `The entries and origins that wafsync added for ${listed(others, domainsShownMax)} stay there. ${retained(instance)}.`;
    ports.status.event(instance, { type: "Normal", reason: "EntriesRetained", message });
  }
  const unremoved = keepsRecord ? undefined : await ports.inventory.remove(instance);
  const problem = unremoved ?? (await ports.lifecycle.removeFinalizer(instance));
  if (problem === undefined) return { kind: "Gone" };
  return { kind: "Blocked", blocker: "InventoryUnwritable", message: problem };
}

/** The same instance without attached objects. If its Secret no longer exists, the last key that was read for it is used. */
function withoutAttached(gathered: Gathered, { key: known }: InstanceMemory): Gathered {
  const { baseUrl, meta } = gathered.instance;
  const isForThis = known?.baseUrl === baseUrl && known.uid === meta.uid;
  const key =
    gathered.key.state === "Missing" && isForThis ? ({ state: "Present", key: known.key } as const) : gathered.key;
  return { ...gathered, key, rules: [], origins: [], cacheClears: [], brokenSources: [] };
}

/** Without a key, or with the key of another WAF, waiting would change nothing. */
function isHopeless(result: RunResult): boolean {
  if (result.kind !== "Blocked") return false;
  return result.blocker === "MissingApiKey" || result.blocker === "DomainChanged" || result.blocker === "DuplicateKey";
}

function reasonOf(result: RunResult): string {
  switch (result.kind) {
    case "Blocked":
      return result.message;
    case "Failed":
      return result.fault.message;
    case "Done":
    case "Unsettled":
    case "Outdated":
    case "Yielded":
    case "Interrupted":
    case "Gone":
      return "they could not be removed in time";
  }
}

type Deletion =
  /** `gathered` is from the fresh read, because a stale cache may lack the policy that the entries stay. */
  | { readonly kind: "Confirmed"; readonly gathered: Gathered }
  | { readonly kind: "Ended"; readonly result: RunResult }
  /** `gathered` contains the new instance. */
  | { readonly kind: "Recreated"; readonly gathered: Gathered };

/**
 * Whether an instance is really being deleted, as the cache shows. A process that starts with a stale cache may see the deletion
 * of a former instance with the same name that has since been recreated: its entries must stay.
 */
export async function confirmDeletion(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  cached: Gathered,
): Promise<Deletion> {
  const { meta } = cached.instance;
  const { clock, source, stopping } = ports;
  memory.releasingSinceMs ??= clock.monotonicMs();
  // An uninstallation removes no entries, and objects can't be read while their CRDs are being removed.
  if ((await source.isUninstalling?.()) === true) return { kind: "Confirmed", gathered: cached };
  const confirmed = await source.confirm(meta, { signal: stopping });
  if (confirmed.state === "Failed") {
    const message = `wafsync removes nothing until it has confirmed the deletion of the instance with a fresh read. ${confirmed.problem}`;
    if (!isReleaseOver(memory, clock.monotonicMs()))
      return { kind: "Ended", result: { kind: "Blocked", blocker: "Unconfirmed", message } };
    // No instance may stay in Terminating forever.
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
