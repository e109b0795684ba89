// The desired state of one instance: the entries of each list, the rules that declare each entry, and the result of each rule.
//
//   gathered rules ──▶ attached? ──▶ parsed ──▶ except ──▶ guards ──▶ expired? ──▶ conflicts ──▶ aggregate ──▶ lists
//
// An entry that is rejected at any of these steps is reported on its rule and affects nothing else.
import type { DeclaredInstance, DeclaredOrigin, DeclaredRule, Guards, ListName } from "../../model/declared.ts";
import type { EntryOwners } from "../../model/entry-owners.ts";
import { readOwners } from "../../model/entry-owners.ts";
import type { Entry } from "../../address/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Shown } from "../../model/observed.ts";
import { byAge } from "../../model/resource.ts";
import { finished } from "../../model/finished.ts";
import { ruleIdOf } from "../../model/rule-id.ts";
import { EntryQuota } from "../lists/guest-limits.ts";
import type { Protection } from "../lists/protect-others.ts";
import { protectOthers } from "../lists/protect-others.ts";
import type { Holders } from "../lists/conflicts.ts";
import { Aggregation, SentAs } from "../lists/aggregation.ts";
import { settleConflicts } from "../lists/conflicts.ts";
import { asksToAdopt } from "../lists/ownership.ts";
import type { CompiledOrigin, CompiledRule } from "../lists/compiled-rule.ts";
import { type Drafting, draftRule, isOwnersOf } from "./draft-rule.ts";
import { compileOrigins } from "../origins/desired-origins.ts";
import type { EntryGuards } from "../lists/guards.ts";
import { compileGuards } from "../lists/guards.ts";
import type { Hold, ObjectHolds } from "../lists/holds.ts";
import { HoldIndex, noObjectHolds } from "../lists/holds.ts";
import type { WantedEntries } from "../lists/wanted-entries.ts";
import { WantedLists } from "../lists/wanted-entries.ts";
import { holdsOfObjects } from "./broken-references.ts";

export interface DesiredState {
  readonly instance: DeclaredInstance;
  /** The union of the rules' entries, with the rules that need each of them: never an empty array. */
  readonly lists: Readonly<Record<ListName, WantedEntries>>;
  /** By host. */
  readonly origins: ReadonlyMap<string, DeclaredOrigin>;
  readonly rules: readonly CompiledRule[];
  /** The former entries of sources that have expired, by the ID of the rule and the source, with a space between them. */
  readonly ended: ReadonlyMap<string, Pick<ReadonlyMap<Entry, number>, "has">>;
  readonly compiledOrigins: readonly CompiledOrigin[];
  /** Unreadable sources, and the removals that they put on hold. */
  readonly holds: readonly Hold[];
  /** The same for objects that are not attached to an instance by mistake, by their owners. */
  readonly ofObjects: ObjectHolds;
  /** True if the result depends on which entries are managed. */
  readonly dependsOnManaged: boolean;
  /** How many removals a plan may have; undefined if the owner requested all of them. */
  readonly removalGuards: Guards | undefined;
  /** The errors of the instance itself. While there are any, nothing is written. */
  readonly instanceFaults: readonly string[];
  /** When the next rule expires. */
  readonly nextExpiryMs: number | undefined;
}

/**
 * Computes the desired state from the gathered objects. `nowMs` determines which rules have expired. `managed` and `shown`
 * determine which rule wins a conflict, and which entries yield: they matter only if the result `dependsOnManaged`.
 */
export function compileDesired(
  gathered: Gathered,
  nowMs: number,
  managed?: Inventory["entries"],
  shown?: Shown,
): DesiredState {
  return finished(compileInSlices(gathered, nowMs, managed, shown));
}

