// Decides which removals of a plan are allowed. If there are more than the instance allows, they are on hold until a user
// approves exactly these; one hash identifies them. All are on hold without a fresh read of what is declared, and until a user accepts
// an inventory that was restored.
import { hexDigest } from "../model/hex-digest.ts";
import { eachList, type Guards, type ListName, listNames, feedSourceName } from "../model/declared.ts";
import { type EntryOwner, type EntryOwners, readOwners, remembering, ruleIdOfOwner } from "../model/rule-id.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { DesiredState } from "./desired.ts";
import type { Entry } from "../address/entry.ts";
import type { AllowedRemovals, Approval, Inventory } from "../model/inventory.ts";

/** The percentage guard applies to lists of at least this size: one of three entries is 33 %. */
const shareCountsFrom = 10;

/** A removal on hold. */
export interface HeldRemoval {
  readonly entry: Entry;
  /** The last owners of the entry. */
  readonly owners: EntryOwners;
}

export interface Removal extends HeldRemoval {
  /** For people: part of a sentence. */
  readonly reason: string;
  /** How many declared entries it affects: a merged entry represents several. */
  readonly weight: number;
  /** Whether the entry ended by itself. The guards do not count it. */
  readonly endsByItself: boolean;
  /** Whether it counts together with the removals of earlier plans. */
  readonly countsOverTime: boolean;
}

/** The removals from one list. */
export interface RemovalRequest {
  readonly removals: readonly Removal[];
  /** What earlier plans allowed. */
  readonly before: AllowedRemovals;
  /**
   * How many declared entries the list represents after the additions of the plan. Additions go first, so any other size
   * would change the result halfway.
   */
  readonly size: number;
  /** The same including declared entries that are not planned, such as rejected ones: they may be on the WAF without being visible yet. */
  readonly sizeMax: number;
}

/** An origin to remove. */
export interface OriginRemoval {
  readonly host: string;
  /** Its last owner. */
  readonly owners: EntryOwners;
}

/** Why nothing may be removed. */
export interface Obstacle {
  readonly kind: "Unconfirmed" | "Restored";
  /** In one sentence. */
  readonly reason: string;
  /** The hash with which a user overrides it; undefined if no one can. */
  readonly hash: string | undefined;
}

export interface HeldRemovals {
  readonly removals: Readonly<Record<ListName, readonly HeldRemoval[]>>;
  /** Only an obstacle puts them on hold: there are few, so the guards do not count them. */
  readonly origins: readonly OriginRemoval[];
  /** Approves all removals on hold; undefined while they can't be approved. */
  readonly hash: string | undefined;
  /** The number of used approvals. */
  readonly approvals: number;
  /** The approval on the instance if it does not match: stale, or mistyped. */
  readonly mismatch: string | undefined;
  /** Undefined if the guards put the removals on hold. */
  readonly obstacle: Obstacle | undefined;
  /** The number of entries that were removed within the guards' time window. */
  readonly recent: Readonly<Record<ListName, number>>;
}

export interface RemovalDecision {
  readonly lists: Readonly<
    Record<ListName, { readonly allowed: readonly Removal[]; readonly record: AllowedRemovals }>
  >;
  /** Undefined if nothing is on hold. */
  readonly held: HeldRemovals | undefined;
  /** The approved removals that are not done yet; without any, the last approval, if its annotation is still set and others are on hold. */
  readonly approval: Approval | undefined;
  /** The number of used approvals. */
  readonly approvals: number;
}

/** What limits removals, and what users have approved. */
export interface RemovalTerms {
  /** Without guards, no removal counts. */
  readonly guards: Guards | undefined;
  readonly windowMs: number;
  readonly nowMs: number;
  readonly obstacle: Obstacle | undefined;
  /** The annotation of the instance that approves removals. */
  readonly annotation: string | undefined;
  /** The hash of the removals on hold in a reviewed plan. */
  readonly reviewed: string | undefined;
  /** Whether the removals that the guards allow now count from now on, because the declared state is confirmed. */
  readonly counts: (list: ListName) => boolean;
}

