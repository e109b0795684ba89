// The plan of origins, by the same table of decisions as lists. Except for the primary, origins can't be read back: only the inventory
// records what wafsync added. So one that the API accepted counts as shown while it is declared, and any recorded one when it is not.
//
// - A change of type is a removal, and then an addition: both are recorded before the calls.
// - An origin whose outcome is unknown is added again: if the API refuses that, it counts as added, unconfirmed.
// - A removal is recorded as unknown before the call.
// - The primary is never removed or added.
import type { DeclaredOrigin } from "../model/declared.ts";
import { type EntryOwner, lastDeclaredBy, unknownOwners, writeOwners } from "../model/rule-id.ts";
import type { OwnedOrigin } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import { byAge, nameKey } from "../model/resource.ts";
import { type Context, decide, intends, type Line, type Outcome } from "./decisions.ts";
import { asksToAdopt, standingRefusal, versionOf } from "./ownership.ts";
import type { DraftInput } from "./list-draft.ts";
import type { OriginRemoval } from "./removal-guard.ts";
import { type Gathered, attachmentOf } from "../model/gathered.ts";
import { isOwnersOf, limitedOrigin, ungrantedPart } from "./guest-limits.ts";
import type { Broken, CompiledOrigin } from "./compiled-rule.ts";
import { type BrokenObjects, type LastDeclared, rememberOrigins } from "./remembered.ts";

type OriginOperation = Extract<Operation, { kind: "AddOrigin" | "RemoveOrigin" }>;

export interface OriginPlan {
  readonly operations: readonly OriginOperation[];
  /** The content of the inventory before the first operation of this plan: the same map if nothing changes. */
  readonly owned: ReadonlyMap<string, OwnedOrigin>;
  /** What was decided, by host. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** The origins to remove, also if an obstacle prevents all removals. */
  readonly removals: readonly OriginRemoval[];
}

/** One origin of one type. */
interface OriginLine extends Line {
  readonly host: string;
  readonly recorded: OwnedOrigin | undefined;
  /** What is declared for the host, perhaps with another type. */
  readonly origin: DeclaredOrigin | undefined;
}

export function planOrigins(input: DraftInput): OriginPlan {
  const { mayForget: mayRemove } = input;
  const { origins: wanted } = input.desired;
  const { origins: before } = input.inventory;
  const context = contextOf(input);
  const outcomes = new Map<string, Outcome>();
  const owned = new Map<string, OwnedOrigin>();
  const [adds, removes, removals]: [OriginOperation[], OriginOperation[], OriginRemoval[]] = [[], [], []];
  for (const [host, recorded] of [...before].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const origin = wanted.get(host);
    if (origin?.type === recorded.type) continue;
    const outcome = decide({ host, recorded, origin, declared: false, shown: true }, context);
    outcomes.set(host, outcome);
    if (intends(outcome, "Remove")) removals.push({ host, owners: recorded.owners });
    if (!mayRemove) owned.set(host, recorded);
    else if (intends(outcome, "Remove")) {
      // Unknown from now on: if the process ends after the call, a host that is declared again must be added again.
      owned.set(host, recorded.addedAtMs === undefined ? recorded : { ...recorded, addedAtMs: undefined });
      removes.push({ kind: "RemoveOrigin", host, type: recorded.type, reason: whyRemoved(origin) });
    } else if (outcome.kind !== "Release") owned.set(host, recorded);
  }
  for (const [host, origin] of wanted) {
    // A change of type removes first: the addition is planned once the inventory no longer contains the old type.
    if (outcomes.has(host)) continue;
    const recorded = before.get(host);
    const line = { host, recorded, origin, declared: true, shown: recorded?.addedAtMs !== undefined };
    const outcome = decide(line, context);
    outcomes.set(host, outcome);
    if (intends(outcome, "Add")) {
      const ifThere = asksToAdopt(origin.meta) ? ", and adopted if it already exists" : "";
      const reason = `declared by WafOrigin ${nameKey(origin.meta)}${ifThere}`;
      owned.set(host, wantedBy(recorded ?? { ...unknownOrigin, type: origin.type }, origin));
      adds.push({ kind: "AddOrigin", host, type: origin.type, reason });
    } else if (recorded !== undefined) {
      owned.set(host, outcome.kind === "Refused" ? recorded : wantedBy(recorded, origin));
    }
  }
  const isSame = owned.size === before.size && [...owned].every(([host, record]) => before.get(host) === record);
  return { operations: [...adds, ...removes], owned: isSame ? before : owned, outcomes, removals };
}

