// An unreadable source puts removals on hold: those of entries that it may still declare, and no others.
//
// scope        entries on hold
// -----------  --------------------------------------------------------------------------------------------------
// Unconfirmed  all, and an approval is impossible: the declared state could not be read before the removal
// All          all: an unparsable file or an unlisted kind can declare anything
// Restored     all, until the inventory is accepted: it is older than the one that the status describes
// Rule         that the rule last declared
// Source       that the source last declared, for any rule. If none are recorded, its entries are unknown: then those of its
//              own rule, and those of deleted rules in its namespace, because a rule may have been renamed
// Object       that the object last declared, on both lists: its reference is broken
//
// Entries with unknown owners are on hold for every hold of their list, and for objects that may declare them now.
import { hexDigest } from "../../model/hex-digest.ts";
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { EntryOwner, EntryOwners } from "../../model/entry-owners.ts";
import { readOwners, unknownOwners, writeOwners } from "../../model/entry-owners.ts";
import type { Entry } from "../../address/entry.ts";
import { namespaceOfRule, ruleIdOfOwner } from "../../model/rule-id.ts";
import type { Inventory, OwnedEntry, OwnedOrigin } from "../../model/inventory.ts";

export type HoldScope =
  | { readonly kind: "Unconfirmed" }
  | { readonly kind: "All" }
  | { readonly kind: "Restored" }
  | { readonly kind: "Rule"; readonly list: ListName; readonly rule: string }
  | { readonly kind: "Source"; readonly list: ListName; readonly rule: string; readonly source: string }
  /** `object` is the `resourceKey` of a rule or an origin. */
  | { readonly kind: "Object"; readonly object: string };

export interface Hold {
  readonly scope: HoldScope;
  /** The reason, in one sentence. */
  readonly reason: string;
}

/** The holds of objects with a broken reference. There may be many, few of which own entries, so they are looked up by owner. */
export interface ObjectHolds {
  readonly isEmpty: boolean;
  on(owner: EntryOwner): readonly Hold[];
  /** The holds on an entry with unknown owners: those of the objects that may declare it now. */
  onUnowned(list: ListName, entry: Entry): readonly Hold[];
}

export const noObjectHolds: ObjectHolds = { isEmpty: true, on: () => [], onUnowned: () => [] };

type SourceHold = Hold & { readonly scope: Extract<HoldScope, { kind: "Source" }> };

/** True for holds on the removals of both lists and of origins. */
export function holdsEverything({ scope }: Hold): boolean {
  return scope.kind === "All" || scope.kind === "Unconfirmed" || scope.kind === "Restored";
}

// The key of a hold is computed once, because each removal on hold needs it.
const holdKeys = new WeakMap<Hold, string>();

/** Identifies the hold in an approval: stable for the same object, and for `All` for the same reason. */
export function holdKey(hold: Hold): string {
  const known = holdKeys.get(hold);
  if (known !== undefined) return known;
  const { scope, reason } = hold;
  const named = "rule" in scope || "object" in scope ? scope : { ...scope, reason };
  const key = hexDigest(JSON.stringify(named), 12);
  holdKeys.set(hold, key);
  return key;
}

/** Finds the holds on an entry. Created for one plan: it caches its results by owners, of which there are few. */
export class HoldIndex {
  readonly #lists: Readonly<Record<ListName, ListHolds>>;
  readonly #everything: readonly Hold[];
  readonly #ofObjects: ObjectHolds;

  /** @param existingRules the rules that exist and are not being deleted. */
  constructor(
    { holds, ofObjects }: { readonly holds: readonly Hold[]; readonly ofObjects: ObjectHolds },
    inventory: Pick<Inventory, "entries">,
    existingRules: ReadonlySet<string>,
  ) {
    const recorded = holds.some(({ scope }) => scope.kind === "Source") ? sourcesIn(inventory) : new Set<string>();
    const of = (list: ListName): ListHolds => new ListHolds(holdsOf(holds, list), ofObjects, recorded, existingRules);
    this.#lists = { blocklist: of("blocklist"), allowlist: of("allowlist") };
    this.#everything = holds.filter(holdsEverything);
    this.#ofObjects = ofObjects;
  }

