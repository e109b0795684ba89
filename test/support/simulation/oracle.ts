// Determines which entries should be on the lists, according to the declared state and the documentation. This is a separate
// implementation without code from src/plan, so that the same bug can't be in both.
import type { ListName } from "../../../src/model/declared.ts";
import type { EntryOwner } from "../../../src/model/entry-owners.ts";
import type { Entry } from "../../../src/address/entry.ts";
import { parseDeclaredEntry } from "../../../src/address/entry.ts";
import type { Gathered, GatheredRule } from "../../../src/model/gathered.ts";
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
  /** How the entry is recorded for the allowlist: as itself, or merged into others. */
  readonly allowed: (entry: Entry) => readonly Recorded[];
  /** The recorded entries of the blocklist, with the rules that last declared each. */
  readonly blocked: () => Iterable<readonly [Entry, Recorded]>;
}

/**
 * The entries that the rules declare for the lists at a time. If an entry is declared for both lists, the owner of the instance decides; otherwise
 * Block, if the blocklist shows it or it is recorded for it; then Allow likewise; then the oldest rule. Guests do not unblock entries of others.
 */
export function wantedEntries(declared: Gathered, nowMs: number, memory: Memory): Wanted {
  const gathered = withJudgedClients(declared, nowMs);
  const { allowed, blocked } = memory;
  const merged = { blocklist: new Set<Entry>(), allowlist: new Set<Entry>() };
  const holds = (list: ListName, entry: Entry): boolean => {
    const shown = memory.shown(list);
    if (shown.has(entry) || memory.isRecorded(list, entry)) return true;
    return merged[list].has(entry) && [...shown.keys()].some((other) => isCoveredBy(entry, [other]));
  };
  const claims: Claim[] = [];
  const granted = new Granted(gathered.instance);
  for (const rule of oldestFirst(gathered.rules)) {
    if (isOver(rule, nowMs) || !granted.admits(rule)) continue;
    const list = listOfRule(rule);
    const { namespace } = rule.rule.meta;
    for (const entry of granted.of(rule, [...writtenForRule(gathered, rule)])) {
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
  const withReadableFiles = { ...gathered, brokenSources: [] };
  const isSourceMissing = gathered.rules.some(({ texts }) => texts.some(({ state }) => state === "Missing"));
  const kept = withoutLifted(
    claims.filter(({ entry, list }) => winnerOf(entry) === list),
    claims.some(({ isOwners, list }) => !isOwners && list === "allowlist")
      ? heldBlocks(gathered, blocked(), nowMs)
      : [],
    (entry) => allowed(entry).some((recorded) => memory.shown("allowlist").has(recorded.entry)),
    // If a missing source may still declare an entry for the allowlist, a Block entry loses this conflict.
    ({ list, entry }) =>
      list === "blocklist" &&
      isSourceMissing &&
      allowed(entry).some(
        (recorded) => removalForbidden(withReadableFiles, "allowlist", recorded, nowMs) !== undefined,
      ),
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

/** Recorded Block entries that an unreadable source may still declare, as claims of the namespaces that last declared them. */
function heldBlocks(gathered: Gathered, blocked: Iterable<readonly [Entry, Recorded]>, nowMs: number): Claim[] {
  return [...blocked].flatMap(([entry, recorded]) =>
    recorded.owners.flatMap((owner): Claim[] => {
      if (removalForbidden(gathered, "blocklist", { ...recorded, owners: [owner] }, nowMs) === undefined) return [];
      const namespace = owner.name.slice(0, owner.name.indexOf("/"));
      return [{ entry, list: "blocklist", namespace, isOwners: namespace === gathered.instance.meta.namespace }];
    }),
  );
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
    if (!parsed.ok) return [];
    const except = isIpv6(parsed.entry)
      ? []
      : rule.rule.except.filter((network) => sharesAddress(network, parsed.entry));
    return except.length === 0 ? [parsed.entry] : without(parsed.entry, except);
  });
}

/** The parts of the record that show which entries an unreadable source may still declare. */
export interface Recorded {
  readonly entry: Entry;
  /** The rules that last declared the entry; empty if unknown. */
  readonly owners: readonly EntryOwner[];
  /** Whether the record contains an entry of this source. */
  readonly hasEntriesOf: (source: string) => boolean;
}

/** Why this entry must not be removed without an approval, if there is a reason. */
export function removalForbidden(
  gathered: Gathered,
  list: ListName,
  { entry, owners, hasEntriesOf }: Recorded,
  nowMs: number,
): string | undefined {
  if (gathered.brokenSources.length > 0) return "a source is broken";
  const lost = owners.find((owner) => isMisplaced(gathered, owner, nowMs));
  if (lost !== undefined) return `the reference of ${lost.name} is broken`;
  const stray = owners.length === 0 ? unattachedFor(gathered, list, entry, nowMs) : undefined;
  if (stray !== undefined) return `${stray} is unattached, and declares it`;
  const existing = new Set(gathered.rules.flatMap(({ rule: { meta } }) => (meta.deleting ? [] : [fullName(meta)])));
  for (const rule of gathered.rules) {
    const { meta } = rule.rule;
    if (isOver(rule, nowMs) || listOfRule(rule) !== list) continue;
    const isOwner = owners.length === 0 || owners.some(({ name }) => name === fullName(meta));
    if (isOwner && textsOf(rule).some((text) => !parseDeclaredEntry(text).ok))
      return `${meta.name} has an invalid entry`;
    for (const { state, source } of rule.texts) {
      if (state !== "Missing") continue;
      const isRenamed = owners.some(({ name }) => !existing.has(name) && name.startsWith(`${meta.namespace}/`));
      const mayWant = hasEntriesOf(source)
        ? owners.length === 0 || owners.some((owner) => owner.source === source)
        : isOwner || isRenamed;
      if (mayWant) return `${source} of ${meta.name} is missing`;
    }
  }
  return undefined;
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

/** The name of a rule without an instance that may declare the entry, or addresses of it. */
function unattachedFor(
  { brokenReferences }: Gathered,
  list: ListName,
  entry: Entry,
  nowMs: number,
): string | undefined {
  for (const { declared } of brokenReferences?.objects.values() ?? []) {
    if (!("action" in declared)) continue;
    const rule: GatheredRule = { rule: declared, texts: [] };
    if (isOver(rule, nowMs) || listOfRule(rule) !== list) continue;
    const isUnread = declared.addressesFrom.length + declared.feeds.length > 0;
    if (isUnread || declared.addresses.some((text) => sharesAddress(text, entry))) return fullName(declared.meta);
  }
  return undefined;
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
export function isForbidden(gathered: Gathered, list: ListName, entry: Entry): boolean {
  if (isTooWide(gathered, list, entry) || isSpecial(gathered, entry)) return true;
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
