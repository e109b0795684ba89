// Which removals of a plan may be done. More of them than the instance allows wait until a person approves exactly these, and
// so do removals of entries that something unreadable may still want. One hash names all that are on hold.
import { createHash } from "node:crypto";
import type { Guards, ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { EntryOwners } from "../../model/entry-owners.ts";
import type { Entry } from "../../model/entry.ts";
import type { Approval, Inventory } from "../../model/inventory.ts";
import type { Hold } from "./holds.ts";
import { holdKey } from "./holds.ts";

/** The percentage guard applies to lists of at least this size: one of three entries is 33 %. */
const shareCountsFrom = 10;

export interface RemovalRequest {
  readonly removals: readonly Entry[];
  readonly holdsOn: (entry: Entry) => readonly Hold[];
  readonly ownersOf: (entry: Entry) => EntryOwners;
  /**
   * How many entries the list has once the additions of the plan are done. Additions go first, so any other size would
   * give another answer half-way.
   */
  readonly size: number;
}

/** A removal on hold. */
export interface HeldRemoval {
  readonly entry: Entry;
  /** What holds it; empty where the guards do. */
  readonly holds: readonly Hold[];
  /** Who wanted the entry last. */
  readonly owners: EntryOwners;
}

export interface HeldRemovals {
  readonly removals: Readonly<Record<ListName, readonly HeldRemoval[]>>;
  /** Approves all of them, both lists together; undefined while an approval would not help. */
  readonly hash: string | undefined;
  /** The approval that the instance carries and that does not match: stale, or mistyped. */
  readonly mismatch: string | undefined;
}

export interface RemovalDecision {
  readonly allowed: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  /** Undefined when nothing is on hold. */
  readonly held: HeldRemovals | undefined;
  /** What is approved now and not yet gone. */
  readonly approval: Approval | undefined;
  /** How many approvals were ever used. */
  readonly approvals: number;
}

type ByList<T> = Record<ListName, T>;

/**
 * Decides which of the wanted removals may be done. Removals that were approved before go through and do not count, unless
 * something holds them that was not known then. Without `guards`, none counts. `annotation` is the approval that a person gave.
 */
export function decideRemovals(
  requests: Readonly<ByList<RemovalRequest>>,
  guards: Guards | undefined,
  annotation: string | undefined,
  { approval, approvals }: Pick<Inventory, "approval" | "approvals">,
): RemovalDecision {
  const allowed: ByList<Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  const removals: ByList<HeldRemoval[]> = { blocklist: [], allowlist: [] };
  const approved: ByList<Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  const isUncovered = (hold: Hold): boolean =>
    hold.scope.kind === "Unconfirmed" || approval?.holds.has(holdKey(hold)) !== true;
  for (const list of listNames) {
    const { holdsOn, ownersOf, size } = requests[list];
    const fresh: HeldRemoval[] = [];
    for (const entry of requests[list].removals) {
      const isApproved = approval?.removals[list].has(entry) === true;
      if (isApproved) approved[list].add(entry);
      const holds = isApproved ? holdsOn(entry).filter(isUncovered) : holdsOn(entry);
      if (holds.length > 0) removals[list].push({ entry, holds, owners: ownersOf(entry) });
      else if (isApproved) allowed[list].add(entry);
      else fresh.push({ entry, holds, owners: ownersOf(entry) });
    }
    if (exceeds(fresh.length, size, guards)) removals[list].unshift(...fresh);
    else for (const { entry } of fresh) allowed[list].add(entry);
  }
  const hash = hashRemovals(removals, approvals);
  if (hash !== undefined && hash === annotation) {
    const holds = new Set(approval?.holds);
    for (const list of listNames) {
      for (const removal of removals[list]) {
        allowed[list].add(removal.entry);
        approved[list].add(removal.entry);
        for (const hold of removal.holds) holds.add(holdKey(hold));
      }
    }
    return { allowed, held: undefined, approval: { hash, removals: approved, holds }, approvals: approvals + 1 };
  }
  const isLeft = approved.blocklist.size + approved.allowlist.size > 0;
  return {
    allowed,
    held: heldRemovals(removals, hash, annotation),
    approval: isLeft && approval !== undefined ? { ...approval, removals: approved } : undefined,
    approvals,
  };
}

function heldRemovals(
  removals: HeldRemovals["removals"],
  hash: string | undefined,
  annotation: string | undefined,
): HeldRemovals | undefined {
  if (removals.blocklist.length + removals.allowlist.length === 0) return undefined;
  const isGiven = annotation !== undefined && annotation !== "" && hash !== undefined;
  return { removals, hash, mismatch: isGiven ? annotation : undefined };
}

function exceeds(count: number, size: number, guards: Guards | undefined): boolean {
  if (count === 0 || guards === undefined) return false;
  if (count > guards.maxRemovals) return true;
  return size >= shareCountsFrom && count * 100 > guards.maxRemovalPercent * size;
}

/**
 * Twelve hexadecimal digits that name a set of removals and what holds them, whatever their order. The number of approvals
 * that were used is part of it, so that no hash ever matches twice. Undefined if there are none, or if no approval would help.
 */
export function hashRemovals(removals: HeldRemovals["removals"], approvals: number): string | undefined {
  const lines = listNames.flatMap((list) => removals[list].map(({ entry }) => `${list} ${entry}`));
  const holds = new Set(listNames.flatMap((list) => removals[list].flatMap((removal) => removal.holds)));
  if (lines.length === 0 || [...holds].some(({ scope }) => scope.kind === "Unconfirmed")) return undefined;
  const all = [`approval ${approvals}`, ...lines.toSorted(), ...[...holds].map(holdKey).toSorted()];
  return createHash("sha256").update(all.join("\n")).digest("hex").slice(0, 12);
}
