// Determines which entries should be on the lists, according to the declared state and the documentation. This is a separate
// implementation without code from src/decide, so that the same bug can't be in both.
import { describeSource } from "../../../src/model/address-source.ts";
import type { ListName } from "../../../src/model/declared.ts";
import type { EntryOwner } from "../../../src/model/rule-id.ts";
import { type Entry, parseDeclaredEntry } from "../../../src/address/entry.ts";
import type { Gathered, GatheredRule } from "../../../src/model/gathered.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import { aRule } from "../builders/declare.ts";
import { type Claim, Granted, withoutLifted } from "./oracle-guests.ts";
import { isCoveredBy, isIpv6, lengthOf, sharesAddress, without } from "./oracle-networks.ts";

export interface Wanted {
  readonly blocklist: ReadonlySet<Entry>;
  readonly allowlist: ReadonlySet<Entry>;
}

/** The parts of the WAF and of wafsync's record that affect the result. */
export interface Memory {
  readonly shown: (list: ListName) => ReadonlyMap<Entry, unknown>;
  /** As itself, or merged into others. */
  readonly isRecorded: (list: ListName, entry: Entry) => boolean;
  /** Whether an entry of the allowlist is on it, as itself, or merged into others that are. */
  readonly isAllowedAlready: (entry: Entry, shown: ReadonlyMap<Entry, unknown>) => boolean;
  /** What is recorded for an instance, by list. */
  readonly recorded: (instance: ObjectName) => Readonly<Record<ListName, readonly Recorded[]>>;
}

/**
 * The entries that the rules declare for the lists at a time. If an entry is declared for both lists, the owner of the instance decides; otherwise
 * Block, if the blocklist shows it or it is recorded for it; then Allow likewise; then the oldest rule. Guests do not unblock entries of others.
 */
export function wantedEntries(declared: Gathered, nowMs: number, memory: Memory): Wanted {
  const gathered = withJudgedClients(declared, nowMs);
  const merged = { blocklist: new Set<Entry>(), allowlist: new Set<Entry>() };
  const holds = (list: ListName, entry: Entry): boolean => {
    const shown = memory.shown(list);
    if (shown.has(entry) || memory.isRecorded(list, entry)) return true;
    return merged[list].has(entry) && [...shown.keys()].some((other) => isCoveredBy(entry, [other]));
  };
  const claims: Claim[] = [];
  const granted = new Granted(gathered.instance);
  const remembered = rememberedIn(gathered, granted, memory, nowMs);
  for (const { rule, entries, merged: sent } of remembered.values()) {
    if (gathered.rules.includes(rule)) continue;
    const { namespace } = rule.rule.meta;
    for (const entry of granted.of(rule, entries, sent))
      claims.push({
        entry,
        list: listOfRule(rule),
        namespace,
        isOwners: namespace === gathered.instance.meta.namespace,
      });
  }
  for (const rule of oldestFirst(gathered.rules)) {
    if (isOver(rule, nowMs) || !granted.admits(rule)) continue;
    const list = listOfRule(rule);
    const { namespace } = rule.rule.meta;
    const written = writtenForRule(gathered, rule);
    const { entries = [], merged: sent = new Set<Entry>() } = remembered.get(keyOf(list, rule.rule.meta)) ?? {};
    const isWritten = (entry: Entry): boolean => written.has(entry) || (sent.has(entry) && isCoveredBy(entry, written));
    const kept = entries.filter((entry) => !isWritten(entry));
    for (const entry of granted.of(rule, [...kept, ...written], sent)) {
      if (rule.rule.aggregate) merged[list].add(entry);
      claims.push({ entry, list, namespace, isOwners: namespace === gathered.instance.meta.namespace });
    }
  }
  const byEntry = Map.groupBy(claims, ({ entry }) => entry);
  const winnerOf = (entry: Entry): ListName | undefined => {
    const all = byEntry.get(entry) ?? [];
    const owners = all.filter(({ isOwners }) => isOwners);
    const lists = (owners.length > 0 ? owners : all).map(({ list }) => list);
    if (new Set(lists).size < 2) return lists[0];
    if (holds("blocklist", entry)) return "blocklist";
    return holds("allowlist", entry) ? "allowlist" : lists[0];
  };
  const kept = withoutLifted(
    claims.filter(({ entry, list }) => winnerOf(entry) === list),
    (entry) => memory.isAllowedAlready(entry, memory.shown("allowlist")),
  );
  const on = (list: ListName) => new Set(kept.flatMap((claim) => (claim.list === list ? [claim.entry] : [])));
  return { blocklist: on("blocklist"), allowlist: on("allowlist") };
}