/** Decides which planned removals are allowed. Those that a user approved for an earlier plan are allowed and do not count. */
export function decideRemovals(
  requests: Readonly<Record<ListName, RemovalRequest>> & { readonly origins: readonly OriginRemoval[] },
  terms: RemovalTerms,
  { approval, approvals }: Pick<Inventory, "approval" | "approvals">,
): RemovalDecision {
  const { obstacle, annotation, reviewed, counts } = terms;
  const judged = eachList((list) => judge(requests[list], approval?.removals[list], terms));
  const held = {
    removals: eachList((list) => judged[list].held),
    origins: obstacle === undefined ? [] : requests.origins,
    obstacle,
    approvals,
    recent: eachList((list) => judged[list].recent),
  };
  const hash = obstacle === undefined ? hashRemovals(held, approvals) : obstacle.hash;
  const isAll = obstacle === undefined && hash !== undefined && (hash === annotation || hash === reviewed);
  const chosen = new Set<HeldRemoval>(
    (isAll ? partsOf(held) : approvedParts(held, annotation)).flatMap(({ removals }) => removals),
  );
  const approved = eachList((list) => held.removals[list].filter((removal) => chosen.has(removal)));
  const isNew = chosen.size > 0;
  const left = {
    ...held,
    removals: eachList((list) => held.removals[list].filter((removal) => !chosen.has(removal))),
    approvals: isNew ? approvals + 1 : approvals,
  };
  // While others are on hold, a used annotation is no mistake, even if it approves none of them.
  const isUsed = isNew || (approval !== undefined && approval.hash === annotation);
  const onHold = heldRemovals(left, isNew ? hashRemovals(left, left.approvals) : hash, isUsed ? undefined : annotation);
  const used = hash !== undefined && hash === reviewed ? reviewed : annotation;
  const given = isNew ? used : approval?.hash;
  const open = eachList((list) => new Set(entriesOf([...judged[list].approved, ...approved[list]])));
  const isOpen = open.blocklist.size + open.allowlist.size > 0 || (isUsed && onHold !== undefined);
  return {
    lists: eachList((list) => ({
      allowed: [...judged[list].allowed, ...judged[list].passed, ...approved[list]],
      record: judged[list].recordWith(counts(list), isAll ? [] : approved[list]),
    })),
    held: onHold,
    approval: given !== undefined && isOpen ? sameIfKnown({ hash: given, removals: open }, approval) : undefined,
    approvals: left.approvals,
  };
}

/** Also another one if it contains fewer removals: entries that were removed or are wanted again are no longer approved. */
function sameIfKnown(next: Approval, before: Approval | undefined): Approval {
  const sizeOf = ({ removals }: Approval): number => removals.blocklist.size + removals.allowlist.size;
  return before !== undefined && next.hash === before.hash && sizeOf(next) === sizeOf(before) ? before : next;
}

/** Removals from one list with the same last owners. */
export interface HeldPart {
  readonly list: ListName;
  readonly owners: EntryOwners;
  readonly removals: readonly HeldRemoval[];
}

/** What a user decides about separately. */
export function partsOf({ removals }: Pick<HeldRemovals, "removals">): readonly HeldPart[] {
  return listNames.flatMap((list) =>
    [...Map.groupBy(removals[list], ({ owners }) => owners)].map(([owners, all]) => ({ list, owners, removals: all })),
  );
}

/** Approves only this part; undefined if it can't be approved alone. */
export function hashOfPart(
  { list, removals }: HeldPart,
  { approvals, obstacle }: Pick<HeldRemovals, "approvals" | "obstacle">,
): string | undefined {
  const part = { blocklist: [], allowlist: [], [list]: removals };
  return obstacle === undefined ? hashRemovals({ removals: part }, approvals) : undefined;
}

/** The parts whose hashes the annotation lists, separated by commas. */
function approvedParts(
  held: Pick<HeldRemovals, "removals" | "approvals" | "obstacle">,
  annotation: string | undefined,
): readonly HeldPart[] {
  const given = annotation?.split(",") ?? [];
  return partsOf(held).filter((part) => given.some((hash) => hash !== "" && hash === hashOfPart(part, held)));
}

/** Whether the entry has ended for all of its last owners, which still exist. */
export function hasEnded(
  entry: Entry,
  owners: EntryOwners,
  { existingRules, ended }: Pick<DesiredState, "existingRules" | "ended">,
): boolean {
  const known = ended.size === 0 ? [] : readOwners(owners);
  return (
    known.length > 0 &&
    known.every((owner) => {
      const id = ruleIdOfOwner(owner) ?? "";
      if (!existingRules.has(id)) return false;
      return ended.get(`${id} ${owner.source ?? ""}`)?.has(entry) === true;
    })
  );
}

/**
 * Removals of entries that users stopped declaring count over time. The others only count within a plan: expired entries were
 * declared to end, entries that left a feed have passed its guards, and unmanaged entries were never declared.
 * @returns whether entries of these owners count
 */
export function countsOverTime(rules: readonly CompiledRule[]): (owners: EntryOwners) => boolean {
  const ending = new Set<string>();
  for (const { id, rule, expired } of rules) {
    if (rule.meta.deleting) continue;
    if (expired) ending.add(id);
    else for (const feed of rule.feeds) ending.add(`${id} ${feedSourceName(feed)}`);
  }
  return remembering((owners) => {
    const read = readOwners(owners);
    const endsWith = (owner: EntryOwner): boolean => {
      const id = ruleIdOfOwner(owner) ?? "";
      return ending.has(id) || (owner.source !== undefined && ending.has(`${id} ${owner.source}`));
    };
    return read.length === 0 || !read.every(endsWith);
  });
}

