// Except for the primary, origins can't be read back: only the inventory records what wafsync added.
//
// declared        inventory            primary?   then
// -------------   ------------------   --------   ---------------------------------------------
// Alternate       –                    no         add
// Alternate       Alternate, added     any        nothing
// Alternate       Alternate, unknown   no         add again: if the API refuses that, it counts as added, unconfirmed
// Backup          Alternate            no         remove, then add (both recorded before the calls)
// –               any                  no         remove (recorded as unknown before the call)
// any             any                  yes        never removed or added again: waits
//
// An origin whose WafOrigin can't be read counts as declared. A removal on hold waits.
import type { DeclaredOrigin, OriginType } from "../../model/declared.ts";
import { unknownOwners, writeOwners } from "../../model/entry-owners.ts";
import type { OwnedOrigin, Refusal } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import { operationKey } from "../../model/operation.ts";
import { nameKey } from "../../model/resource.ts";
import type { Observed } from "../../model/observed.ts";
import { asksToAdopt } from "../lists/ownership.ts";
import { standingRefusal, versionOf } from "../lists/refusals.ts";
import type { OriginRemoval } from "../lists/removal-guard.ts";

type OriginOperation = Extract<Operation, { kind: "AddOrigin" | "RemoveOrigin" }>;

export interface OriginPlan {
  readonly operations: readonly OriginOperation[];
  /** The content of the inventory before the first operation of this plan. */
  readonly owned: ReadonlyMap<string, OwnedOrigin>;
  /** `Owners`: the same origins are managed, but their owners have changed. */
  readonly change: "None" | "Owners" | "Entries";
  /** Hosts whose removal, or change of type, waits until another host is the primary. */
  readonly waitingForPrimary: readonly string[];
  /** Refused writes that are not retried yet, by host. */
  readonly refused: ReadonlyMap<string, Refusal>;
}

interface OriginsInput {
  readonly wanted: ReadonlyMap<string, DeclaredOrigin>;
  readonly owned: ReadonlyMap<string, OwnedOrigin>;
  readonly observed: Observed;
  readonly refusals: ReadonlyMap<string, Refusal>;
  /** `namespace/name` of every WafOrigin that exists. */
  readonly existing: ReadonlySet<string>;
  readonly nowMs: number;
}

/** The origins to remove. */
export function originRemovals(input: OriginsInput): OriginRemoval[] {
  const { wanted, observed } = input;
  const removals: OriginRemoval[] = [];
  for (const [host, record] of sortedByHost(input.owned)) {
    const declared = wanted.get(host);
    if (declared?.type === record.type || sameHost(host, observed.primaryOrigin)) continue;
    if (declared === undefined && isLeftBehind(record, input.existing)) continue;
    const key = operationKey(removeOrigin(host, record.type, declared));
    const version = declared === undefined ? "" : versionOf(declared);
    if (standingRefusal(input.refusals, key, () => version, input.nowMs) !== undefined) continue;
    removals.push({ host, owners: record.owners });
  }
  return removals;
}

