// The desired state of one instance: the entries of each list, the rules that declare each entry, and the result of each rule.
//
//   gathered rules ──▶ attached? ──▶ parsed ──▶ except ──▶ guards ──▶ expired? ──▶ conflicts ──▶ aggregate ──▶ lists
//
// An entry that is rejected at any of these steps is reported on its rule and affects nothing else.
import { describeSource } from "../model/address-source.ts";
import {
  type DeclaredInstance,
  type DeclaredOrigin,
  eachList,
  type Guards,
  type ListName,
  listNames,
} from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { NetworkIndex } from "../address/ranges.ts";
import type { Gathered } from "../model/gathered.ts";
import type { Shown } from "../model/observed.ts";
import { byAge } from "../model/resource.ts";
import { finished } from "../model/finished.ts";
import { ruleIdOf } from "../model/rule-id.ts";
import { EntryQuota } from "./guest-limits.ts";
import { type Aggregated, aggregateRules } from "./aggregation.ts";
import { protectOthers, settleConflicts } from "./conflicts.ts";
import { asksToAdopt } from "./ownership.ts";
import type { Broken, CompiledOrigin, CompiledRule, ParsedSources } from "./compiled-rule.ts";
import { type AdmittedRule, admitInSlices, type Drafting, draftRule, admitStandIn } from "./draft-rule.ts";
import { compileOrigins } from "./origin-plan.ts";
import { Book, type Declarers } from "./book.ts";
import { compileGuards, type GuardedEntries } from "./guards.ts";
import { Latest } from "./latest.ts";
import type { Obstacle } from "./removal-guard.ts";
import { BrokenObjects, type LastDeclared, type Memory, noMemory, remember } from "./remembered.ts";

export interface DesiredState {
  readonly instance: DeclaredInstance;
  /** The union of the rules' entries, with the rules that need each of them. */
  readonly lists: Readonly<Record<ListName, ReadonlyMap<Entry, Declarers>>>;
  readonly books: Books;
  /** By host. */
  readonly origins: ReadonlyMap<string, DeclaredOrigin>;
  readonly rules: readonly CompiledRule[];
  /** The former entries of feeds that have expired, by the ID of the rule and the source, with a space between them. */
  readonly ended: ReadonlyMap<string, Pick<ReadonlyMap<Entry, number>, "has">>;
  readonly compiledOrigins: readonly CompiledOrigin[];
  /** Rules that stand in for objects that can't be read. */
  readonly standIns: readonly CompiledRule[];
  /** Origins that only the record says are declared, by host, each with what can't be read. */
  readonly rememberedOrigins: ReadonlyMap<string, Broken>;
  /** The IDs of the rules that exist and are not being deleted. */
  readonly existingRules: ReadonlySet<string>;
  /** Rules that may seem to be deleted, and may only be unreadable. */
  readonly unknownRules: ReadonlySet<string>;
  /** Why an entry that no record assigns to a rule may be declared nevertheless. */
  readonly unread: Memory["unread"];
  /** Why nothing may be removed: the declared state could not be read again. */
  readonly unconfirmed: Obstacle | undefined;
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
 * What stays known of one instance from plan to plan, so that only what has changed is read, judged and compared. The desired state that
 * was compiled last with it is the only one that may be planned.
 */
export class Books {
  readonly parsed: ParsedSources = new Latest();
  readonly guarded = new Latest<GuardedEntries>();
  readonly aggregated = new Latest<Aggregated>();
  /** For each list, the entries of the other one. */
  readonly others = new Latest<NetworkIndex>();
  readonly blocklist = new Book();
  readonly allowlist = new Book();

  /** Starts to compile: what this does not ask for is forgotten. */
  begin(): void {
    for (const latest of [this.parsed, this.guarded, this.aggregated, this.others]) latest.begin();
  }