/** The same in slices, because thousands of rules would block the event loop. */
export function* compileInSlices(
  gathered: Gathered,
  nowMs: number,
  managed?: Inventory["entries"],
  shown?: Shown,
): Generator<undefined, DesiredState> {
  const { instance } = gathered;
  const origins = compileOrigins(gathered);
  const guards = guardsIn(gathered, origins.compiled);
  const quota = new EntryQuota();
  const holds: Hold[] = [...gathered.brokenSources, ...origins.held].map((reason) => ({
    scope: { kind: "All" },
    reason,
  }));
  if (gathered.unconfirmed !== undefined) holds.push({ scope: { kind: "Unconfirmed" }, reason: gathered.unconfirmed });
  const drafting = { gathered, guards, quota, nowMs, holds, managed, shown };
  const drafts = yield* draftsInSlices(gathered, drafting);
  const holders = { managed, shown: shown?.lists, awaiting: awaitingOf(holds, gathered, managed) };
  yield;
  const settled = settleConflicts(drafts, holders);
  yield;
  const guestsAllow = settled.rules.some(({ isOwners, list }) => !isOwners && list === "allowlist");
  const ofObjects = holdsOfObjects(gathered, drafts, nowMs);
  const held = heldBlocks({ holds, ofObjects }, gathered, managed);
  yield;
  const { namespace: home } = instance.meta;
  const now = { managed, shown: shown?.lists };
  const protectedRules = protectOthers(settled.rules, { home, ...now, held });
  yield;
  const { aggregation, wanted } = formerly(instance);
  const rules = aggregation.apply(protectedRules, now);
  yield;
  const lists = { blocklist: wanted.on("blocklist", rules), allowlist: wanted.on("allowlist", rules) };
  yield;
  return {
    instance,
    lists,
    origins: origins.wanted,
    rules,
    ended: endedIn(gathered, nowMs),
    compiledOrigins: origins.compiled,
    holds,
    ofObjects,
    dependsOnManaged:
      settled.hasConflicts ||
      guestsAllow ||
      rules.some(({ widest, rule }) => widest !== undefined && asksToAdopt(rule.meta)) ||
      holds.some(({ scope }) => scope.kind === "Source") ||
      rules.some(({ rule, parts }) => rule.yieldsTo !== undefined && parts.length > 0),
    removalGuards: instance.guards,
    instanceFaults: guards.faults,
    nextExpiryMs: nextExpiry(rules, nowMs),
  };
}

/** Evaluates each rule separately, oldest first. Rules that yield come last, because they depend on the Allow entries of the others. */
function* draftsInSlices({ rules }: Gathered, drafting: Drafting): Generator<undefined, CompiledRule[]> {
  const oldestFirst = rules.toSorted((a, b) => byAge(a.rule.meta, b.rule.meta));
  yield;
  const [written, yielding] = [false, true].map((yields) =>
    oldestFirst.filter(({ rule }) => (rule.yieldsTo !== undefined) === yields),
  );
  const drafts: CompiledRule[] = [];
  for (const rule of written ?? []) {
    drafts.push(draftRule(rule, drafting, []));
    yield;
  }
  return [...drafts, ...(yielding ?? []).map((rule) => draftRule(rule, drafting, drafts))];
}

/** The guards on the entries of an instance. */
export function guardsIn({ instance }: Gathered, origins: readonly CompiledOrigin[]): EntryGuards {
  return compileGuards(
    instance,
    // Origins of guests are not protected: otherwise a guest's origin could remove a block.
    origins
      .filter(({ origin, verdict }) => verdict === "Accepted" && isOwnersOf(instance, origin))
      .map(({ origin }) => origin),
  );
}

/**
 * The desired state of an instance that is being deleted: nothing. Its owner requested the deletion, so no guard applies. Entries
 * of other writers stay, whatever the policy was.
 */
export function nothingDesired(instance: DeclaredInstance): DesiredState {
  const { blocklist, allowlist, origins } = instance.policies;
  const policies = { blocklist: withoutExclusive(blocklist), allowlist: withoutExclusive(allowlist), origins };
  return {
    instance: { ...instance, policies },
    lists: { blocklist: new Map(), allowlist: new Map() },
    origins: new Map(),
    rules: [],
    ended: new Map(),
    compiledOrigins: [],
    holds: [],
    ofObjects: noObjectHolds,
    dependsOnManaged: false,
    removalGuards: undefined,
    instanceFaults: [],
    nextExpiryMs: undefined,
  };
}

function withoutExclusive(
  policy: DeclaredInstance["policies"]["blocklist"],
): DeclaredInstance["policies"]["blocklist"] {
  return policy === "Exclusive" ? "Additive" : policy;
}