/** @param input.mayRemove whether no removal is on hold */
export function planOrigins(input: OriginsInput & { readonly mayRemove: boolean }): OriginPlan {
  const { observed, wanted } = input;
  const isPrimary = (host: string): boolean => sameHost(host, observed.primaryOrigin);
  const removals: OriginOperation[] = [];
  const adds: OriginOperation[] = [];
  const owned = new Map<string, OwnedOrigin>();
  const waiting: string[] = [];
  const refused = new Map<string, Refusal>();
  const blockedBy = (operation: OriginOperation, version: string): boolean => {
    const refusal = standingRefusal(input.refusals, operationKey(operation), () => version, input.nowMs);
    if (refusal !== undefined) refused.set(operation.host, refusal);
    return refusal !== undefined;
  };

  for (const [host, record] of sortedByHost(input.owned)) {
    const declared = wanted.get(host);
    if (declared?.type === record.type) continue;
    if (declared === undefined && input.mayRemove && isLeftBehind(record, input.existing)) continue;
    owned.set(host, record);
    if (!input.mayRemove) continue;
    if (isPrimary(host)) {
      waiting.push(host);
      continue;
    }
    const version = declared === undefined ? "" : versionOf(declared);
    const removal = removeOrigin(host, record.type, declared);
    if (blockedBy(removal, version)) continue;
    // Unknown from now on: if the process ends after the call, a host that is declared again must be added again.
    owned.set(host, { ...record, addedAtMs: undefined });
    removals.push(removal);
  }
  for (const [host, origin] of wanted) {
    const before = input.owned.get(host);
    const recorded = before?.type === origin.type ? before : undefined;
    // A change of type removes first: the addition is planned once the inventory no longer contains the old type.
    if (recorded?.addedAtMs !== undefined || isPrimary(host) || owned.has(host)) {
      if (recorded !== undefined) owned.set(host, wantedBy(recorded, origin));
      continue;
    }
    const add = addOrigin(origin);
    // A former refusal does not prevent an adoption.
    if (!asksToAdopt(origin.meta) && blockedBy(add, versionOf(origin))) {
      if (recorded !== undefined) owned.set(host, recorded);
      continue;
    }
    owned.set(host, firstRecord(origin));
    adds.push(add);
  }
  return {
    operations: [...adds, ...removals],
    owned,
    change: changeOf(input.owned, owned),
    waitingForPrimary: waiting,
    refused,
  };
}

/** Sorted by name, because an inventory has no order. */
function sortedByHost(owned: ReadonlyMap<string, OwnedOrigin>): (readonly [string, OwnedOrigin])[] {
  return [...owned].toSorted(([a], [b]) => (a < b ? -1 : 1));
}

/** True if its WafOrigin was deleted and retains it. */
function isLeftBehind({ retainedBy }: OwnedOrigin, existing: ReadonlySet<string>): boolean {
  return retainedBy !== undefined && !existing.has(retainedBy);
}

/** Compares host names like DNS: ignores case and a trailing dot. */
export function sameHost(a: string, b: string): boolean {
  const plain = (host: string): string => host.trim().toLowerCase().replace(/\.$/, "");
  return plain(a) === plain(b);
}

function addOrigin(origin: DeclaredOrigin): OriginOperation {
  const ifThere = asksToAdopt(origin.meta) ? ", and adopted if it already exists" : "";
  const reason = `declared by WafOrigin ${nameKey(origin.meta)}${ifThere}`;
  return { kind: "AddOrigin", host: origin.host, type: origin.type, reason };
}

function removeOrigin(host: string, type: OriginType, declared: DeclaredOrigin | undefined): OriginOperation {
  const reason =
    declared === undefined
      ? "added by wafsync, and no WafOrigin declares it any longer"
      : `to be added again as ${declared.type}, as declared by WafOrigin ${nameKey(declared.meta)}`;
  return { kind: "RemoveOrigin", host, type, reason };
}

function firstRecord(origin: DeclaredOrigin): OwnedOrigin {
  const { type } = origin;
  const unknown = { addedAtMs: undefined, unconfirmed: undefined, retainedBy: undefined, owners: unknownOwners };
  return wantedBy({ type, ...unknown, manner: "Added" }, origin);
}

/** The same object if the origin's WafOrigin is unchanged. */
function wantedBy(record: OwnedOrigin, { meta, deletionPolicy }: DeclaredOrigin): OwnedOrigin {
  const owners = writeOwners([{ kind: "WafOrigin", name: nameKey(meta), source: undefined }]);
  const retainedBy = deletionPolicy === "Retain" ? nameKey(meta) : undefined;
  return record.owners === owners && record.retainedBy === retainedBy ? record : { ...record, owners, retainedBy };
}

function changeOf(
  before: ReadonlyMap<string, OwnedOrigin>,
  after: ReadonlyMap<string, OwnedOrigin>,
): OriginPlan["change"] {
  if (before.size !== after.size) return "Entries";
  let change: OriginPlan["change"] = "None";
  for (const [host, record] of after) {
    const other = before.get(host);
    if (other?.type !== record.type || other.addedAtMs !== record.addedAtMs) return "Entries";
    if (other.retainedBy !== record.retainedBy || other.owners !== record.owners) change = "Owners";
  }
  return change;
}