  /** The holds on the removal of an origin. Empty if there are none. */
  onOrigin({ owners }: Pick<OwnedOrigin, "owners">): readonly Hold[] {
    return [...this.#everything, ...readOwners(owners).flatMap((owner) => this.#ofObjects.on(owner))];
  }

  /** The holds on the removal of an entry, whose record is undefined if it is unmanaged. Empty if there are none. */
  on(list: ListName, entry: Entry, record: OwnedEntry | undefined): readonly Hold[] {
    const owners = record?.owners ?? unknownOwners;
    const holds = this.#lists[list].on(owners);
    if (owners !== unknownOwners || this.#ofObjects.isEmpty) return holds;
    return [...holds, ...this.#ofObjects.onUnowned(list, entry)];
  }

  /** The recorded owners that can't be read now: they stay owners, even if other rules declare the entry. */
  unreadable(list: ListName, owners: EntryOwners): EntryOwners {
    return this.#lists[list].unreadable(owners);
  }

  /** The rules with a missing source that last declared the entry. */
  awaiting(list: ListName, record: OwnedEntry): readonly string[] {
    return this.#lists[list].awaiting(record.owners);
  }
}

/** Holds, grouped by scope. */
interface HoldsByScope {
  readonly byRule: ReadonlyMap<string, readonly Hold[]>;
  readonly bySource: ReadonlyMap<string, readonly SourceHold[]>;
  /** Sources without a record, by namespace. */
  readonly byNamespace: ReadonlyMap<string, readonly Hold[]>;
}

function sortByScope(holds: readonly Hold[], recorded: ReadonlySet<string>): HoldsByScope {
  const byRule = new Map<string, Hold[]>();
  const bySource = new Map<string, SourceHold[]>();
  const byNamespace = new Map<string, Hold[]>();
  for (const hold of holds) {
    const { scope } = hold;
    if (scope.kind === "Rule") push(byRule, scope.rule, hold);
    if (scope.kind !== "Source") continue;
    if (recorded.has(scope.source)) {
      push(bySource, scope.source, { ...hold, scope });
      continue;
    }
    push(byRule, scope.rule, hold);
    push(byNamespace, namespaceOfRule(scope.rule), hold);
  }
  return { byRule, bySource, byNamespace };
}

class ListHolds {
  readonly #all: readonly Hold[];
  readonly #ofObjects: ObjectHolds;
  readonly #everything: readonly Hold[];
  /** Created on demand: guests can have thousands of broken sources without any entry on the list. */
  #sorted: HoldsByScope | undefined;
  readonly #recorded: ReadonlySet<string>;
  readonly #mayAwait: boolean;
  readonly #existingRules: ReadonlySet<string>;
  readonly #known = new Map<EntryOwners, readonly Hold[]>();
  readonly #unreadable = new Map<EntryOwners, EntryOwners>();
  readonly #awaiting = new Map<EntryOwners, readonly string[]>();

  constructor(
    holds: readonly Hold[],
    ofObjects: ObjectHolds,
    recorded: ReadonlySet<string>,
    existingRules: ReadonlySet<string>,
  ) {
    this.#all = holds;
    this.#ofObjects = ofObjects;
    this.#everything = holds.filter(holdsEverything);
    this.#existingRules = existingRules;
    this.#recorded = recorded;
    this.#mayAwait = holds.some(({ scope }) => scope.kind === "Source" && recorded.has(scope.source));
  }

  on(owners: EntryOwners): readonly Hold[] {
    if (this.#isEmpty || owners === unknownOwners) return this.#all;
    const known = this.#known.get(owners);
    if (known !== undefined) return known;
    const holds = [...new Set([...this.#everything, ...readOwners(owners).flatMap((owner) => this.#onOwner(owner))])];
    this.#known.set(owners, holds);
    return holds;
  }

  unreadable(owners: EntryOwners): EntryOwners {
    if (this.#isEmpty || owners === unknownOwners) return unknownOwners;
    if (this.#everything.length > 0) return owners;
    const known = this.#unreadable.get(owners);
    if (known !== undefined) return known;
    const left = writeOwners(readOwners(owners).filter((owner) => this.#onOwner(owner).length > 0));
    this.#unreadable.set(owners, left);
    return left;
  }

  awaiting(owners: EntryOwners): readonly string[] {
    if (!this.#mayAwait) return [];
    const known = this.#awaiting.get(owners);
    if (known !== undefined) return known;
    const holds = readOwners(owners).flatMap(({ source }) => this.#byScope.bySource.get(source ?? "") ?? []);
    const rules = [...new Set(holds.map(({ scope }) => scope.rule))];
    this.#awaiting.set(owners, rules);
    return rules;
  }

  get #byScope(): HoldsByScope {
    this.#sorted ??= sortByScope(this.#all, this.#recorded);
    return this.#sorted;
  }

  get #isEmpty(): boolean {
    return this.#all.length === 0 && this.#ofObjects.isEmpty;
  }

  #onOwner(owner: EntryOwner): readonly Hold[] {
    const { source } = owner;
    const rule = ruleIdOfOwner(owner);
    const { byRule, bySource, byNamespace } = this.#byScope;
    const ofSource = source === undefined ? [] : (bySource.get(source) ?? []);
    const isGone = rule !== undefined && !this.#existingRules.has(rule);
    const ofNamespace = isGone ? (byNamespace.get(namespaceOfRule(rule)) ?? []) : [];
    return [...(byRule.get(rule ?? "") ?? []), ...ofSource, ...ofNamespace, ...this.#ofObjects.on(owner)];
  }
}

function holdsOf(holds: readonly Hold[], list: ListName): readonly Hold[] {
  return holds.filter(({ scope }) => !("list" in scope) || scope.list === list);
}

// A run needs the sources of the same entries several times.
const recordedSources = new WeakMap<Inventory["entries"], ReadonlySet<string>>();

/** The sources that are recorded for any entry. */
function sourcesIn({ entries }: Pick<Inventory, "entries">): ReadonlySet<string> {
  const known = recordedSources.get(entries);
  if (known !== undefined) return known;
  const owners = new Set<EntryOwners>();
  for (const list of listNames) for (const record of entries[list].values()) owners.add(record.owners);
  const sources = new Set([...owners].flatMap((one) => readOwners(one).flatMap(({ source }) => source ?? [])));
  recordedSources.set(entries, sources);
  return sources;
}

function push<V>(map: Map<string, V[]>, key: string, value: V): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}
