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
import { byAge, nameKey, type ResourceMeta } from "../../model/resource.ts";
import { decideAttachment } from "../access/attach.ts";
import { EntryQuota, limitedRule, ungrantedBeside, ungrantedIn } from "../access/guest-rule.ts";
import type { Holders, SourceOfEntry } from "../lists/conflicts.ts";
import { replaceCarved } from "../lists/carved-entries.ts";
import { settleConflicts } from "../lists/conflicts.ts";
import type { CompiledOrigin, CompiledRule, RuleVerdict } from "../lists/compiled-rule.ts";
import { describeRejected } from "../lists/compiled-rule.ts";
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
    // Those of guests protect nothing: otherwise an origin of theirs could lift a block.
    origins.compiled
      .filter(({ origin, verdict }) => verdict === "Accepted" && isOwnersOf(instance, origin))
      .map(({ origin }) => origin),
  );
  const quota = new EntryQuota();
  const holds: Hold[] = [...gathered.brokenSources, ...origins.held].map((reason) => ({
    scope: { kind: "All" },
    reason,
  }));
  if (gathered.unconfirmed !== undefined) holds.push({ scope: { kind: "Unconfirmed" }, reason: gathered.unconfirmed });
  const drafts = gathered.rules
    .toSorted((a, b) => byAge(a.rule.meta, b.rule.meta))
    .map((rule) => draftRule(rule, { gathered, guards, quota, nowMs, holds }));
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

interface Drafting {
  readonly gathered: Gathered;
  readonly guards: EntryGuards;
  readonly quota: EntryQuota;
  readonly nowMs: number;
  readonly holds: Hold[];
}

function draftRule(gatheredRule: GatheredRule, { gathered, guards, quota, nowMs, holds }: Drafting): CompiledRule {
  const { instance } = gathered;
  const { meta } = gatheredRule.rule;
  const attachment = decideAttachment(instance, "WafIpRule", meta.namespace, gathered.namespaceLabels.get(meta.namespace));
  const grant = attachment.state === "Allowed" ? attachment.grant : undefined;
  const rule = grant === undefined ? gatheredRule.rule : limitedRule(gatheredRule.rule, grant);
  const list = listOf(rule);
  const id = nameKey(meta);
  const expiresAtMs = expiryOf(rule);
  const base = {
    ...{ rule, id, list, isOwners: isOwnersOf(instance, rule), isAttached: true },
    ...{ parts: [], rejected: [], carved: [], expired: false, entries: new Set<Entry>(), expiresAtMs },
  };
  if (attachment.state !== "Allowed") {
    if (attachment.state === "Unknown") {
      holds.push({ scope: { kind: "Rule", list, rule: id }, reason: `WafIpRule ${id}: ${attachment.message}` });
    }
    const verdict = attachment.state === "NotGranted" ? "NotGranted" : "NotAllowed";
    return { ...base, isAttached: false, verdict, message: attachment.message };
  }
  const ungranted = grant === undefined ? undefined : ungrantedIn(instance, rule, grant);
  if (ungranted !== undefined) return { ...base, isAttached: false, verdict: "NotGranted", message: ungranted };
  const read = readRuleEntries(gatheredRule);
  const expired = rule.meta.deleting || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
  const guarded = guardEntries(guards, list, read.entries, grant);
  if (!expired) holds.push(...holdsOf(id, list, read));
  const sourceOf = (entry: Entry): string => read.entries.get(entry) ?? "";
  const wanted = expired ? new Set<Entry>() : guarded.entries;
  const fitting =
    grant === undefined
      ? { entries: wanted, rejected: [] }
      : quota.take(meta.namespace, list, wanted, grant, sourceOf);
  return {
    ...base,
    ...verdictOf({
      missing: read.missing.map(({ problem }) => problem),
      invalid: read.invalid,
      refused: guarded.rejected,
      tooMany: fitting.rejected,
      ungranted: grant === undefined ? undefined : ungrantedBeside(instance, gatheredRule.rule, grant),
    }),
    parts: read.parts,
    entries: fitting.entries,
    rejected: [...read.invalid, ...guarded.rejected, ...fitting.rejected],
    carved: expired ? [] : guarded.carved.filter(({ entry }) => fitting.entries.has(entry)),
    expired,
  };
}

/** Whether the object is of the instance's own namespace. */
function isOwnersOf(instance: DeclaredInstance, { meta }: { readonly meta: ResourceMeta }): boolean {
  return meta.namespace === instance.meta.namespace;
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

function verdictOf({
  missing,
  invalid,
  refused,
  tooMany,
  ungranted,
}: {
  readonly missing: readonly string[];
  readonly invalid: readonly RejectedEntry[];
  readonly refused: readonly RejectedEntry[];
  readonly tooMany: readonly RejectedEntry[];
  readonly ungranted: string | undefined;
}): { verdict: RuleVerdict; message: string } {
  if (missing[0] !== undefined) return { verdict: "SourceMissing", message: missing.join(" ") };
  if (invalid[0] !== undefined) return { verdict: "InvalidEntries", message: describeRejected(invalid) };
  if (refused[0] !== undefined) return { verdict: "GuardRejected", message: describeRejected(refused) };
  if (tooMany[0] !== undefined) return { verdict: "QuotaExceeded", message: describeRejected(tooMany) };
  if (ungranted !== undefined) return { verdict: "NotGranted", message: ungranted };
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
  for (const { expiresAtMs, isAttached } of rules) {
    // A time in the past would wake the instance for ever; a rule that is not attached has nothing to expire.
    if (expiresAtMs === undefined || expiresAtMs <= nowMs || !isAttached) continue;
    next = Math.min(next ?? expiresAtMs, expiresAtMs);
  }
  return next;
}