/** Undefined unless the inventory is older than `reported`, the version that the status describes. The hash accepts it. */
export function restoredInventory(version: number, reported: number): Obstacle | undefined {
  if (version >= reported) return undefined;
  const reason = `The inventory has version ${version}, but the status describes version ${reported}: it was probably restored from a backup, and may contain entries that wafsync has removed since then, and lack those that it has added.`;
  return { kind: "Restored", reason, hash: hexDigest(`inventory ${version} for ${reported}`, 12) };
}

function heldRemovals(
  held: Omit<HeldRemovals, "hash" | "mismatch">,
  hash: string | undefined,
  annotation: string | undefined,
): HeldRemovals | undefined {
  const { removals, origins, obstacle } = held;
  const isEmpty = removals.blocklist.length + removals.allowlist.length + origins.length === 0;
  if (isEmpty && obstacle?.kind !== "Restored") return undefined;
  const isGiven = annotation !== undefined && annotation !== "" && hash !== undefined;
  return { ...held, hash, mismatch: isGiven ? annotation : undefined };
}

/** Neither a plan nor several plans within the window may remove too much from a list. */
function judge(
  request: RemovalRequest,
  approvedBefore: ReadonlySet<Entry> | undefined,
  { guards, windowMs, nowMs, obstacle }: RemovalTerms,
) {
  const { removals, before } = request;
  const approved = removals.filter(({ entry }) => approvedBefore?.has(entry) === true);
  const pending = removals.filter(({ entry }) => before.pending.has(entry));
  const isAllowed = ({ entry, endsByItself }: Removal): boolean =>
    approvedBefore?.has(entry) === true || before.pending.has(entry) || endsByItself;
  const { true: allowed = [], false: fresh = [] } = Object.groupBy(removals, (removal) =>
    obstacle === undefined && isAllowed(removal) ? "true" : "false",
  );
  // A time in the future means that the clock was set back.
  const isOver = Math.abs(nowMs - before.sinceMs) >= windowMs;
  const { count, sinceMs } = isOver ? { count: 0, sinceMs: nowMs } : before;
  // The share is of the list at the start of the window: otherwise, a list that gets short would lose its guard.
  const recent = Math.max(0, count - weigh(pending.filter(isCounted)));
  const sizes = { size: request.size + recent, sizeMax: request.sizeMax + recent };
  const counting = fresh.filter(isCounted);
  const isTooMany = obstacle !== undefined || exceeds(weigh(fresh), request, guards);
  const isTooManyOverTime = counting.length > 0 && exceeds(count + weigh(counting), sizes, guards);
  const held = isTooMany ? fresh : isTooManyOverTime ? counting : [];
  const holding = new Set(held);
  const passed = fresh.filter((removal) => !holding.has(removal));
  // An approved part counts like those that the guards allow: what is left may be so little that they would allow it, too.
  const recordWith = (isConfirmed: boolean, part: readonly Removal[]): AllowedRemovals => {
    const now = isConfirmed ? passed : [];
    const added = [...now, ...part];
    if (added.length === 0 && pending.length === before.pending.size) return before;
    const left = new Set(entriesOf([...pending, ...added]));
    if (added.length === 0) return { ...before, pending: left };
    return { pending: left, count: count + weigh(now.filter(isCounted)) + weigh(part), sinceMs };
  };
  return { allowed, approved, passed, held, recent, recordWith };
}

function isCounted(removal: Removal): boolean {
  return removal.countsOverTime;
}

function entriesOf(removals: readonly Removal[]): readonly Entry[] {
  return removals.map(({ entry }) => entry);
}

function weigh(removals: readonly Removal[]): number {
  return removals.reduce((sum, { weight }) => sum + weight, 0);
}

function exceeds(
  count: number,
  { size, sizeMax }: Pick<RemovalRequest, "size" | "sizeMax">,
  guards: Guards | undefined,
): boolean {
  if (count === 0 || guards === undefined) return false;
  if (count > guards.maxRemovals) return true;
  return sizeMax >= shareCountsFrom && count * 100 > guards.maxRemovalPercent * size;
}

/**
 * Twelve hexadecimal digits that identify a set of removals, in any order. They depend on the number of used approvals, so no hash
 * matches twice. Undefined if there are no removals.
 */
export function hashRemovals({ removals }: Pick<HeldRemovals, "removals">, approvals: number): string | undefined {
  const lines = listNames.flatMap((list) => removals[list].map(({ entry }) => `${list} ${entry}`));
  if (lines.length === 0) return undefined;
  return hexDigest([`approval ${approvals}`, ...lines.toSorted()].join("\n"), 12);
}
