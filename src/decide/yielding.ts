// Rules whose entries yield: they give way to everything that allows or protects one of their addresses, because a wider block would
// include that address too. Such rules are no decision of a person.
import { type Entry, parseDeclaredEntry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { DeclaredRule } from "../model/declared.ts";
import { type Inventory, isLeaving } from "../model/inventory.ts";
import type { Shown } from "../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";

export interface YieldBasis {
  /** The compiled rules that do not yield. */
  readonly allowing: readonly CompiledRule[];
  readonly record?: Pick<Inventory, "entries" | "allowed"> | undefined;
  readonly shown?: Shown | undefined;
}

/** The entries that count now. What the guards reject is left out already. */
export function withoutYielded(rule: DeclaredRule, entries: ReadonlySet<Entry>, basis: YieldBasis): ReadonlySet<Entry> {
  if (entries.size === 0) return entries;
  const index = new NetworkIndex(entries);
  const near = (of: YieldBasis): readonly Entry[] =>
    protectedFrom(rule, of).filter((entry) => index.overlaps(entry) !== undefined);
  const all = near(basis);
  if (all.length === 0) return entries;
  const { allowing, record } = basis;
  const protecting = new NetworkIndex(all);
  // While everything could be read, nothing exempted what the record blocks: a remembered Allow entry lifts no such block.
  const isBroken = allowing.some(({ remembered }) => remembered.size > 0);
  const lifting = isBroken
    ? new NetworkIndex(near({ ...basis, allowing: allowing.map(withoutRemembered) }))
    : protecting;
  const isBlocked = (entry: Entry): boolean => {
    const owned = record?.entries.blocklist.get(entry);
    return owned !== undefined && record !== undefined && !isLeaving(entry, owned, record.allowed.blocklist);
  };
  return new Set(
    [...entries].filter((entry) => (isBlocked(entry) ? lifting : protecting).overlaps(entry) === undefined),
  );
}

function withoutRemembered(rule: CompiledRule): CompiledRule {
  return { ...rule, entries: new Set([...rule.entries].filter((entry) => !rule.remembered.has(entry))) };
}

/**
 * Everything that the entries of the rule yield to: what it names, Allow entries, the entries that other writers have put on the WAF's
 * allowlist, and the current primary origin.
 */
export function protectedFrom({ meta, yieldsTo = [] }: DeclaredRule, basis: YieldBasis): readonly Entry[] {
  const { record, shown } = basis;
  const managed = record?.entries;
  const primary = shown?.primaryOrigin === undefined ? [] : [shown.primaryOrigin];
  const named = [...yieldsTo, ...primary].flatMap((text) => {
    const parsed = parseDeclaredEntry(text);
    return parsed.ok ? [parsed.entry] : [];
  });
  const others = [...(shown?.lists.allowlist.keys() ?? [])].filter((entry) => managed?.allowlist.has(entry) !== true);
  return [...named, ...exemptingAllows(meta.namespace, basis), ...others];
}

/**
 * Always those of the owner and of the same namespace. Those of another guest count only if they would not lift an existing block: if
 * they are already on the allowlist, or if no managed block overlaps them.
 */
function exemptingAllows(namespace: string, { allowing, record }: YieldBasis): Entry[] {
  const managed = record?.entries;
  const allows = allowing.filter(({ list, entries }) => list === "allowlist" && entries.size > 0);
  const isTrusted = ({ isOwners, rule }: CompiledRule): boolean => isOwners || rule.meta.namespace === namespace;
  const others = allows.filter((draft) => !isTrusted(draft)).flatMap(({ entries }) => [...entries]);
  const trusted = allows.filter(isTrusted).flatMap(({ entries }) => [...entries]);
  if (others.length === 0) return trusted;
  const blocked = new NetworkIndex(managed?.blocklist.keys() ?? []);
  const counting = others.filter(
    (entry) => managed?.allowlist.has(entry) === true || blocked.overlaps(entry) === undefined,
  );
  return [...trusted, ...counting];
}