/** Automatic blocks as plain rules: the clients that are listed at this time, and not exempt. */
function withJudgedClients(gathered: Gathered, nowMs: number): Gathered {
  if (!gathered.rules.some(({ rule }) => rule.yieldsTo !== undefined)) return gathered;
  const { namespace } = gathered.instance.meta;
  const allows = gathered.rules.filter(({ rule }) => rule.action === "Allow" && rule.meta.namespace === namespace);
  const allowed = allows
    .filter((rule) => !isOver(rule, nowMs))
    .flatMap((rule) => entriesOf(rule).filter((entry) => !isForbidden(gathered, "allowlist", entry)));
  const rules = gathered.rules.map((rule): GatheredRule => {
    const { yieldsTo, suggests } = rule.rule;
    if (yieldsTo === undefined) return rule;
    const exempt = [...yieldsTo, ...allowed];
    const texts = rule.texts.map((text) => {
      if (text.state !== "Listed") return text;
      const entries = text.entries
        .filter((entry) => suggests !== true && (text.ending?.get(entry) ?? 0) > nowMs)
        .filter((entry) => !isForbidden(gathered, "blocklist", entry))
        .filter((entry) => !exempt.some((other) => sharesAddress(other, entry)));
      return { ...text, entries };
    });
    return { ...rule, texts };
  });
  return { ...gathered, rules };
}

/** What a rule counts as declaring, because the record says so. */
interface Remembered {
  /** The rule, or one that stands in for an object that can't be read. */
  readonly rule: GatheredRule;
  /** Ordered by their text. */
  readonly entries: Entry[];
  /** Those that are merged networks. */
  readonly merged: Set<Entry>;
}

/** What broken sources, objects and references last declared, apart from entries whose removal has begun. */
function rememberedIn(
  gathered: Gathered,
  granted: Granted,
  memory: Pick<Memory, "recorded">,
  nowMs: number,
): ReadonlyMap<string, Remembered> {
  const found = new Map<string, Remembered>();
  if (!isAnythingBroken(gathered)) return found;
  const recorded = memory.recorded(gathered.instance.meta);
  for (const list of ["blocklist", "allowlist"] as const) {
    const rules = gathered.rules.filter(
      (rule) => !isOver(rule, nowMs) && granted.admits(rule) && listOfRule(rule) === list,
    );
    for (const one of recorded[list].toSorted((a, b) => (a.entry < b.entry ? -1 : 1))) {
      if (one.isLeaving) continue;
      for (const meta of one.owners.flatMap((owner) => rememberersOf(gathered, rules, one, owner, nowMs))) {
        const key = keyOf(list, meta);
        const rule = rules.find((other) => keyOf(list, other.rule.meta) === key) ?? standIn(gathered, list, meta);
        const of = found.get(key) ?? { rule, entries: [], merged: new Set() };
        found.set(key, of);
        for (const entry of withoutExcepted(rule, one.entry)) {
          if (isForbidden(gathered, list, entry, one.isMerged) || of.entries.includes(entry)) continue;
          of.entries.push(entry);
          if (one.isMerged) of.merged.add(entry);
        }
      }
    }
  }
  return found;
}

function isAnythingBroken({ brokenSources, brokenReferences, rules }: Gathered): boolean {
  return brokenSources.length > 0 || (brokenReferences?.objects.size ?? 0) > 0 || rules.some(isBroken);
}

function isBroken(rule: GatheredRule): boolean {
  const isMissing = rule.texts.some(({ state }) => state === "Missing");
  return isMissing || textsOf(rule).some((text) => !parseDeclaredEntry(text).ok);
}

/** The rules that count as declaring what this owner last declared: the owner itself, or the rules that have its source now. */
function rememberersOf(
  gathered: Gathered,
  rules: readonly GatheredRule[],
  { hasEntriesOf }: Recorded,
  owner: EntryOwner,
  nowMs: number,
): readonly Named[] {
  const [namespace = "", name = ""] = owner.name.split("/");
  if (gathered.brokenSources.length > 0 || isMisplaced(gathered, owner, nowMs))
    return [{ kind: owner.kind, namespace, name }];
  const isOwn = ({ rule: { meta } }: GatheredRule): boolean =>
    meta.kind === owner.kind && fullName(meta) === owner.name;
  const lacks = ({ texts }: GatheredRule, isRecorded: boolean): boolean =>
    texts.some(({ state, source }) => {
      const described = describeSource(source);
      const has = hasEntriesOf(described);
      return state === "Missing" && (isRecorded ? has && described === owner.source : !has);
    });
  const isWholeBroken = (rule: GatheredRule): boolean =>
    lacks(rule, false) || textsOf(rule).some((text) => !parseDeclaredEntry(text).ok);
  const metas = (some: readonly GatheredRule[]): Named[] => some.map(({ rule }) => rule.meta);
  const own = rules.filter((rule) => isOwn(rule) && (isWholeBroken(rule) || lacks(rule, true)));
  if (own.length > 0) return metas(own);
  const ofSource = rules.filter((rule) => lacks(rule, true));
  if (ofSource.length > 0 || gathered.rules.some((rule) => isOwn(rule) && !rule.rule.meta.deleting))
    return metas(ofSource);
  return metas(rules.filter((rule) => rule.rule.meta.namespace === namespace && lacks(rule, false)));
}

interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

function keyOf(list: ListName, { kind, namespace, name }: Named): string {
  return `${list} ${kind} ${namespace}/${name}`;
}

/** Nothing else is known of it. */
function standIn({ instance }: Gathered, list: ListName, { namespace, name }: Named): GatheredRule {
  const { rule } = aRule(`${namespace}/${name}`, { action: list === "blocklist" ? "Block" : "Allow" });
  return { rule: { ...rule, instance: instance.meta }, texts: [] };
}

/** The entries that a rule may add to its list, independent of other rules. */
export function writtenForRule(gathered: Gathered, rule: GatheredRule): Set<Entry> {
  return new Set(entriesOf(rule).filter((entry) => !isForbidden(gathered, listOfRule(rule), entry)));
}

/** Whether a rule may merge entries of the list. */
export function aggregates({ rules }: Gathered, list: ListName): boolean {
  return rules.some((rule) => rule.rule.aggregate && listOfRule(rule) === list);
}

function listOfRule({ rule }: GatheredRule): ListName {
  return rule.action === "Block" ? "blocklist" : "allowlist";
}

function entriesOf(rule: GatheredRule): Entry[] {
  return textsOf(rule).flatMap((text) => {
    const parsed = parseDeclaredEntry(text);
    return parsed.ok ? withoutExcepted(rule, parsed.entry) : [];
  });
}

function withoutExcepted({ rule }: GatheredRule, entry: Entry): readonly Entry[] {
  const except = isIpv6(entry) ? [] : rule.except.filter((network) => sharesAddress(network, entry));
  return except.length === 0 ? [entry] : without(entry, except);
}

/** The parts of the record that show which entries an unreadable source may still declare. */
export interface Recorded {
  readonly entry: Entry;
  /** The rules that last declared the entry; empty if unknown. */
  readonly owners: readonly EntryOwner[];
  /** Whether the record contains an entry of this source. */
  readonly hasEntriesOf: (source: string) => boolean;
  /** Its removal was allowed after a fresh read, and perhaps done. */
  readonly isLeaving: boolean;
  /** Several declared entries were merged into it. */
  readonly isMerged: boolean;
}

/** Why something may declare an entry that the record assigns to no rule, if there is a reason. */
export function mayBeDeclared(gathered: Gathered, list: ListName, nowMs: number): string | undefined {
  if (gathered.brokenSources.length > 0) return "a source is broken";
  const stray = [...(gathered.brokenReferences?.objects.values() ?? [])].find(({ declared }) => {
    if (!("action" in declared)) return false;
    const rule: GatheredRule = { rule: declared, texts: [] };
    return !isOver(rule, nowMs) && listOfRule(rule) === list;
  });
  if (stray !== undefined) return `${stray.declared.meta.name} is unattached`;
  const granted = new Granted(gathered.instance);
  const broken = gathered.rules.find(
    (rule) => !isOver(rule, nowMs) && granted.admits(rule) && listOfRule(rule) === list && isBroken(rule),
  );
  return broken && `${broken.rule.meta.name} is broken`;
}

/** Whether a rule counts as declaring the entry, or a network that `spec.except` cuts into it, because something can't be read. */
export function isRemembered(
  gathered: Gathered,
  list: ListName,
  one: Recorded,
  nowMs: number,
  memory: Pick<Memory, "recorded">,
): boolean {
  if (one.owners.length === 0) return mayBeDeclared(gathered, list, nowMs) !== undefined;
  const only = { blocklist: [], allowlist: [], [list]: [{ ...one, isLeaving: false }] };
  const rememberedBy = (recorded: Memory["recorded"]) =>
    rememberedIn(gathered, new Granted(gathered.instance), { recorded }, nowMs).values();
  const isPiece = ({ rule, entries }: Remembered): boolean => listOfRule(rule) === list && entries.includes(one.entry);
  return rememberedBy(() => only).some(() => true) || rememberedBy(memory.recorded).some(isPiece);
}

