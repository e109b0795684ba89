// Evaluates a single rule: whether it is attached, its entries, and the rejected ones. Conflicts with other rules are resolved later.
import {
  type DeclaredInstance,
  type DeclaredRule,
  emptyRule,
  type Grant,
  type ListName,
  listOf,
  type PrefixLengths,
} from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { NetworkIndex, uncoveredBy } from "../address/ranges.ts";
import { type Gathered, type GatheredRule, attachmentOf } from "../model/gathered.ts";
import type { Shown } from "../model/observed.ts";
import { nameOfKey } from "../model/resource.ts";
import { asSentence } from "../model/texts.ts";
import { ownerOfRule, ruleIdOf, ruleLabel } from "../model/rule-id.ts";
import { isOwnersOf, type EntryQuota, limitedRule, ungrantedIn, ungrantedPart } from "./guest-limits.ts";
import {
  type Broken,
  type CompiledRule,
  describeEmpty,
  describeRejected,
  expiryOf,
  faultsIn,
  placeOf,
  type RuleVerdict,
  type ParsedSources,
  readInSlices,
  type RejectedEntry,
  type RuleEntries,
  type RulePart,
} from "./compiled-rule.ts";
import { type EntryGuards, type GuardedEntries, guardEntries } from "./guards.ts";
import type { Latest } from "./latest.ts";
import { withoutYielded } from "./yielding.ts";
import { type BrokenPart, type LastDeclared, type Memory, type RememberedRule, standInMeta } from "./remembered.ts";

/** A rule can have 64 sources, and several conditions repeat the message. */
const problemsShownMax = 8;

/** A rule before its entries are judged: whether it is attached, and what it declares. */
export interface AdmittedRule {
  readonly given: GatheredRule;
  /** With the limits of its grant, and without entries. */
  readonly base: CompiledRule;
  /** Undefined if it is of the owner. */
  readonly grant: Grant | undefined;
  /** Its entries; undefined if it is ignored. */
  readonly read: RuleEntries | undefined;
  /** What of it can't be read. */
  readonly broken: readonly BrokenPart[];
  /** Its namespace has no access, or its labels are unknown. */
  readonly isStranger?: true;
}

export function* admitInSlices(
  given: GatheredRule,
  gathered: Gathered,
  nowMs: number,
  known: ParsedSources,
): Generator<undefined, AdmittedRule> {
  const { instance } = gathered;
  const attachment = attachmentOf(gathered, given.rule.meta);
  const { grant } = attachment;
  const rule = limitedRule(given.rule, grant);
  const base = withoutEntries(rule, instance, nowMs);
  const message = attachment.state === "Allowed" ? ungrantedIn(instance, rule, grant) : attachment.message;
  if (message !== undefined) {
    const { state } = attachment;
    const ignored: CompiledRule = { ...base, isAttached: false, expired: false, verdict: "NotAllowed", message };
    const broken = state === "Unknown" && !base.expired ? [unlabelled(base, message)] : [];
    const isStranger = state === "Unknown" || state === "NotAllowed";
    return { given, base: ignored, grant, read: undefined, broken, ...(isStranger && { isStranger }) };
  }
  const read = yield* readInSlices(given, nowMs, known);
  return { given, base, grant, read, broken: base.expired ? [] : brokenIn(base, read) };
}

/** The rule that stands in for an object that can't be read: it declares what the record says that the object last declared. */
export function admitStandIn(
  { id, list, retains, expiresAtMs }: RememberedRule,
  gathered: Pick<Gathered, "instance" | "namespaceLabels">,
): AdmittedRule {
  const { instance } = gathered;
  const { kind, name } = ownerOfRule(id, undefined);
  const rule: DeclaredRule = {
    meta: { ...standInMeta, kind, ...nameOfKey(name) },
    instance: instance.meta,
    action: list === "blocklist" ? "Block" : "Allow",
    ...emptyRule,
    expiresAtMs,
    deletionPolicy: retains ? "Retain" : "Delete",
  };
  const base = { ...withoutEntries(rule, instance, 0), isStandIn: true } as const;
  const { grant } = attachmentOf(gathered, rule.meta);
  return { given: { rule, texts: [] }, base, grant, read: { parts: [], invalid: [], missing: [] }, broken: [] };
}

