// The desired state of one instance: what should be on each list, which rules want each entry, and what came of each rule.
//
//   gathered rules ──▶ attached? ──▶ parsed ──▶ expired? ──▶ guards ──▶ conflicts ──▶ carved ──▶ lists
//
// An entry that is refused at any of these steps is reported on its rule and stops nothing else.
import type { DeclaredInstance, DeclaredOrigin, DeclaredRule, Guards, ListName } from "../../model/declared.ts";
import { listOf } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import { byAge, nameKey } from "../../model/resource.ts";
import { decideAttachment } from "../access/attach.ts";
import type { Holders, SourceOfEntry } from "../lists/conflicts.ts";
import { replaceCarved } from "../lists/carved-entries.ts";
import { settleConflicts } from "../lists/conflicts.ts";
import type { CompiledOrigin, CompiledRule, RuleVerdict } from "../lists/compiled-rule.ts";
import { describeEmpty, describeRejected } from "../lists/compiled-rule.ts";
import { compileOrigins } from "../origins/desired-origins.ts";
import type { EntryGuards } from "../lists/guards.ts";
import { compileGuards, guardEntries } from "../lists/guards.ts";
import type { Hold } from "../lists/holds.ts";
import { HoldIndex } from "../lists/holds.ts";
import type { RejectedEntry, RuleEntries } from "../lists/rule-entries.ts";
import { readRuleEntries } from "../lists/rule-entries.ts";

export interface DesiredState {
  readonly instance: DeclaredInstance;
  /** Who wants each entry: never an empty array. */
  readonly lists: Readonly<Record<ListName, ReadonlyMap<Entry, readonly CompiledRule[]>>>;
  /** By host. */
  readonly origins: ReadonlyMap<string, DeclaredOrigin>;
  readonly rules: readonly CompiledRule[];
  readonly compiledOrigins: readonly CompiledOrigin[];
  /** What can't be read, and which removals wait for it. */
  readonly holds: readonly Hold[];
  /** True if it is another one once it is known what is managed. */
  readonly dependsOnManaged: boolean;
  /** How many removals a plan may have; undefined where the owner asked for all of them. */
  readonly removalGuards: Guards | undefined;
  /** What is wrong with the instance itself. While there is any, nothing is written. */
  readonly instanceFaults: readonly string[];
  /** When the next rule expires. */
  readonly nextExpiryMs: number | undefined;
}

/**
 * Works out the desired state from what was gathered. `nowMs` decides which rules have expired, and `managed` who wins a conflict:
 * it only matters if the result `dependsOnManaged`.
 */
export function compileDesired(gathered: Gathered, nowMs: number, managed?: Inventory["entries"]): DesiredState {
  const { instance } = gathered;
  const origins = compileOrigins(gathered);
  const guards = compileGuards(
    instance,
    origins.compiled.filter(({ verdict }) => verdict === "Accepted").map(({ origin }) => origin),
  );
  const holds: Hold[] = [...gathered.brokenSources, ...origins.held].map((reason) => ({
    scope: { kind: "All" },
    reason,
  }));
  if (gathered.unconfirmed !== undefined) holds.push({ scope: { kind: "Unconfirmed" }, reason: gathered.unconfirmed });
  const drafts = gathered.rules
    .toSorted((a, b) => byAge(a.rule.meta, b.rule.meta))
    .map((rule) => draftRule(rule, gathered, guards, nowMs, holds));
  const holders = holdersOf(holds, gathered, managed);
  const settled = settleConflicts(drafts, holders, sourcesOf(gathered));
  const rules = replaceCarved(settled.rules);
  return {
    instance,
    lists: { blocklist: wantedOn("blocklist", rules), allowlist: wantedOn("allowlist", rules) },
    origins: origins.wanted,
    rules,
    compiledOrigins: origins.compiled,
    holds,
    dependsOnManaged: settled.hasConflicts || holds.some(({ scope }) => scope.kind === "Source"),
    removalGuards: instance.guards,
    instanceFaults: guards.faults,
    nextExpiryMs: nextExpiry(rules, nowMs),
  };
}

/**
 * The desired state of an instance that is being deleted: nothing. Its owner asked for the deletion, so no guard applies; but
 * what other writers added stays, whatever the policy was.
 */
