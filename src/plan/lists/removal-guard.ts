// The guard on whole plans: more removals from one list than the instance allows wait until a person approves exactly them.
import { createHash } from "node:crypto";
import type { Guards, ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Approval } from "../../model/inventory.ts";

/** The annotation on the instance that lets the removals with this hash through. */
export const approvalAnnotation = "wafsync.dev/approve-removals";

/** The percentage guard applies to lists of at least this size: one of three entries is 33 %. */
const shareCountsFrom = 10;

export interface RemovalRequest {
  readonly removals: readonly Entry[];
  /** They wait for something else: none is allowed, none counts, and what was approved stays approved. */
  readonly waits: boolean;
  /**
   * How many entries the list has once the additions of the plan are done. Additions go first, so any other size would
   * give another answer half-way.
   */
  readonly size: number;
}

export interface RemovalDecision {
  readonly allowed: Readonly<Record<ListName, ReadonlySet<Entry>>>;
  readonly held: Readonly<Record<ListName, readonly Entry[]>>;
  /** Names the held removals, all lists together; undefined when nothing is held. */
  readonly hash: string | undefined;
  /** What is approved now and not yet gone. */
  readonly approval: Approval | undefined;
}

/**
 * Decides which of the wanted removals may be done. Removals that were approved before go through and do not count.
 * Without `guards`, all are allowed. `approvedHash` is the value of the annotation.
 */
export function decideRemovals(
  requests: Readonly<Record<ListName, RemovalRequest>>,
  guards: Guards | undefined,
  approvedHash: string | undefined,
  approval: Approval | undefined,
): RemovalDecision {
  const allowed: Record<ListName, Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  const held: Record<ListName, Entry[]> = { blocklist: [], allowlist: [] };
  const approved: Record<ListName, Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  for (const list of listNames) {
    const before = approval?.removals[list];
    const { removals, waits, size } = requests[list];
    const fresh: Entry[] = [];
    for (const entry of removals) {
      if (before?.has(entry) === true) {
        approved[list].add(entry);
        if (!waits) allowed[list].add(entry);
      } else if (!waits) fresh.push(entry);
    }
    if (exceeds(fresh.length, size, guards)) held[list] = fresh;
    else for (const entry of fresh) allowed[list].add(entry);
  }
  const hash = hashRemovals(held);
  if (hash !== undefined && hash === approvedHash) {
    for (const list of listNames) {
      for (const entry of held[list]) {
        allowed[list].add(entry);
        approved[list].add(entry);
      }
      held[list] = [];
    }
    return { allowed, held, hash: undefined, approval: { hash, removals: approved } };
  }
  const left = approved.blocklist.size + approved.allowlist.size > 0;
  return {
    allowed,
    held,
    hash,
    approval: left && approval !== undefined ? { hash: approval.hash, removals: approved } : undefined,
  };
}

function exceeds(count: number, size: number, guards: Guards | undefined): boolean {
  if (count === 0 || guards === undefined) return false;
  if (count > guards.maxRemovals) return true;
  return size >= shareCountsFrom && count * 100 > guards.maxRemovalPercent * size;
}

/** Twelve hexadecimal digits that name a set of removals, whatever their order. */
export function hashRemovals(removals: Readonly<Record<ListName, readonly Entry[]>>): string | undefined {
  const lines = listNames.flatMap((list) => removals[list].map((entry) => `${list} ${entry}`));
  if (lines.length === 0) return undefined;
  return createHash("sha256").update(lines.toSorted().join("\n")).digest("hex").slice(0, 12);
}
