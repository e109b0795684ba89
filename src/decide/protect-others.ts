// Only the owner can override what another namespace declared. If lists overlap, the WAF decides which one takes precedence for
// an address. An entry of a guest is therefore rejected if it overlaps an entry of another namespace on the other list:
//
// - a guest's Allow entry that overlaps a Block entry of the owner, or of another guest unless it is already on the allowlist;
// - a guest's Block entry inside an Allow entry of the owner. (A wider one leaves the exception in place.)
import type { Entry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { Inventory } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import { type CompiledRule, placeOf } from "./compiled-rule.ts";
import { withoutEntries } from "./conflicts.ts";
import { SentAs } from "./aggregation.ts";
import type { RejectedEntry } from "./rule-entries.ts";

export interface Protection {
  /** The namespace of the instance. */
  readonly home: string;
  readonly managed: Inventory["entries"] | undefined;
  /** The entries on the lists, if known. */
  readonly shown: Observed["lists"] | undefined;
}

/** Removes rejected entries from guests' rules. The rules are ordered oldest first, without conflicts about the same entry. */
export function protectOthers(rules: readonly CompiledRule[], protection: Protection): readonly CompiledRule[] {
  if (rules.every(({ isOwners }) => isOwners)) return rules;
  const ofOwner = entriesOf(rules.filter(({ isOwners, list }) => isOwners && list === "allowlist"));
  const owners = new NetworkIndex(ofOwner);
  const allowed = entriesOf(rules.filter(({ isOwners, list }) => !isOwners && list === "allowlist"));
  const { managed, shown } = protection;
  const sentAs = managed === undefined ? undefined : new SentAs(managed.allowlist);
  const blocked = allowed.length === 0 ? undefined : blockedNear(allowed, rules, protection);
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
function blockedNear(allowed: readonly Entry[], rules: readonly CompiledRule[], { home }: Protection): Blocked {
  const near = new NetworkIndex(allowed);
  const ofOwner: Entry[] = [];
  const ofGuests: { entry: Entry; namespace: string }[] = [];
  const add = (entry: Entry, namespace: string): void => {
    if (near.overlaps(entry) === undefined) return;
    if (namespace === home) ofOwner.push(entry);
    else ofGuests.push({ entry, namespace });
  };
  for (const { list, rule, entries } of rules) {
    if (list !== "blocklist") continue;
    for (const entry of entries) add(entry, rule.meta.namespace);
  }
  return { ofOwner: new NetworkIndex(ofOwner), ofGuests: new OthersIndex(ofGuests) };
}

function refusing(rule: CompiledRule, isRefused: (entry: Entry) => boolean, how: "allowed" | "blocked"): CompiledRule {
  const lost: RejectedEntry[] = [];
  for (const entry of rule.entries) {
    if (!isRefused(entry)) continue;
    const message = `Addresses in ${entry} are ${how} by a rule of another namespace: write entries that leave them out, or ask the owner of the instance.`;
    lost.push({ entry, source: placeOf(rule, entry), message });
  }
  return withoutEntries(rule, lost);
}

function entriesOf(rules: readonly CompiledRule[]): Entry[] {
  return rules.flatMap(({ entries }) => [...entries]);
}

export interface EntryOf {
  readonly entry: Entry;
  readonly namespace: string;
}

interface DigitIndex {
  readonly zeros: NetworkIndex;
  readonly ones: NetworkIndex;
}

/**
 * Finds entries of other namespaces that overlap an entry. An index per namespace would have quadratic cost. Instead, namespaces
 * are numbered, and for each binary digit there is one index for namespaces with a 0 and one for those with a 1: any other
 * namespace differs in some digit, so it is in an index that does not include the own namespace.
 */
export class OthersIndex {
  readonly #numbers = new Map<string, number>();
  /** By binary digit, lowest first. */
  readonly #digits: readonly DigitIndex[];
  readonly #all: NetworkIndex;

  constructor(entries: readonly EntryOf[]) {
    for (const { namespace } of entries) {
      if (!this.#numbers.has(namespace)) this.#numbers.set(namespace, this.#numbers.size);
    }
    const digits = Math.ceil(Math.log2(Math.max(this.#numbers.size, 1)));
    const indexOf = (digit: number, value: number): NetworkIndex => {
      const isIn = ({ namespace }: EntryOf): boolean => digitOf(this.#numbers.get(namespace) ?? 0, digit) === value;
      return new NetworkIndex(entries.filter(isIn).map(({ entry }) => entry));
    };
    this.#all = new NetworkIndex(entries.map(({ entry }) => entry));
    this.#digits = Array.from({ length: digits }, (_, digit) => ({
      zeros: indexOf(digit, 0),
      ones: indexOf(digit, 1),
    }));
  }

  /** Whether an entry of any other namespace shares an address with the entry. */
  overlapsOthers(entry: Entry, namespace: string): boolean {
    if (this.#all.overlaps(entry) === undefined) return false;
    const number = this.#numbers.get(namespace);
    if (number === undefined) return true;
    return this.#digits.some(({ zeros, ones }, digit) => {
      const others = digitOf(number, digit) === 0 ? ones : zeros;
      return others.overlaps(entry) !== undefined;
    });
  }
}

function digitOf(number: number, digit: number): number {
  return (number >> digit) & 1;
}