export function nothingDesired(instance: DeclaredInstance): DesiredState {
  const { blocklist, allowlist, origins } = instance.policies;
  const policies = { blocklist: withoutExclusive(blocklist), allowlist: withoutExclusive(allowlist), origins };
  return {
    instance: { ...instance, policies },
    lists: { blocklist: new Map(), allowlist: new Map() },
    origins: new Map(),
    rules: [],
    compiledOrigins: [],
    holds: [],
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

function holdersOf(holds: readonly Hold[], gathered: Gathered, managed: Inventory["entries"] | undefined): Holders {
  const isAwaiting = holds.some(({ scope }) => scope.kind === "Source");
  if (managed === undefined || !isAwaiting) return { managed, awaiting: undefined };
  const index = new HoldIndex(holds, { entries: managed }, existingRulesOf(gathered.rules.map(({ rule }) => rule)));
  const awaiting = (list: ListName, entry: Entry): string | undefined => {
    const record = managed[list].get(entry);
    return record === undefined ? undefined : index.awaiting(list, record)[0];
  };
  return { managed, awaiting };
}

/** `namespace/name` of the rules that exist and are not being deleted. */
export function existingRulesOf(rules: readonly DeclaredRule[]): ReadonlySet<string> {
  return new Set(rules.flatMap(({ meta }) => (meta.deleting ? [] : [nameKey(meta)])));
}

/** Only conflicts ask for these, which are few. */
function sourcesOf({ rules }: Gathered): SourceOfEntry {
  const known = new Map<string, ReadonlyMap<Entry, string>>();
  return ({ id }, entry) => {
    const rule = rules.find(({ rule }) => nameKey(rule.meta) === id);
    const sources = known.get(id) ?? (rule === undefined ? new Map() : readRuleEntries(rule).entries);
    known.set(id, sources);
    return sources.get(entry) ?? "";
  };
}

/** When a rule's entries go: the earlier of `expiresAt` and creation plus `ttl`; undefined where it never expires. */
export function expiryOf(rule: DeclaredRule): number | undefined {
  const byTtl =
    rule.ttlMs === undefined || rule.meta.createdAtMs === undefined ? undefined : rule.meta.createdAtMs + rule.ttlMs;
  if (rule.expiresAtMs === undefined) return byTtl;
  return byTtl === undefined ? rule.expiresAtMs : Math.min(rule.expiresAtMs, byTtl);
}

function draftRule(
  gatheredRule: GatheredRule,
  gathered: Gathered,
  guards: EntryGuards,
  nowMs: number,
  holds: Hold[],
): CompiledRule {
  const { rule } = gatheredRule;
  const list = listOf(rule);
  const id = nameKey(rule.meta);
  const base = { rule, id, list, parts: [], rejected: [], carved: [], expired: false, entries: new Set<Entry>() };
  const labels = gathered.namespaceLabels.get(rule.meta.namespace);
  const attachment = decideAttachment(gathered.instance, rule.meta.namespace, labels);
  if (attachment.state !== "Allowed") {
    if (attachment.state === "Unknown") {
      holds.push({ scope: { kind: "Rule", list, rule: id }, reason: `WafIpRule ${id}: ${attachment.message}` });
    }
    return { ...base, verdict: "NotAllowed", message: attachment.message, expiresAtMs: expiryOf(rule) };
  }
  const read = readRuleEntries(gatheredRule);
  const expiresAtMs = expiryOf(rule);
  const expired = rule.meta.deleting || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
  const guarded = guardEntries(guards, list, read.entries);
  if (!expired) holds.push(...holdsOf(id, list, read));
  return {
    ...base,
    // What is wrong with the entries of an expired rule matters no more.
    ...(expired ? ({ verdict: "Accepted", message: "" } as const) : verdictOf(gatheredRule, read, guarded.rejected)),
    parts: read.parts,
    entries: expired ? new Set() : guarded.entries,
    rejected: expired ? [] : [...read.invalid, ...guarded.rejected],
    carved: expired ? [] : guarded.carved,
    expiresAtMs,
    expired,
  };
}

/** What the rule can't be asked now: each missing source by itself, and all invalid lines together. */
function holdsOf(rule: string, list: ListName, { missing, invalid }: RuleEntries): Hold[] {
  const holds = missing.map(({ source, problem }): Hold => ({
    scope: { kind: "Source", list, rule, source },
    reason: `WafIpRule ${rule}: ${problem}`,
  }));
  const first = invalid[0];
  if (first === undefined) return holds;
  const more = invalid.length === 1 ? "" : ` (and ${invalid.length - 1} more)`;
  const reason = `WafIpRule ${rule} has an entry that can't be read, ${first.source}${more}.`;
  return [...holds, { scope: { kind: "Rule", list, rule }, reason }];
}

function verdictOf(
  gathered: GatheredRule,
  { entries, missing, invalid }: RuleEntries,
  refused: readonly RejectedEntry[],
): { readonly verdict: RuleVerdict; readonly message: string } {
  if (missing.length > 0) {
    return { verdict: "SourceMissing", message: missing.map(({ problem }) => problem).join(" ") };
  }
  const message = describeRejected([...invalid, ...refused]);
  if (invalid.length > 0) return { verdict: "InvalidEntries", message };
  if (refused.length > 0) return { verdict: "GuardRejected", message };
  if (entries.size === 0) return { verdict: "NoEntries", message: describeEmpty(gathered) };
  return { verdict: "Accepted", message: "" };
}

/** Entries that the same rules want share one array, which spares memory and lets others compare it by identity. */
function wantedOn(list: ListName, rules: readonly CompiledRule[]): ReadonlyMap<Entry, readonly CompiledRule[]> {
  const wanted = new Map<Entry, readonly CompiledRule[]>();
  for (const rule of rules) {
    if (rule.list !== list) continue;
    const only = [rule];
    const joined = new Map<readonly CompiledRule[], readonly CompiledRule[]>();
    for (const entry of rule.entries) {
      const others = wanted.get(entry);
      if (others === undefined) {
        wanted.set(entry, only);
        continue;
      }
      const all = joined.get(others) ?? [...others, rule];
      joined.set(others, all);
      wanted.set(entry, all);
    }
  }
  return wanted;
}

function nextExpiry(rules: readonly CompiledRule[], nowMs: number): number | undefined {
  let next: number | undefined;
  for (const { expiresAtMs, verdict } of rules) {
    // A time in the past would wake the instance for ever; a rule that is not attached has nothing to expire.
    if (expiresAtMs === undefined || expiresAtMs <= nowMs || verdict === "NotAllowed") continue;
    next = Math.min(next ?? expiresAtMs, expiresAtMs);
  }
  return next;
}