function contextOf({ desired, observed, refusals, offOn, mayForget, nowMs }: DraftInput): Context<OriginLine> {
  const existing = new Set(desired.compiledOrigins.map(({ origin }) => nameKey(origin.meta)));
  return {
    off: offOn("origins"),
    exclusive: false,
    mayForget,
    isUnread: false,
    readAtMs: 0,
    windowMs: 0,
    formerOf: lastDeclaredBy,
    // Its WafOrigin was deleted and retains it, and no other one declares the host.
    isRetained: ({ recorded, origin }) =>
      origin === undefined && recorded?.retainedBy !== undefined && !existing.has(recorded.retainedBy),
    isAdopted: () => false,
    hasRoom: () => true,
    isPrimary: ({ host }) => sameHost(host, observed.primaryOrigin),
    refusalsOf: ({ host, recorded, origin }, call) => {
      // A former refusal does not prevent an adoption.
      if (call === "Add" && origin !== undefined && asksToAdopt(origin.meta)) return [];
      const version = origin === undefined ? "" : versionOf(origin);
      const key = call === "Add" ? `+${host} ${origin?.type}` : `-${host} ${recorded?.type}`;
      const refusal = standingRefusal(refusals, `origins ${key}`, () => version, nowMs);
      return refusal === undefined ? [] : [refusal];
    },
    contestedUntil: () => undefined,
  };
}

function whyRemoved(origin: DeclaredOrigin | undefined): string {
  return origin === undefined
    ? "added by wafsync, and no WafOrigin declares it any longer"
    : `to be added again as ${origin.type}, as declared by WafOrigin ${nameKey(origin.meta)}`;
}

/** What the record says of an origin before the call that adds it. */
const unknownOrigin = {
  addedAtMs: undefined,
  unconfirmed: undefined,
  retainedBy: undefined,
  owners: unknownOwners,
  manner: "Added",
} as const;

/** Compares host names like DNS: ignores case and a trailing dot. */
export function sameHost(a: string, b: string): boolean {
  const plain = (host: string): string => host.trim().toLowerCase().replace(/\.$/, "");
  return plain(a) === plain(b);
}

/** The same object if the origin's WafOrigin is unchanged. */
function wantedBy(record: OwnedOrigin, { meta, deletionPolicy }: DeclaredOrigin): OwnedOrigin {
  const owners = writeOwners([{ kind: "WafOrigin", name: nameKey(meta), source: undefined }]);
  const retainedBy = deletionPolicy === "Retain" ? nameKey(meta) : undefined;
  return record.owners === owners && record.retainedBy === retainedBy ? record : { ...record, owners, retainedBy };
}

/**
 * The desired origins of an instance. A host has one type: if there are two WafOrigins for a host, the owner's takes precedence, then
 * the older one.
 */
export interface DesiredOrigins {
  /** By host. */
  readonly wanted: ReadonlyMap<string, DeclaredOrigin>;
  readonly compiled: readonly CompiledOrigin[];
  /** Those that only the record says are declared, each with what can't be read. */
  readonly remembered: ReadonlyMap<string, Broken>;
  /** Whether it is unknown if some WafOrigin is attached. */
  readonly isUnknown: boolean;
}

export function compileOrigins(
  gathered: Gathered,
  objects?: Pick<BrokenObjects, "of">,
  recorded: LastDeclared["origins"] = new Map(),
): DesiredOrigins {
  const wanted = new Map<string, DeclaredOrigin>();
  const compiled: CompiledOrigin[] = [];
  const unknown = new Map<string, Broken>();
  const isOwners = (origin: DeclaredOrigin): boolean => isOwnersOf(gathered.instance, origin);
  const byRank = (a: DeclaredOrigin, b: DeclaredOrigin): number =>
    Number(isOwners(b)) - Number(isOwners(a)) || byAge(a.meta, b.meta);
  for (const declared of gathered.origins.toSorted(byRank)) {
    if (declared.meta.deleting) continue;
    const { namespace } = declared.meta;
    const attachment = attachmentOf(gathered, declared.meta);
    if (attachment.state === "Unknown") {
      const name = nameKey(declared.meta);
      unknown.set(name, { reason: `WafOrigin ${name}: ${attachment.message}`, letGo: "delete the WafOrigin" });
    }
    if (attachment.state !== "Allowed") {
      compiled.push({ origin: declared, isAttached: false, verdict: "NotAllowed", message: attachment.message });
      continue;
    }
    const { grant } = attachment;
    const origin = limitedOrigin(declared, grant);
    const older = wanted.get(origin.host);
    if (older !== undefined && older.type !== origin.type) {
      const other =
        isOwners(origin) || older.meta.namespace === namespace
          ? `WafOrigin ${nameKey(older.meta)}`
          : "a WafOrigin of another namespace";
      const message = `${origin.host} is declared as ${older.type} by ${other}, which takes precedence: delete one of the two, or give them the same type.`;
      compiled.push({ origin, isAttached: true, verdict: "Conflict", message });
      continue;
    }
    if (older === undefined) wanted.set(origin.host, origin);
    const ungranted = ungrantedPart(gathered.instance, declared, grant);
    const verdict = ungranted === undefined ? "Accepted" : "NotAllowed";
    compiled.push({ origin, isAttached: true, verdict, message: ungranted ?? "" });
  }
  const brokenOf = (owner: EntryOwner): Broken | undefined => objects?.of(owner) ?? unknown.get(owner.name);
  const recalled = rememberOrigins(gathered, recorded, brokenOf, wanted);
  for (const [host, { origin }] of recalled) wanted.set(host, origin);
  const remembered = new Map([...recalled].map(([host, { broken }]) => [host, broken]));
  return { wanted, compiled, remembered, isUnknown: unknown.size > 0 };
}