/** Why this origin must not be removed without an approval, if there is a reason. */
export function originRemovalForbidden(
  gathered: Gathered,
  owners: readonly EntryOwner[],
  nowMs: number,
): string | undefined {
  if (gathered.brokenSources.length > 0) return "a source is broken";
  const lost = owners.find((owner) => isMisplaced(gathered, owner, nowMs));
  return lost === undefined ? undefined : `the reference of ${lost.name} is broken`;
}

/** Whether the object exists, with this name or, in a directory, in another namespace, while its instance does not exist. */
function isMisplaced({ brokenReferences }: Gathered, { kind, name }: EntryOwner, nowMs: number): boolean {
  if (brokenReferences === undefined) return false;
  const { objects, existing } = brokenReferences;
  const isGone = existing !== undefined && !existing.has(`${kind} ${name}`);
  return [...objects.values()].some(({ declared }) => {
    const { meta } = declared;
    if (meta.kind !== kind || ("action" in declared ? isOver({ rule: declared, texts: [] }, nowMs) : meta.deleting))
      return false;
    return fullName(meta) === name || (isGone && meta.name === name.split("/")[1]);
  });
}

function fullName({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `${namespace}/${name}`;
}

export function wantedOrigins(gathered: Gathered): Map<string, string> {
  const wanted = new Map<string, string>();
  const byAge = gathered.origins.toSorted((a, b) => ageOf(a.meta, b.meta));
  for (const { meta, host, type } of byAge) {
    if (!meta.deleting && !wanted.has(host)) wanted.set(host, type === "Alternate" ? "alternate" : "backup");
  }
  return wanted;
}

/** Everything that a rule declares, in its original spelling. */
export function textsOf({ rule, texts }: GatheredRule): string[] {
  const lines = texts.flatMap((text): readonly string[] => {
    if (text.state === "Missing") return [];
    return text.state === "Read" ? text.text.split("\n") : text.entries;
  });
  return [
    ...rule.addresses,
    ...lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#")),
  ];
}

function isOver({ rule }: GatheredRule, nowMs: number): boolean {
  const { meta, expiresAtMs, ttlMs } = rule;
  if (meta.deleting) return true;
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return true;
  return ttlMs !== undefined && meta.createdAtMs !== undefined && meta.createdAtMs + ttlMs <= nowMs;
}

function oldestFirst(rules: readonly GatheredRule[]): readonly GatheredRule[] {
  return rules.toSorted((a, b) => ageOf(a.rule.meta, b.rule.meta));
}

interface Aged {
  readonly createdAtMs: number | undefined;
  readonly namespace: string;
  readonly name: string;
}

function ageOf(a: Aged, b: Aged): number {
  return (a.createdAtMs ?? 0) - (b.createdAtMs ?? 0) || (fullName(a) < fullName(b) ? -1 : 1);
}

/** Whether a guard of the instance forbids the entry on this list. */
export function isForbidden(gathered: Gathered, list: ListName, entry: Entry, isMerged = false): boolean {
  if ((!isMerged && isTooWide(gathered, list, entry)) || isSpecial(gathered, entry)) return true;
  if (list === "allowlist" || isIpv6(entry)) return false;
  return protectedNetworks(gathered).some((network) => sharesAddress(network, entry));
}

function isTooWide({ instance }: Gathered, list: ListName, entry: Entry): boolean {
  const { minPrefixLength, allowMinPrefixLength } = instance.guards;
  const { ipv4, ipv6 } = list === "blocklist" ? minPrefixLength : allowMinPrefixLength;
  return isIpv6(entry) ? lengthOf(entry, 128) < ipv6 : lengthOf(entry, 32) < ipv4;
}

/** The special-purpose networks that simulated users may write. */
function isSpecial({ instance }: Gathered, entry: Entry): boolean {
  if (instance.guards.specialPurpose === "Allow") return false;
  return isIpv6(entry)
    ? /^f[cde]/.test(entry)
    : sharesAddress("10.0.0.0/8", entry) || sharesAddress("127.0.0.0/8", entry);
}

/** Only IPv4: no IPv6 addresses are protected in a simulation. */
function protectedNetworks({ instance, origins }: Gathered): readonly string[] {
  const isOwners = ({ namespace }: { readonly namespace: string }): boolean => namespace === instance.meta.namespace;
  const hosts = origins.flatMap(({ meta, host }) => (meta.deleting || !isOwners(meta) ? [] : host));
  const networks = [...instance.guards.neverBlock, ...hosts];
  return networks.filter((network) => /^[\d./]+$/.test(network));
}
