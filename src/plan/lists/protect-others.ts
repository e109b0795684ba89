// Nobody but the owner lifts what another namespace declared. Where lists overlap, the WAF decides what counts for an address,
// so an entry of a guest is refused if it overlaps an entry of another namespace on the other list:
//
// - a guest's Allow entry that overlaps a Block entry of the owner, or of another guest unless the allowlist holds it already;
// - a guest's Block entry inside an Allow entry of the owner. (A wider one leaves the exception in place.)
import type { Entry } from "../../model/entry.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { withoutEntries } from "./conflicts.ts";
import type { RejectedEntry } from "./rule-entries.ts";

export interface Protection {
  readonly managed: Inventory["entries"] | undefined;
  /** Where a rule says that it wants the entry. */
  readonly sourceOf: (rule: CompiledRule, entry: Entry) => string;
  /** Managed Block entries that are on hold for objects of other namespaces than this one: of the owner, and of guests. */
  readonly heldFor: (namespace: string) => { readonly ofOwner: readonly Entry[]; readonly ofGuests: readonly Entry[] };
}

/** Takes refused entries out of guests' rules. The rules come oldest first and without conflicts about the same entry. */
export function protectOthers(rules: readonly CompiledRule[], protection: Protection): readonly CompiledRule[] {
  if (rules.every(({ isOwners }) => isOwners)) return rules;
  const owners = new NetworkIndex(entriesOf(rules.filter(({ isOwners, list }) => isOwners && list === "allowlist")));
  const blocked = new Map<string, BlockedByOthers>();
  return rules.map((rule) => {
    if (rule.isOwners || rule.entries.size === 0) return rule;
    if (rule.list === "blocklist") {
      return refusing(rule, protection, (entry) => owners.containing(entry) !== undefined, "allowed");
    }
    const { namespace } = rule.rule.meta;
    const others = blocked.get(namespace) ?? blockedByOthers(rules, namespace, protection);
    blocked.set(namespace, others);
    const isHeld = (entry: Entry): boolean => protection.managed?.allowlist.has(entry) === true;
    const lifts = (entry: Entry): boolean =>
      others.ofOwner.overlaps(entry) !== undefined || (!isHeld(entry) && others.ofGuests.overlaps(entry) !== undefined);
    return refusing(rule, protection, lifts, "blocked");
  });
}

/** What other namespaces than one have on the blocklist. */
interface BlockedByOthers {
  readonly ofOwner: NetworkIndex;
  readonly ofGuests: NetworkIndex;
}

function blockedByOthers(rules: readonly CompiledRule[], namespace: string, { heldFor }: Protection): BlockedByOthers {
  const others = rules.filter(({ list, rule }) => list === "blocklist" && rule.meta.namespace !== namespace);
  const held = heldFor(namespace);
  return {
    ofOwner: new NetworkIndex([...entriesOf(others.filter(({ isOwners }) => isOwners)), ...held.ofOwner]),
    ofGuests: new NetworkIndex([...entriesOf(others.filter(({ isOwners }) => !isOwners)), ...held.ofGuests]),
  };
}

function refusing(
  rule: CompiledRule,
  { sourceOf }: Protection,
  isRefused: (entry: Entry) => boolean,
  how: "allowed" | "blocked",
): CompiledRule {
  const lost: RejectedEntry[] = [];
  for (const entry of rule.entries) {
    if (!isRefused(entry)) continue;
    const message = `Addresses of ${entry} are ${how} by a rule of another namespace: write entries that leave them out, or ask the owner of the instance.`;
    lost.push({ entry, source: sourceOf(rule, entry), message });
  }
  return withoutEntries(rule, lost);
}

function entriesOf(rules: readonly CompiledRule[]): Entry[] {
  return rules.flatMap(({ entries }) => [...entries]);
}
