// The record of one instance: what wafsync must remember in addition to the declared resources and the WAF's lists, above all which
// entries it added itself. Written before the first call that could add them, so that no crash leaves an entry without an owner.
import type { ListName, OriginType } from "./declared.ts";
import type { EntryOwners } from "./rule-id.ts";
import type { Entry } from "../address/entry.ts";
import type { ObjectName } from "./resource.ts";

/** `Adopted`: it was on the list before a rule adopted it. */
export type Manner = "Added" | "Adopted";

/** Immutable, because many entries share it. */
export interface OwnedEntry {
  /** Its last owners. */
  readonly owners: EntryOwners;
  /** Since when it is managed; undefined if not recorded. */
  readonly sinceMs: number | undefined;
  readonly manner: Manner;
  /** The rules with `deletionPolicy: Retain` that want it, sorted and separated by commas: when one is deleted, the entry stays. */
  readonly retainedBy: string | undefined;
  /** How many declared entries a merged network covers; absent if it is declared as it is. */
  readonly lines?: number;
  /** When a read first did not contain the undeclared entry; a second read decides whether to drop it. */
  readonly missingSinceMs?: number;
}

export interface OwnedOrigin {
  readonly type: OriginType;
  /** When the API accepted it; undefined while this is unknown, because the record is written before the call. */
  readonly addedAtMs: number | undefined;
  /** The API's message if it refused the addition and the origin counts as added nevertheless: it may be missing. */
  readonly unconfirmed: string | undefined;
  /** Its last owners. */
  readonly owners: EntryOwners;
  readonly manner: Manner;
  /** `namespace/name` of its WafOrigin if that has `deletionPolicy: Retain`. */
  readonly retainedBy: string | undefined;
}

/** A write that the API refused. It is not retried until the rules that want it change, or an hour has passed. */
export interface Refusal {
  /** `operationKey` of the refused write. */
  readonly operation: string;
  /** The API's message. */
  readonly message: string;
  readonly refusedAtMs: number;
  /** Identifies the version of the rules that want it; another version is tried again. */
  readonly wantedBy: string;
}

/** An entry that another writer added or removed against the plan, with the times of the last ten changes, oldest first. */
export interface Dispute {
  readonly list: ListName;
  readonly entry: Entry;
  readonly atMs: readonly number[];
}

/** A cache clear that was handled, so that deleting and re-creating the same object, or seeing the same rollout, does not clear again. */
export interface HandledTrigger {
  /** `namespace/name` of the WafCacheClear, or `Deployment namespace/name`: the workload whose rollouts clear the cache. */
  readonly cacheClear: string;
  /** For a workload, its last handled rollout; empty if another one has begun since. */
  readonly trigger: string;
  /** When the cache was cleared; 0 if it never was. */
  readonly handledAtMs: number;
}

/**
 * Removals that a user approved. Stored so that a crash does not require a second approval for the remaining ones. An entry
 * is dropped once it is no longer on the list or is wanted again. The approval itself is kept as long as its annotation is set and other
 * removals are on hold.
 */
export interface Approval {
  /** The hash of the approved plan. */
  readonly hash: string;
  readonly removals: Readonly<Record<ListName, ReadonlySet<Entry>>>;
}

/** The removals from one list that the guards allowed. */
export interface AllowedRemovals {
  /** Those that are not done yet: the guards do not judge them again. */
  readonly pending: ReadonlySet<Entry>;
  /** The number of declared entries that were removed since then, for `guards.window`. */
  readonly count: number;
  readonly sinceMs: number;
}

/** A fresh read showed that nobody declares it: its removal was allowed, and perhaps done. */
export function isLeaving(entry: Entry, record: OwnedEntry, { pending }: AllowedRemovals): boolean {
  return record.missingSinceMs !== undefined || pending.has(entry);
}

/** What is managed on one WAF. */
export interface Managed {
  readonly entries: Readonly<Record<ListName, ReadonlyMap<Entry, OwnedEntry>>>;
  /** By host. */
  readonly origins: ReadonlyMap<string, OwnedOrigin>;
}

/** Identifies the WAF in addition to its domain, so that it is recognized after its domain or its instance is renamed. */
export interface WafIdentity {
  readonly baseUrl: string;
  /** `ApiKey.markFor` the recorded domain. */
  readonly keyMark: string;
}

export interface Inventory extends Managed {
  /** Increased by each save, so that a record that was restored from a backup is recognized: the status shows a higher one. */
  readonly version: number;
  /** The domain of the WAF that the entries were added to; undefined before the first sync. */
  readonly domain: string | undefined;
  /** Undefined before the first sync. */
  readonly waf: WafIdentity | undefined;
  /** `namespace/name` of the instance whose record this one last took over; undefined if none. */
  readonly continued: string | undefined;
  /** The managed entries on the WAFs of former domains of the instance, by domain. */
  readonly otherDomains: ReadonlyMap<string, Managed>;
  readonly refusals: readonly Refusal[];
  readonly disputes: readonly Dispute[];
  readonly handledTriggers: readonly HandledTrigger[];
  readonly approval: Approval | undefined;
  /** The number of used approvals, which is part of each hash, so that no hash works twice. */
  readonly approvals: number;
  /** Recorded ahead of their calls. */
  readonly allowed: Readonly<Record<ListName, AllowedRemovals>>;
}

const nothingAllowed: AllowedRemovals = { pending: new Set(), count: 0, sinceMs: 0 };

export const emptyInventory: Inventory = {
  version: 0,
  domain: undefined,
  waf: undefined,
  continued: undefined,
  otherDomains: new Map(),
  entries: { blocklist: new Map(), allowlist: new Map() },
  origins: new Map(),
  refusals: [],
  disputes: [],
  handledTriggers: [],
  approval: undefined,
  approvals: 0,
  allowed: { blocklist: nothingAllowed, allowlist: nothingAllowed },
};

/** `revision` is the precondition of the next save: an opaque string, empty if nothing is stored yet. */
export type LoadedInventory =
  | { readonly state: "Loaded"; readonly inventory: Inventory; readonly revision: string }
  /** Not readable at the moment, for example because the API server restarts: a retry may succeed. */
  | { readonly state: "Unreachable"; readonly problem: string; readonly isForbidden?: boolean }
  /** It exists but is unusable (damaged, or written by a newer wafsync). Nothing may be removed or added. */
  | { readonly state: "Unreadable"; readonly problem: string };

export type SavedInventory =
  | { readonly state: "Saved"; readonly revision: string }
  /** Another process has written it since it was loaded, so this process must stop. */
  | { readonly state: "Conflict"; readonly problem: string }
  | { readonly state: "Failed"; readonly problem: string };

/** Where inventories are stored. */
export interface InventoryPort {
  /** Finds it by the name of the instance, whatever its UID. If missing: an empty inventory. Never rejects. */
  load(instance: ObjectName): Promise<LoadedInventory>;
  /** Stored once it resolves with `Saved`. `Conflict` if another writer has saved since `revision`. Never rejects. */
  save(instance: ObjectName, inventory: Inventory, revision: string): Promise<SavedInventory>;
  /**
   * Called when the instance is gone and nothing has to be remembered. Returns undefined, or why the inventory could not be deleted.
   * Never rejects.
   */
  remove(instance: ObjectName): Promise<string | undefined>;
}

/** The number of managed entries and origins on the current WAF. */
export function countManaged({ entries, origins }: Managed): number {
  return entries.blocklist.size + entries.allowlist.size + origins.size;
}
