// Releases a deleted instance: removes its managed entries from the WAF, or intentionally leaves them there, and then removes the
// finalizer.
//
// The release is a normal run with nothing declared, so it is recorded, resumed after a crash, and verified in the same way. No
// instance stays in Terminating forever: entries that can't be removed in time stay on the WAF, and an event reports this.
import { continuedBy, continuesAnnotation } from "../model/continues.ts";
import type { Gathered } from "../model/gathered.ts";
import { countManaged, type Inventory } from "../model/inventory.ts";
import { nameKey, type ResourceMeta } from "../model/resource.ts";
import { asSentence, inThousands, listed } from "../model/texts.ts";
import type { ReconcilePorts } from "./ports.ts";
import { blocked, type RunResult } from "./facts.ts";
import type { InstanceMemory } from "./report.ts";
import type { World } from "./world.ts";

/** How long a deletion waits for an unreachable WAF after its last progress. */
const releaseMsMax = 600_000;

const domainsShownMax = 3;

/** When (monotonic) the deletion stops waiting; undefined if the instance is not being deleted. */
export function releaseEndsMs({ releasingSinceMs }: InstanceMemory): number | undefined {
  return releasingSinceMs === undefined ? undefined : releasingSinceMs + releaseMsMax;
}

function isReleaseOver({ memory, ports }: Pick<World, "memory" | "ports">): boolean {
  return ports.clock.monotonicMs() >= (releaseEndsMs(memory) ?? 0);
}

/** False if the entries of a deleted instance must stay, because the instance was changed after its deletion. */
export function wantsRemoval({ instance, sameKey }: Gathered): boolean {
  return instance.deletionPolicy === "Delete" && !instance.suspend && continuedBy(instance.meta, sameKey) === undefined;
}

/** The release of an instance whose managed entries are being removed. */
export interface Release {
  /** Undefined if the record can't be read. */
  readonly stored: Inventory | undefined;
  /** The entries on the WAFs of other domains stay, so their record stays, too. */
  readonly keepsRecord: boolean;
}

/** Why managed entries stay on the WAF. */
interface Left {
  readonly why: string;
  readonly keepsRecord: boolean;
  /** Whether the owner chose to retain the entries. */
  readonly isWanted?: boolean;
}

/** Decides whether the managed entries of a deleted instance are removed or stay. Returns a result if the run ends with it. */
export async function openRelease(world: World): Promise<RunResult | undefined> {
  const { ports, memory } = world;
  if (!world.gathered.instance.meta.deleting) return undefined;
  memory.releasingSinceMs ??= ports.clock.monotonicMs();
  // An uninstallation removes no entries, and objects can't be read while their CRDs are being removed.
  const isUninstalling = (await ports.source.isUninstalling?.()) === true;
  const ended = isUninstalling ? undefined : await confirmDeletion(world);
  const { gathered } = world;
  const { instance } = gathered;
  if (ended !== undefined || !instance.meta.deleting) return ended;
  const loaded = await ports.inventory.load(instance.meta);
  const stored = loaded.state === "Loaded" ? loaded.inventory : undefined;
  const keepsRecord = stored !== undefined && stored.otherDomains.size > 0;
  const leave = async (why: string, how: Partial<Left> = {}): Promise<RunResult> =>
    await completeRelease(ports, instance.meta, stored, { why, keepsRecord, ...how });
  // If the CRDs and the instance are restored later, the instance finds its record again.
  if (isUninstalling) return leave("the CRDs of wafsync are being removed from the API server", { keepsRecord: true });
  const successor = continuedBy(instance.meta, gathered.sameKey);
  if (successor !== undefined) {
    // Removes nothing, but waits until the record is taken over.
    const name = `WafInstance ${nameKey(successor)}`;
    const isTaken = stored !== undefined && countManaged(stored) + stored.otherDomains.size === 0;
    if (!isTaken && !isReleaseOver(world)) {
      return blocked("Continued", `${name} continues this one, but has not taken over its record yet.`);
    }
    return leave(`${name} continues with them`, { keepsRecord: !isTaken, isWanted: true });
  }
  if (instance.deletionPolicy === "Retain") {
    const why = `spec.deletionPolicy is Retain. ${retained(instance.meta)}`;
    return leave(why, { keepsRecord: true, isWanted: true });
  }
  if (instance.suspend) return leave("the instance is suspended");
  if (stored !== undefined && countManaged(stored) === 0) return leave("there are none");
  // After the waiting time, a further attempt could wait for as long as the API asks.
  const { backOff } = memory;
  if (backOff?.result.kind === "Failed" && backOff.attempted === world.attempt && isReleaseOver(world)) {
    return leave(reasonOf(backOff.result));
  }
  world.gathered = withKnownKey(gathered, memory);
  world.release = { stored, keepsRecord };
  return undefined;
}