  rulesChanged(rules: readonly CompiledRule[]): DesiredState["lists"] {
    for (const list of listNames) this[list].rulesChanged(rules.filter((rule) => rule.list === list));
    return { blocklist: this.blocklist.declared, allowlist: this.allowlist.declared };
  }
}

/**
 * Computes the desired state from the gathered objects. `nowMs` determines which rules have expired. `record` and `shown`
 * determine which rule wins a conflict, and which entries yield: they matter only if the result `dependsOnManaged`.
 */
export function compileDesired(
  gathered: Gathered,
  nowMs: number,
  record?: LastDeclared,
  shown?: Shown,
  books?: Books,
): DesiredState {
  return finished(compileInSlices(gathered, nowMs, record, shown, books));
}

/** The same in slices, because thousands of rules would block the event loop. */
export function* compileInSlices(
  gathered: Gathered,
  nowMs: number,
  record?: LastDeclared,
  shown?: Shown,
  books = new Books(),
): Generator<undefined, DesiredState> {
  const { instance } = gathered;
  books.begin();
  const { admitted, origins, existingRules, memory, isBroken } = yield* rememberInSlices(
    gathered,
    nowMs,
    record,
    books.parsed,
  );
  // Each rule by itself.
  const guards = compileGuards(instance, origins.compiled);
  const drafting = { gathered, guards, guarded: books.guarded, quota: new EntryQuota(), memory, record, shown };
  const drafts = yield* draftsInSlices(admitted, drafting);
  yield;
  // All rules together.
  const now = { managed: record?.entries, shown: shown?.lists };
  const settled = settleConflicts(drafts, now);
  yield;
  const guestsAllow = settled.some(({ isOwners, list }) => !isOwners && list === "allowlist");
  const all = aggregateRules(protectOthers(settled, now), now, books);
  yield;
  const lists = books.rulesChanged(all);
  yield;
  return {
    instance,
    lists,
    books,
    origins: origins.wanted,
    rules: all.filter(({ isStandIn }) => isStandIn !== true),
    standIns: all.filter(({ isStandIn }) => isStandIn === true),
    ended: endedIn(gathered, nowMs),
    compiledOrigins: origins.compiled,
    rememberedOrigins: origins.remembered,
    existingRules,
    unknownRules: memory.unknown,
    unread: memory.unread,
    unconfirmed:
      gathered.unconfirmed === undefined
        ? undefined
        : { kind: "Unconfirmed", reason: gathered.unconfirmed, hash: undefined },
    dependsOnManaged:
      settled !== drafts ||
      guestsAllow ||
      all.some(({ widest, rule }) => widest !== undefined && asksToAdopt(rule.meta)) ||
      isBroken ||
      all.some(({ rule, parts: some }) => rule.yieldsTo !== undefined && some.length > 0),
    removalGuards: instance.guards,
    instanceFaults: guards.faults,
    nextExpiryMs: nextExpiry(all, nowMs),
  };
}

/** What can be read, and what the record remembers of the rest. */
function* rememberInSlices(gathered: Gathered, nowMs: number, record: LastDeclared | undefined, known: ParsedSources) {
  const oldestFirst = gathered.rules.toSorted((a, b) => byAge(a.rule.meta, b.rule.meta));
  yield;
  const admitted: AdmittedRule[] = [];
  for (const given of oldestFirst) {
    admitted.push(yield* admitInSlices(given, gathered, nowMs, known));
    yield;
  }
  // In a directory, a rule without access may be one whose namespace is mistyped.
  const refused = admitted.flatMap(({ base: { rule, message }, isStranger }) =>
    isStranger === true ? [{ declared: rule, problem: message }] : [],
  );
  const objects = new BrokenObjects(gathered, refused, nowMs);
  const origins = compileOrigins(gathered, objects, record?.origins);
  const parts = admitted.flatMap(({ broken }) => broken);
  const existingRules = new Set(admitted.flatMap(({ base: { id, rule } }) => (rule.meta.deleting ? [] : [id])));
  const memory = record === undefined ? noMemory : remember(record, objects, parts, existingRules);
  yield;
  const isBroken = parts.length > 0 || !objects.isEmpty || origins.isUnknown;
  return { admitted, origins, existingRules, memory, isBroken };
}

/**
 * Evaluates each rule separately: first those that stand in for objects that can't be read, then the others, oldest first. Rules that
 * yield come last, because they depend on the Allow entries of the others.
 */
function* draftsInSlices(admitted: readonly AdmittedRule[], drafting: Drafting): Generator<undefined, CompiledRule[]> {
  const live = admitted.filter(({ base, read }) => read !== undefined && !base.expired);
  const joined = new Set(live.map(({ base: { list, id } }) => `${list} ${id}`));
  const drafts: CompiledRule[] = [];
  for (const [key, remembered] of drafting.memory.rules) {
    if (!joined.has(key)) drafts.push(draftRule(admitStandIn(remembered, drafting.gathered), drafting, []));
  }
  yield;
  const yields = ({ base }: AdmittedRule): boolean => base.rule.yieldsTo !== undefined;
  for (const rule of [...admitted.filter((one) => !yields(one)), ...admitted.filter(yields)]) {
    drafts.push(draftRule(rule, drafting, drafts));
    yield;
  }
  return drafts;
}

/**
 * The desired state of an instance that is being deleted: nothing. Its owner requested the deletion, so no guard applies. Entries
 * of other writers stay, whatever the policy was.
 */
export function nothingDesired(instance: DeclaredInstance, books?: Books): DesiredState {
  const { policies: given } = instance;
  const policies = { ...given, ...eachList((list) => (given[list] === "Exclusive" ? "Additive" : given[list])) };
  const gathered: Gathered = {
    instance: { ...instance, policies },
    key: { state: "Missing", problem: "" },
    rules: [],
    origins: [],
    cacheClears: [],
    namespaceLabels: new Map(),
    brokenSources: [],
    sameKey: [],
  };
  const desired = compileDesired(gathered, 0, undefined, undefined, books);
  return { ...desired, removalGuards: undefined, instanceFaults: [] };
}

function endedIn({ rules }: Gathered, nowMs: number): DesiredState["ended"] {
  const ended = new Map<string, Pick<ReadonlyMap<Entry, number>, "has">>();
  for (const { rule, texts } of rules) {
    for (const text of texts) {
      if (text.state !== "Listed" || (text.ended ?? text.ending) === undefined) continue;
      const hasEnded = (entry: Entry): boolean => (text.ending?.get(entry) ?? Number.POSITIVE_INFINITY) <= nowMs;
      const has = (entry: Entry): boolean => text.ended?.has(entry) === true || hasEnded(entry);
      ended.set(`${ruleIdOf(rule.meta)} ${describeSource(text.source)}`, { has });
    }
  }
  return ended;
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
