// What a person who reads the declared state would say should be on the lists. Written anew, from the words of the
// documentation and without anything of src/plan, so that one mistake can't hide in both.
import type { ListName } from "../../../src/model/declared.ts";
import type { EntryOwner } from "../../../src/model/entry-owners.ts";
import type { Entry } from "../../../src/model/entry.ts";
import { parseDeclaredEntry } from "../../../src/model/entry.ts";
import type { Gathered, GatheredRule } from "../../../src/model/gathered.ts";

export interface Wanted {
  readonly blocklist: ReadonlySet<Entry>;
  readonly allowlist: ReadonlySet<Entry>;
}

/** The list that alone has the entry for wafsync already, if one does. */
export type HolderOf = (entry: Entry) => ListName | undefined;

/** What the rules want on the lists at a time. An entry that is in both belongs to its holder, and without one to the oldest rule. */
export function wantedEntries(gathered: Gathered, nowMs: number, holderOf: HolderOf): Wanted {
  const claims = new Map<Entry, ListName[]>();
  for (const rule of oldestFirst(gathered.rules)) {
    if (isOver(rule, nowMs)) continue;
    const list = rule.rule.action === "Block" ? "blocklist" : "allowlist";
    for (const text of textsOf(rule)) {
      const parsed = parseDeclaredEntry(text);
      if (!parsed.ok || isForbidden(gathered, list, parsed.entry)) continue;
      claims.set(parsed.entry, [...(claims.get(parsed.entry) ?? []), list]);
    }
  }
  const winnerOf = (entry: Entry, lists: readonly ListName[]): ListName | undefined => {
    const holder = holderOf(entry);
    return holder !== undefined && lists.includes(holder) ? holder : lists[0];
  };
  const on = (list: ListName): Set<Entry> =>
    new Set([...claims].flatMap(([entry, lists]) => (winnerOf(entry, lists) === list ? [entry] : [])));
  return { blocklist: on("blocklist"), allowlist: on("allowlist") };
}

/** What is recorded, as far as it says what something unreadable may still want. */
export interface Recorded {
  /** Who wanted the entry last; none if nobody knows. */
  readonly owners: readonly EntryOwner[];
  /** Whether any entry of this source is recorded. */
  readonly hasEntriesOf: (source: string) => boolean;
}

/** Why this entry may not be removed without an approval, if anything forbids it. */
export function removalForbidden(
  gathered: Gathered,
  list: ListName,
  { owners, hasEntriesOf }: Recorded,
  nowMs: number,
): string | undefined {
  if (gathered.brokenSources.length > 0) return "a source is broken";
  const existing = new Set(gathered.rules.flatMap(({ rule: { meta } }) => (meta.deleting ? [] : [fullName(meta)])));
  for (const rule of gathered.rules) {
    const { meta, action } = rule.rule;
    if (isOver(rule, nowMs) || (action === "Block" ? "blocklist" : "allowlist") !== list) continue;
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

/** Everything that a rule declares, as it is written. */
export function textsOf({ rule, texts }: GatheredRule): string[] {
  const lines = texts.flatMap((text) => (text.state === "Read" ? text.text.split("\n") : []));
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

function ageOf(
  a: { readonly createdAtMs: number | undefined; readonly name: string },
  b: { readonly createdAtMs: number | undefined; readonly name: string },
): number {
  return (a.createdAtMs ?? 0) - (b.createdAtMs ?? 0) || (a.name < b.name ? -1 : 1);
}

/** Whether a guard of the instance refuses the entry on that list. */
export function isForbidden({ instance, origins }: Gathered, list: ListName, entry: Entry): boolean {
  const { minPrefixLength, neverBlock } = instance.guards;
  if (entry.includes(":")) return lengthOf(entry, 128) < minPrefixLength.ipv6;
  if (lengthOf(entry, 32) < minPrefixLength.ipv4) return true;
  if (list === "allowlist") return false;
  const kept = [...neverBlock, ...origins.filter(({ meta }) => !meta.deleting).map(({ host }) => host)];
  return kept.some((network) => /^[\d./]+$/.test(network) && overlaps(network, entry));
}

function lengthOf(entry: string, whole: number): number {
  return Number(entry.split("/")[1] ?? whole);
}

/** Of two IPv4 networks: their addresses agree in as many bits as the wider one names. */
function overlaps(a: string, b: string): boolean {
  const length = Math.min(lengthOf(a, 32), lengthOf(b, 32));
  const bits = (text: string): string =>
    (text.split("/")[0] ?? "")
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("");
  return bits(a).slice(0, length) === bits(b).slice(0, length);
}
