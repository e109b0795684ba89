// What wafsync remembers of one instance beyond the declared resources and the WAF's own lists: above all, which entries
// it added itself. Recorded before the first call that could add them, so that no crash leaves an entry without an owner.
import type { ListName, OriginType } from "./declared.ts";
import type { EntryOwners } from "./entry-owners.ts";
import type { Entry } from "./entry.ts";
import type { RolloutRecord } from "./workload.ts";

/** `Adopted`: it was already on the list, and a rule adopted it. */
export type Manner = "Added" | "Adopted";

/** Shared by many entries, therefore immutable. */
export interface OwnedEntry {
  /** Its last owners. */
  readonly owners: EntryOwners;
  /** Since when it is managed; undefined if not recorded. */
  readonly sinceMs: number | undefined;
  readonly manner: Manner;
  /** `namespace/name` of a rule with `deletionPolicy: Retain` that wants it: when that rule is deleted, the entry stays. */
  readonly retainedBy: string | undefined;
  /** The declared entries that it stands for, itself included if it is declared; absent if it stands only for itself. */
  readonly standsFor?: readonly Entry[];
  /** When a read first did not contain the undeclared entry: a second read decides whether to drop it. */
  readonly missingSinceMs?: number;
}

export interface OwnedOrigin {
  readonly type: OriginType;
  /** When the API accepted it; undefined while that is not known (recorded ahead of the call). */
  readonly addedAtMs: number | undefined;
  /** Its last owners. */
  readonly owners: EntryOwners;
  readonly manner: Manner;
  /** `namespace/name` of its WafOrigin if that has `deletionPolicy: Retain`. */
  readonly retainedBy: string | undefined;
}

/** A write that the API refused: not tried again until what it was for changes, or an hour has passed. */
export interface Refusal {
  /** `operationKey` of the refused write. */
  readonly operation: string;
  /** The API's message. */
  readonly message: string;
  readonly refusedAtMs: number;
  /** Names the version of the rules that wanted it; another version tries again. */
  readonly wantedBy: string;
}

/** An entry that came or went against the plan: when, oldest first, at most the last ten. */
export interface Dispute {
  readonly list: ListName;
  readonly entry: Entry;
  readonly atMs: readonly number[];
}

/** A cache clear that was handled, so that deleting and re-creating the same object does not clear again. */
export interface HandledTrigger {
  /** `namespace/name` of the WafCacheClear. */
  readonly cacheClear: string;
  readonly trigger: string;
  readonly handledAtMs: number;
}

/**
 * Removals that a person approved. Kept, so that a crash half-way does not ask again for what is left of them; an entry
 * goes from here when it is gone from the list or wanted again.
 */
export interface Approval {
  /** The hash of the plan that was approved. */
  readonly hash: string;
  readonly removals: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  /** The hosts of origins whose removal was approved. */
  readonly origins: ReadonlySet<string>;
  /** The keys of the holds that the approval overrides. Later holds put these removals on hold again. */
  readonly holds: ReadonlySet<string>;
}

/** A removal that was allowed, for the guards. */
export interface RemovalCount {
  readonly atMs: number;
  /** How many declared entries it took away. */
  readonly weight: number;
}

/** What is managed on one WAF. */
export interface Managed {
  readonly entries: Readonly<Record<ListName, ReadonlyMap<Entry, OwnedEntry>>>;
  /** By host. */
  readonly origins: ReadonlyMap<string, OwnedOrigin>;
}

/** Identifies the WAF in addition to its domain, to recognize it when its domain or its instance is renamed. */
export interface WafIdentity {
  readonly baseUrl: string;
  /** `ApiKey.markFor` the recorded domain. */
  readonly keyMark: string;
}

export interface Inventory extends Managed {
  /** The domain that the entries were added to; undefined before the first sync. */
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
  readonly rollouts: readonly RolloutRecord[];
  readonly approval: Approval | undefined;
  /** The number of used approvals, which is part of each hash, so that no hash works twice. */
  readonly approvals: number;
  /** The removals that count for `guards.window`, recorded ahead of their calls. */
  readonly counted: Readonly<Record<ListName, ReadonlyMap<Entry, RemovalCount>>>;
}

export const emptyInventory: Inventory = {
  domain: undefined,
  waf: undefined,
  continued: undefined,
  otherDomains: new Map(),
  entries: { blocklist: new Map(), allowlist: new Map() },
  origins: new Map(),
  refusals: [],
  disputes: [],
  handledTriggers: [],
  rollouts: [],
  approval: undefined,
  approvals: 0,
  counted: { blocklist: new Map(), allowlist: new Map() },
};

/** `revision` is the precondition of the next save: opaque, empty where nothing is stored yet. */
export type LoadedInventory =
  | { readonly state: "Loaded"; readonly inventory: Inventory; readonly revision: string }
  /** It could not be asked for just now, for example because the API server restarts: another attempt may do. */
  | { readonly state: "Unreachable"; readonly problem: string }
  /** It exists and cannot be used (damaged, or written by a newer wafsync). Nothing may be removed, and nothing added. */
  | { readonly state: "Unreadable"; readonly problem: string };

export type SavedInventory =
  | { readonly state: "Saved"; readonly revision: string }
  /** Somebody else wrote it since it was loaded: this process is no longer the one that works. */
  | { readonly state: "Conflict"; readonly problem: string }
  | { readonly state: "Failed"; readonly problem: string };

/** The number of managed entries and origins on the current WAF. */
export function countManaged({ entries, origins }: Managed): number {
  return entries.blocklist.size + entries.allowlist.size + origins.size;
}
