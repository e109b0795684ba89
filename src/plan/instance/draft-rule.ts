// Evaluates a single rule: whether it is attached, its entries, and the rejected ones. Conflicts with other rules are resolved later.
import type { DeclaredInstance, DeclaredRule, Grant, ListName, PrefixLengths } from "../../model/declared.ts";
import { listOf } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import type { Gathered, GatheredRule } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Shown } from "../../model/observed.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import { ruleIdOf, ruleLabel } from "../../model/rule-id.ts";
import { decideAttachment } from "../../model/attachment.ts";
import { type EntryQuota, limitedRule, ungrantedIn, ungrantedPart } from "../lists/guest-limits.ts";
import type { CompiledRule, RuleVerdict } from "../lists/compiled-rule.ts";
import { describeEmpty, describeRejected, faultsIn, placeOf } from "../lists/compiled-rule.ts";
import type { EntryGuards } from "../lists/guards.ts";
import { guardEntries } from "../lists/guards.ts";
import type { Hold } from "../lists/holds.ts";
import type { RejectedEntry, RuleEntries } from "../lists/rule-entries.ts";
import { readRuleEntries } from "../lists/rule-entries.ts";
import { withoutYielded } from "../lists/yielding.ts";
import { expiryOf } from "./expiry.ts";

/** A rule can have 64 sources, and several conditions repeat the message. */
const problemsShownMax = 8;

export interface Drafting {
  readonly gathered: Gathered;
  readonly guards: EntryGuards;
  readonly quota: EntryQuota;
  readonly nowMs: number;
  readonly holds: Hold[];
  readonly managed?: Inventory["entries"] | undefined;
  readonly shown?: Shown | undefined;
}

/**
 * Adds its holds to `holds`, and its usage of the namespace's quota to `quota`. @param before the results for the rules that do not yield,
 * if this one yields
 */
export function draftRule(
  gatheredRule: GatheredRule,
  { gathered, guards, quota, nowMs, holds, managed, shown }: Drafting,
  before: readonly CompiledRule[],
): CompiledRule {
  const { instance } = gathered;
  const { meta } = gatheredRule.rule;
  const attachment = decideAttachment(
    instance,
    meta.kind,
    meta.namespace,
    gathered.namespaceLabels.get(meta.namespace),
  );
  const grant = attachment.state === "Allowed" ? attachment.grant : undefined;
  const rule = grant === undefined ? gatheredRule.rule : limitedRule(gatheredRule.rule, grant);
  const base = withoutEntries(rule, instance);
  const { id, list, expiresAtMs } = base;
  if (attachment.state !== "Allowed") {
    if (attachment.state === "Unknown") {
      holds.push({ scope: { kind: "Rule", list, rule: id }, reason: `${ruleLabel(id)}: ${attachment.message}` });
    }
    const verdict = attachment.state === "NotGranted" ? "NotGranted" : "NotAllowed";
    return { ...base, isAttached: false, verdict, message: attachment.message };
  }
  const ungranted = grant === undefined ? undefined : ungrantedIn(instance, rule, grant);
  if (ungranted !== undefined) return { ...base, isAttached: false, verdict: "NotGranted", message: ungranted };
  const read = readRuleEntries(gatheredRule, nowMs);
  const expired = rule.meta.deleting || (expiresAtMs !== undefined && expiresAtMs <= nowMs);
  const guarded = guardEntries(guards, list, read.entries, {
    except: rule.except,
    fromFeeds: feedsOf(gatheredRule),
    grant,
  });
  if (!expired) holds.push(...holdsOf(id, list, read));
  const sourceOf = (entry: Entry): string => placeOf({ parts: read.parts, cutFrom: guarded.cutFrom }, entry);
  const basis = { allowing: before, managed, shown };
  const left = rule.yieldsTo === undefined ? guarded.entries : withoutYielded(rule, guarded.entries, basis);
  const counting = expired ? new Set<Entry>() : left;
  const wanted = rule.suggests ? new Set<Entry>() : counting;
  const fitting =
    grant === undefined ? { entries: wanted, rejected: [] } : quota.take(meta.namespace, list, wanted, grant, sourceOf);
  const partial = grant === undefined ? undefined : ungrantedPart(instance, gatheredRule.rule, grant);
  return {
    ...base,
    // Invalid entries of an expired rule are irrelevant.
    ...(expired
      ? accepted
      : verdictOf(gatheredRule, read, { guarded: guarded.rejected, tooMany: fitting.rejected, partial })),
    parts: read.parts,
    entries: fitting.entries,
    ...(rule.suggests && { suggested: counting }),
    rejected: expired ? [] : [...read.invalid, ...guarded.rejected, ...fitting.rejected],
    cutFrom: guarded.cutFrom,
    ...derivation(rule, read, widestMerged(guards, list, grant)),
    expired,
  };
}