export interface Drafting {
  readonly gathered: Gathered;
  readonly guards: EntryGuards;
  /** The latest results of the guards, by rule. */
  readonly guarded: Latest<GuardedEntries>;
  readonly quota: EntryQuota;
  readonly memory: Memory;
  readonly record?: LastDeclared | undefined;
  readonly shown?: Shown | undefined;
}

/** Adds its usage of the namespace's quota to `quota`. @param before the results of all rules that do not yield, if this one yields */
export function draftRule(
  { given, base, grant, read }: AdmittedRule,
  drafting: Drafting,
  before: readonly CompiledRule[],
): CompiledRule {
  if (read === undefined) return base;
  const { gathered, guards, quota, memory, record, shown } = drafting;
  const { id, list, rule, expired } = base;
  const remembered = expired ? undefined : memory.rules.get(`${list} ${id}`);
  const terms = { except: rule.except, grant };
  const guarded = drafting.guarded.of(`${list} ${id}`, [guards.key, JSON.stringify(terms), read.parts], () =>
    guardEntries(guards, list, read.parts, terms),
  );
  if (expired) return { ...base, parts: read.parts, cutFrom: guarded.cutFrom };
  const basis = { allowing: before, record, shown };
  const left = rule.yieldsTo === undefined ? guarded.entries : withoutYielded(rule, guarded.entries, basis);
  const wanted = rule.suggests ? new Set<Entry>() : left;
  const kept = remembered && recall(remembered, rule, wanted, grant, drafting);
  const parts = kept === undefined ? read.parts : [...read.parts, ...kept.parts];
  const cutFrom = kept === undefined ? guarded.cutFrom : new Map([...kept.cutFrom, ...guarded.cutFrom]);
  const sourceOf = (entry: Entry): string => placeOf({ parts, cutFrom }, entry);
  const fitting = quota.take(rule.meta.namespace, list, wanted, grant, sourceOf);
  const rejected = [...read.invalid, ...guarded.rejected, ...fitting.rejected];
  return {
    ...base,
    ...verdictOf(given, read, rejected, ungrantedPart(gathered.instance, given.rule, grant)),
    parts,
    entries: kept === undefined ? fitting.entries : new Set([...kept.remembered.keys(), ...fitting.entries]),
    ...(rule.suggests && { suggested: left }),
    rejected,
    cutFrom,
    widest: rule.aggregate ? widestMerged(guards, list, grant) : undefined,
    ...(kept && { remembered: kept.remembered, lines: kept.lines }),
  };
}

/**
 * The remembered entries that the guards and the grant still accept, apart from those that the rule declares anyway, as they are or
 * merged. The width of a merged network is not judged again: it has exactly the addresses of narrower entries.
 */
function recall(
  { list, parts: recorded, lines }: RememberedRule,
  { meta, except }: DeclaredRule,
  declared: ReadonlySet<Entry>,
  grant: Grant | undefined,
  { guards, quota }: Pick<Drafting, "guards" | "quota">,
): Pick<CompiledRule, "parts" | "remembered" | "lines" | "cutFrom"> {
  const broken = new Map<Entry, Broken>();
  const parts = [...recorded].map(([source, entries]): RulePart => {
    for (const [entry, one] of entries) broken.set(entry, one);
    const place = `the record${source === undefined ? "" : ` of ${source}`}`;
    return { source, entries: new Map([...entries.keys()].map((entry) => [entry, 0])), place };
  });
  const inOrder = [...broken.keys()].toSorted();
  const part = { source: undefined, entries: new Map(inOrder.map((entry) => [entry, 0])) };
  const { entries, cutFrom } = guardEntries(guards, list, [part], { except, grant, merged: lines });
  const covering = new NetworkIndex(lines.size === 0 ? [] : declared);
  const isDeclared = (entry: Entry): boolean =>
    declared.has(entry) || (lines.has(cutFrom.get(entry) ?? entry) && uncoveredBy(entry, covering)[1] === 0n);
  const left = new Set([...entries].filter((entry) => !isDeclared(entry)));
  const fitting = quota.take(meta.namespace, list, left, grant, () => "").entries;
  const remembered = new Map(
    [...fitting].flatMap((entry) => {
      const one = broken.get(cutFrom.get(entry) ?? entry);
      return one === undefined ? [] : [[entry, one] as const];
    }),
  );
  return { parts, remembered, lines: new Map([...lines].filter(([entry]) => remembered.has(entry))), cutFrom };
}

