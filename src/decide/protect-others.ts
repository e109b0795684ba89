// Only the owner can override what another namespace declared. If lists overlap, the WAF decides which one takes precedence for
// an address. An entry of a guest is therefore rejected if it overlaps an entry of another namespace on the other list:
//
// - a guest's Allow entry that overlaps a Block entry of the owner, or of another guest unless it is already on the allowlist;
// - a guest's Block entry inside an Allow entry of the owner. (A wider one leaves the exception in place.)
import type { Entry } from "../address/entry.ts";
import { narrowestContainers, NetworkIndex } from "../address/ranges.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { withoutLost } from "./conflicts.ts";
import { type ListsNow, SentAs } from "./aggregation.ts";

/** Removes rejected entries from guests' rules. The rules are ordered oldest first, without conflicts about the same entry. */
export function protectOthers(rules: readonly CompiledRule[], { managed, shown }: ListsNow): readonly CompiledRule[] {
  if (rules.every(({ isOwners }) => isOwners)) return rules;
  const ofOwner = entriesOf(rules.filter(({ isOwners, list }) => isOwners && list === "allowlist"));
  const owners = new NetworkIndex(ofOwner);
  const allowed = entriesOf(rules.filter(({ isOwners, list }) => !isOwners && list === "allowlist"));
  const sentAs = managed === undefined ? undefined : new SentAs(managed.allowlist);
  const blocked = allowed.length === 0 ? undefined : blockedNear(allowed, rules);
  return rules.map((rule) => {
    if (rule.isOwners || rule.entries.size === 0) return rule;
    if (rule.list === "blocklist") {
      if (ofOwner.length === 0) return rule;
      return refusing(rule, (entry) => owners.containing(entry) !== undefined, "allowed");
    }
    const { namespace } = rule.rule.meta;
    const isHeld = (entry: Entry): boolean =>
      sentAs?.of(entry).some((sent) => shown?.allowlist.has(sent) !== false) === true;
    const lifts = (entry: Entry): boolean =>
      blocked?.ofOwner.overlaps(entry) !== undefined ||
      (!isHeld(entry) && blocked?.ofGuests.overlapsOthers(entry, namespace) === true);
    return refusing(rule, lifts, "blocked");
  });
}

interface Blocked {
  readonly ofOwner: NetworkIndex;
  readonly ofGuests: OthersIndex;
}

/** Block entries that overlap Allow entries of guests: few, regardless of the size of the lists. */
function blockedNear(allowed: readonly Entry[], rules: readonly CompiledRule[]): Blocked {
  const near = new NetworkIndex(allowed);
  const ofOwner: Entry[] = [];
  const ofGuests: EntryOf[] = [];
  for (const { list, isOwners, rule, entries } of rules) {
    if (list !== "blocklist") continue;
    for (const entry of entries) {
      if (near.overlaps(entry) === undefined) continue;
      if (isOwners) ofOwner.push(entry);
      else ofGuests.push({ entry, namespace: rule.meta.namespace });
    }
  }
  return { ofOwner: new NetworkIndex(ofOwner), ofGuests: new OthersIndex(ofGuests, allowed) };
}

function refusing(rule: CompiledRule, isRefused: (entry: Entry) => boolean, how: "allowed" | "blocked"): CompiledRule {
  return withoutLost(rule, (entry) =>
    isRefused(entry)
      ? `Addresses in ${entry} are ${how} by a rule of another namespace: write entries that leave them out, or ask the owner of the instance.`
      : undefined,
  );
}

function entriesOf(rules: readonly CompiledRule[]): Entry[] {
  return rules.flatMap(({ entries }) => [...entries]);
}

export interface EntryOf {
  readonly entry: Entry;
  readonly namespace: string;
}

/** Finds out whether entries of other namespaces share an address with an entry, at the cost of sorting them all once. */
export class OthersIndex {
  readonly #containers: ReadonlyMap<Entry, Entry>;
  /** The namespaces of the entry itself. Two of them always include another one, so no more are kept. */
  readonly #own = new Map<Entry, Set<string>>();
  /** The same with those of all entries inside it. */
  readonly #inside = new Map<Entry, Set<string>>();

  /** @param asked the entries that may be looked up */
  constructor(entries: readonly EntryOf[], asked: readonly Entry[]) {
    this.#containers = narrowestContainers([...asked, ...entries.map(({ entry }) => entry)]);
    for (const { entry, namespace } of entries) {
      keep(this.#own, entry, namespace);
      // Whatever one entry keeps already, all those around it keep, too.
      for (const around of this.#around(entry)) if (!keep(this.#inside, around, namespace)) break;
    }
  }

  overlapsOthers(entry: Entry, namespace: string): boolean {
    const isOther = (namespaces: Iterable<string> = []): boolean => [...namespaces].some((one) => one !== namespace);
    const isAround = this.#around(entry).some((around) => isOther(this.#own.get(around)));
    return isAround || isOther(this.#inside.get(entry));
  }

  /** The entry and all that contain it, narrowest first. */
  *#around(entry: Entry): Generator<Entry, void> {
    for (let at: Entry | undefined = entry; at !== undefined; at = this.#containers.get(at)) yield at;
  }
}

/** False if that changes nothing. */
function keep(namespaces: Map<Entry, Set<string>>, entry: Entry, namespace: string): boolean {
  const kept = namespaces.get(entry) ?? new Set<string>();
  namespaces.set(entry, kept);
  if (kept.size === 2 || kept.has(namespace)) return false;
  kept.add(namespace);
  return true;
}