function withoutEntries(rule: DeclaredRule, instance: DeclaredInstance): Omit<CompiledRule, "verdict" | "message"> {
  return {
    rule,
    id: ruleIdOf(rule.meta),
    list: listOf(rule),
    isOwners: isOwnersOf(instance, rule),
    isAttached: true,
    parts: [],
    rejected: [],
    ...notDerived,
    expired: false,
    entries: new Set(),
    expiresAtMs: expiryOf(rule),
  };
}

function derivation(
  { aggregate, except }: DeclaredRule,
  { entries }: RuleEntries,
  widest: PrefixLengths,
): Pick<CompiledRule, "declared" | "widest"> {
  const declared = aggregate || except.length > 0 ? entries.size : undefined;
  return { declared, widest: aggregate ? widest : undefined };
}

/** No merged network is wider than one that the rule could declare itself. */
function widestMerged({ declared }: EntryGuards, list: ListName, grant: Grant | undefined): PrefixLengths {
  const { ipv4, ipv6 } = list === "blocklist" ? declared.minPrefixLength : declared.allowMinPrefixLength;
  const { minPrefixLength = { ipv4: 0, ipv6: 0 } } = grant ?? {};
  return { ipv4: Math.max(ipv4, minPrefixLength.ipv4), ipv6: Math.max(ipv6, minPrefixLength.ipv6) };
}

/** The entries of a rule without `except` and `aggregate` belong on its list as they are written. */
const notDerived = {
  declared: undefined,
  cutFrom: new Map<Entry, Entry>(),
  widest: undefined,
  lines: new Map<Entry, number>(),
} as const;

function feedsOf({ texts }: GatheredRule): ReadonlySet<string> {
  return new Set(texts.flatMap(({ state, source }) => (state === "Listed" ? [source] : [])));
}

const accepted = { verdict: "Accepted", message: "" } as const;

/** Whether the object is in the instance's own namespace. */
export function isOwnersOf(instance: DeclaredInstance, { meta }: { readonly meta: ResourceMeta }): boolean {
  return meta.namespace === instance.meta.namespace;
}

/** The holds for the unreadable parts of the rule: one for each missing source, and one for all invalid lines. */
function holdsOf(rule: string, list: ListName, { missing, invalid }: RuleEntries): Hold[] {
  const holds = missing.map(({ source, problem }): Hold => ({
    scope: { kind: "Source", list, rule, source },
    reason: `${ruleLabel(rule)}: ${problem}`,
  }));
  const first = invalid[0];
  if (first === undefined) return holds;
  const more = invalid.length === 1 ? "" : ` (and ${invalid.length - 1} more)`;
  const reason = `${ruleLabel(rule)} has an invalid entry, ${first.source}${more}.`;
  return [...holds, { scope: { kind: "Rule", list, rule }, reason }];
}

interface Refused {
  readonly guarded: readonly RejectedEntry[];
  readonly tooMany: readonly RejectedEntry[];
  /** Describes a part that was not granted, although the rest of the rule applies. */
  readonly partial: string | undefined;
}

function verdictOf(
  gathered: GatheredRule,
  { entries, missing, invalid }: RuleEntries,
  { guarded, tooMany, partial }: Refused,
): { readonly verdict: RuleVerdict; readonly message: string } {
  if (missing.length > 0) {
    const verdict = missing.some(({ isTooLarge }) => isTooLarge === true) ? "TooLarge" : "SourceMissing";
    const problems = [...new Set(missing.map(({ problem }) => problem))];
    const more = problems.length > problemsShownMax ? [`${problems.length - problemsShownMax} more are missing.`] : [];
    return { verdict, message: [...problems.slice(0, problemsShownMax), ...more].join(" ") };
  }
  const faulty = faultsIn(guarded);
  const message = describeRejected([...invalid, ...faulty, ...tooMany]);
  if (invalid.length > 0) return { verdict: "InvalidEntries", message };
  if (faulty.length > 0) return { verdict: "GuardRejected", message };
  if (tooMany.length > 0) return { verdict: "QuotaExceeded", message };
  if (partial !== undefined) return { verdict: "NotGranted", message: partial };
  // A feed may be empty at times, for example with CrowdSec. Its own guards check that.
  if (entries.size === 0 && gathered.texts.every(({ state }) => state !== "Listed"))
    return { verdict: "NoEntries", message: describeEmpty(gathered) };
  return accepted;
}