function withoutEntries(rule: DeclaredRule, instance: DeclaredInstance, nowMs: number): CompiledRule {
  const expiresAtMs = expiryOf(rule);
  return {
    rule,
    id: ruleIdOf(rule.meta),
    list: listOf(rule),
    isOwners: isOwnersOf(instance, rule),
    isAttached: true,
    ...accepted,
    parts: [],
    rejected: [],
    ...notDerived,
    expired: rule.meta.deleting || (expiresAtMs !== undefined && expiresAtMs <= nowMs),
    entries: new Set(),
    expiresAtMs,
  };
}

/** No merged network is wider than one that the rule could declare itself. */
function widestMerged({ declared }: EntryGuards, list: ListName, grant: Grant | undefined): PrefixLengths {
  const { ipv4, ipv6 } = list === "blocklist" ? declared.minPrefixLength : declared.allowMinPrefixLength;
  const { minPrefixLength = { ipv4: 0, ipv6: 0 } } = grant ?? {};
  return { ipv4: Math.max(ipv4, minPrefixLength.ipv4), ipv6: Math.max(ipv6, minPrefixLength.ipv6) };
}

/** The entries of a rule without `except` and `aggregate` belong on its list as they are written, and those of most can be read. */
const notDerived = {
  cutFrom: new Map<Entry, Entry>(),
  widest: undefined,
  lines: new Map<Entry, number>(),
  remembered: new Map<Entry, Broken>(),
} as const;

const accepted = { verdict: "Accepted", message: "" } as const;

/** The unreadable parts of the rule: each missing source, and the first invalid line. */
function brokenIn(
  { id: rule, list }: Pick<CompiledRule, "id" | "list">,
  { missing, invalid }: Pick<RuleEntries, "missing" | "invalid">,
): BrokenPart[] {
  const { kind } = ownerOfRule(rule, undefined);
  const parts = missing.map(({ source, problem }): BrokenPart => ({
    list,
    rule,
    source,
    reason: asSentence(`${ruleLabel(rule)}: ${problem}`),
    letGo:
      kind === "WafIpRule"
        ? `remove ${source} from spec.addressesFrom of the rule, or delete the rule`
        : `delete the ${kind}`,
  }));
  const first = invalid[0];
  if (first === undefined) return parts;
  const more = invalid.length === 1 ? "" : ` (and ${invalid.length - 1} more)`;
  const reason = `${ruleLabel(rule)} has an invalid entry, ${first.source}${more}.`;
  return [...parts, { list, rule, source: undefined, reason, letGo: "correct or remove it" }];
}

/** A rule of a namespace whose labels could not be read. */
function unlabelled({ id: rule, list }: Pick<CompiledRule, "id" | "list">, message: string): BrokenPart {
  const reason = `${ruleLabel(rule)}: ${message}`;
  return { list, rule, source: undefined, reason, letGo: "delete the rule" };
}

/** @param partial describes a part that was not granted, although the rest of the rule applies */
function verdictOf(
  gathered: GatheredRule,
  { parts, missing }: RuleEntries,
  rejected: readonly RejectedEntry[],
  partial: string | undefined,
): { readonly verdict: RuleVerdict; readonly message: string } {
  if (missing.length > 0) {
    const problems = [...new Set(missing.map(({ problem }) => problem))];
    const more = problems.length > problemsShownMax ? [`${problems.length - problemsShownMax} more are missing.`] : [];
    return { verdict: "SourceMissing", message: [...problems.slice(0, problemsShownMax), ...more].join(" ") };
  }
  const faults = faultsIn(rejected);
  if (faults.length > 0) return { verdict: "InvalidEntries", message: describeRejected(faults) };
  if (partial !== undefined) return { verdict: "NotAllowed", message: partial };
  // A feed may be empty at times, for example with CrowdSec. Its own guards check that.
  if (parts.length === 0 && gathered.texts.every(({ state }) => state !== "Listed"))
    return { verdict: "InvalidEntries", message: describeEmpty(gathered) };
  return accepted;
}