/**
 * Whether an instance is really being deleted, as the cache shows. A process that starts with a stale cache may see the deletion
 * of a former instance with the same name that has since been recreated: its entries must stay. The run continues with the fresh
 * read, because a stale cache may lack the policy that the entries stay. Returns a result if the run ends with it.
 */
async function confirmDeletion(world: World): Promise<RunResult | undefined> {
  const { ports, memory } = world;
  const { meta } = world.gathered.instance;
  const confirmed = await ports.source.confirm(meta, { signal: ports.stopping });
  if (confirmed.state === "Failed") {
    const message = `wafsync removes nothing until it has confirmed the deletion of the instance with a fresh read. ${confirmed.problem}`;
    if (!isReleaseOver(world)) return blocked("Unconfirmed", message);
    // No instance may stay in Terminating forever.
    return await completeRelease(ports, meta, undefined, { why: message, keepsRecord: true });
  }
  const { gathered } = confirmed;
  if (gathered === undefined) return { kind: "Gone" };
  world.gathered = gathered;
  const isSame = gathered.instance.meta.uid === meta.uid;
  if (!isSame || !gathered.instance.meta.deleting) memory.releasingSinceMs = undefined;
  return undefined;
}

function retained({ namespace, name }: ResourceMeta): string {
  return `Their record is kept: a new WafInstance ${namespace}/${name} continues it, or one with a different name and the annotation ${continuesAnnotation}: ${namespace}/${name}`;
}

/** If the Secret no longer exists, the last key that was read for this instance is used. */
function withKnownKey(gathered: Gathered, { key: known }: InstanceMemory): Gathered {
  const { baseUrl, meta } = gathered.instance;
  const isForThis = known?.baseUrl === baseUrl && known.uid === meta.uid;
  if (gathered.key.state === "Present" || !isForThis) return gathered;
  return { ...gathered, key: { state: "Present", key: known.key } };
}

/** Completes a release at the end of its run, unless entries are left that another run can remove. */
export async function endRelease(world: World, result: RunResult): Promise<RunResult> {
  const { ports, memory, release, ledger } = world;
  if (release === undefined) return result;
  if (world.isPlanned) {
    const { left } = world;
    // Restarts the waiting time if the run left fewer removals than any run before. Another writer can't prolong the deletion.
    const least = memory.removalsLeft ?? left + ledger.done.removed;
    memory.removalsLeft = Math.min(left, least);
    if (left < least) memory.releasingSinceMs = ports.clock.monotonicMs();
    // A stale read can lack an entry that is still on the list. To avoid orphans, the record drops entries only after a second read.
    if (world.plan.lookAgainMs !== undefined) return result;
  }
  const isHopeless = result.kind === "Blocked" && hopeless.has(result.blocker);
  if (result.kind === "Interrupted" || !(result.kind === "Done" || isHopeless || isReleaseOver(world))) return result;
  const inventory = world.isPlanned && result.kind === "Done" ? world.inventory : release.stored;
  const { keepsRecord } = release;
  return await completeRelease(ports, world.gathered.instance.meta, inventory, { why: reasonOf(result), keepsRecord });
}

/** Without a key, or with the key of another WAF, waiting would change nothing. */
const hopeless: ReadonlySet<string> = new Set(["MissingApiKey", "DomainChanged", "DuplicateKey"]);

function reasonOf(result: RunResult): string {
  if (result.kind === "Blocked") return result.message;
  if (result.kind === "Failed") return result.fault.message;
  return result.kind === "Done" ? "they could not be removed" : "they could not be removed in time";
}

/** Removes the finalizer, and the record unless it is kept, and reports what stays on the WAFs. `inventory` is undefined if it can't be read. */
async function completeRelease(
  ports: ReconcilePorts,
  instance: ResourceMeta,
  inventory: Inventory | undefined,
  { why, keepsRecord, isWanted = false }: Left,
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
  return problem === undefined ? { kind: "Gone" } : blocked("InventoryUnwritable", problem);
}
