// What a person who reads the declared state would say should be on the lists. Written anew, from the words of the
// documentation and without anything of src/plan, so that one mistake can't hide in both.
import type { ListName } from "../../../src/model/declared.ts";
import type { Entry } from "../../../src/model/entry.ts";
import { parseDeclaredEntry } from "../../../src/model/entry.ts";
import type { Gathered, GatheredRule } from "../../../src/model/gathered.ts";

export interface Wanted {
  readonly blocklist: ReadonlySet<Entry>;
  readonly allowlist: ReadonlySet<Entry>;
}

/** What the rules want on the lists at a time. */
export function wantedEntries(gathered: Gathered, nowMs: number): Wanted {
  const winners = new Map<Entry, ListName>();
  for (const rule of oldestFirst(gathered.rules)) {
    if (isOver(rule, nowMs)) continue;
    const list = rule.rule.action === "Block" ? "blocklist" : "allowlist";
    for (const text of textsOf(rule)) {
      const parsed = parseDeclaredEntry(text);
      if (!parsed.ok || winners.has(parsed.entry) || isForbidden(gathered, list, parsed.entry)) continue;
      winners.set(parsed.entry, list);
    }
  }
  const on = (list: ListName): Set<Entry> =>
    new Set([...winners].flatMap(([entry, winner]) => (winner === list ? [entry] : [])));
  return { blocklist: on("blocklist"), allowlist: on("allowlist") };
}

/** Why nothing may be removed from the list, if anything forbids it. */
export function removalsForbidden(gathered: Gathered, list: ListName | "origins", nowMs: number): string | undefined {
  if (gathered.brokenSources.length > 0) return "a source is broken";
  for (const rule of gathered.rules) {
    const ofList = rule.rule.action === "Block" ? "blocklist" : "allowlist";
    if (isOver(rule, nowMs) || (list !== "origins" && ofList !== list)) continue;
    if (rule.texts.some(({ state }) => state === "Missing")) return `a ConfigMap of ${rule.rule.meta.name} is missing`;
    if (textsOf(rule).some((text) => !parseDeclaredEntry(text).ok))
      return `${rule.rule.meta.name} has an invalid entry`;
  }
  return undefined;
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