function awaitingOf(
  holds: readonly Hold[],
  gathered: Gathered,
  managed: Inventory["entries"] | undefined,
): Holders["awaiting"] {
  if (managed === undefined || !holds.some(({ scope }) => scope.kind === "Source")) return undefined;
  const existing = existingRulesOf(gathered.rules.map(({ rule }) => rule));
  const index = new HoldIndex({ holds, ofObjects: noObjectHolds }, { entries: managed }, existing);
  const sentAs = { blocklist: new SentAs(managed.blocklist), allowlist: new SentAs(managed.allowlist) };
  return (list, entry) => {
    for (const sent of sentAs[list].of(entry)) {
      const record = managed[list].get(sent);
      const [rule] = record === undefined ? [] : index.awaiting(list, record);
      if (rule !== undefined) return rule;
    }
    return undefined;
  };
}

function endedIn({ rules }: Gathered, nowMs: number): DesiredState["ended"] {
  const ended = new Map<string, Pick<ReadonlyMap<Entry, number>, "has">>();
  for (const { rule, texts } of rules) {
    for (const text of texts) {
      if (text.state !== "Listed" || (text.ended ?? text.ending) === undefined) continue;
      const hasEnded = (entry: Entry): boolean => (text.ending?.get(entry) ?? Number.POSITIVE_INFINITY) <= nowMs;
      const has = (entry: Entry): boolean => text.ended?.has(entry) === true || hasEnded(entry);
      ended.set(`${ruleIdOf(rule.meta)} ${text.source}`, { has });
    }
  }
  return ended;
}

/** The IDs of the rules that exist and are not being deleted. */
export function existingRulesOf(rules: readonly DeclaredRule[]): ReadonlySet<string> {
  return new Set(rules.flatMap(({ meta }) => (meta.deleting ? [] : [ruleIdOf(meta)])));
}

/** The Block entries on hold, with the namespaces for which they are on hold: no Allow entry of another namespace may override them. */
function heldBlocks(
  held: Pick<DesiredState, "holds" | "ofObjects">,
  gathered: Gathered,
  managed: Inventory["entries"] | undefined,
): Protection["held"] {
  if (managed === undefined || (held.holds.length === 0 && held.ofObjects.isEmpty)) return () => [];
  return () => {
    const existing = existingRulesOf(gathered.rules.map(({ rule }) => rule));
    const index = new HoldIndex(held, { entries: managed }, existing);
    // Many entries share their owners.
    const known = new Map<EntryOwners, ReadonlySet<string>>();
    const namespacesOf = (owners: EntryOwners): ReadonlySet<string> => {
      const names = readOwners(index.unreadable("blocklist", owners)).map(({ name }) => name);
      return new Set(names.map((name) => name.slice(0, name.indexOf("/"))));
    };
    const blocks: { entry: Entry; namespaces: ReadonlySet<string> }[] = [];
    for (const [entry, { owners }] of managed.blocklist) {
      const namespaces = known.get(owners) ?? namespacesOf(owners);
      known.set(owners, namespaces);
      if (namespaces.size > 0) blocks.push({ entry, namespaces });
    }
    return blocks;
  };
}

// The lists of an instance are compiled repeatedly from nearly the same rules. A new status of the instance creates another
// object with the same guards.
const latest = new WeakMap<Guards, { readonly aggregation: Aggregation; readonly wanted: WantedLists }>();

function formerly({ guards }: DeclaredInstance) {
  const known = latest.get(guards) ?? { aggregation: new Aggregation(), wanted: new WantedLists() };
  latest.set(guards, known);
  return known;
}

function nextExpiry(rules: readonly CompiledRule[], nowMs: number): number | undefined {
  let next: number | undefined;
  for (const { expiresAtMs, isAttached, parts } of rules) {
    for (const endMs of [expiresAtMs, ...parts.map(({ firstEndMs }) => firstEndMs)]) {
      // A time in the past would requeue the instance forever; a rule that is not attached has nothing to expire.
      if (endMs !== undefined && endMs > nowMs && isAttached) next = Math.min(next ?? endMs, endMs);
    }
  }
  return next;
}
