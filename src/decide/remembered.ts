// What can't be read is not gone: it counts as declaring what the record says it last declared. The remembered entries join their
// rule, or a rule that stands in for their object, and take part in guards, grants and conflicts like all others.
//
// broken                                       remembered: what was last declared by
// -------------------------------------------  ---------------------------------------------------------------------------
// a file, or a kind that can't be listed       any object
// a source of a rule                           the source, for any rule. If the record has nothing of it: its rule, and deleted
//                                              rules of its namespace, because a rule may have been renamed
// a line that is no address, unknown labels    the rule
// an object that is not understood             the object
// a reference to an instance that is missing   the object. In a directory, also the one whose namespace was mistyped
//
// An entry that is leaving is not remembered: its removal was allowed after a fresh read that showed that nobody declares it.
import type { Entry } from "../address/entry.ts";
import { attachmentOf, type BrokenReference, type Gathered } from "../model/gathered.ts";
import { continuesOf } from "../model/continues.ts";
import { type DeclaredOrigin, eachList, type ListName, listNames, listOf } from "../model/declared.ts";
import {
  type EntryOwner,
  type EntryOwners,
  readOwners,
  remembering,
  namespaceOfRule,
  ruleIdOfOwner,
  splitRetainers,
} from "../model/rule-id.ts";
import { type Inventory, isLeaving, type OwnedEntry } from "../model/inventory.ts";
import { nameKey, nameOfKey, resourceKey, type ResourceRef } from "../model/resource.ts";
import { asSentence, capitalized } from "../model/texts.ts";
import { type Broken, expiryOf } from "./compiled-rule.ts";

/** A broken part of a rule that exists. */
export interface BrokenPart extends Broken {
  readonly list: ListName;
  readonly rule: string;
  /** Undefined if all entries of the rule count. */
  readonly source: string | undefined;
}

/** The parts of the record that show what was last declared. */
export type LastDeclared = Pick<Inventory, "entries" | "allowed" | "origins">;

/** What the record says that one rule last declared for one list. */
export interface RememberedRule {
  readonly list: ListName;
  readonly id: string;
  /** By the recorded source of the entries. */
  readonly parts: Map<string | undefined, Map<Entry, Broken>>;
  /** How many declared entries a merged network covers. */
  readonly lines: Map<Entry, number>;
  retains: boolean;
  /** When the object expires that can be read, but is not attached. */
  readonly expiresAtMs: number | undefined;
}

export interface Memory {
  /** By list and ID, with a space between them. */
  readonly rules: ReadonlyMap<string, RememberedRule>;
  /** The IDs of rules that may seem to be deleted, and may only be unreadable. */
  readonly unknown: ReadonlySet<string>;
  /** Why an entry that no record assigns to a rule may be declared nevertheless; undefined if everything was read. */
  readonly unread: Readonly<Record<ListName, Broken | undefined>>;
}

export const noMemory: Memory = {
  rules: new Map(),
  unknown: new Set(),
  unread: { blocklist: undefined, allowlist: undefined },
};

/** Finds out why an object that last declared something can't be read. */
export class BrokenObjects {
  readonly everything: Broken | undefined;
  readonly #gathered: Gathered;
  readonly #nowMs: number;
  readonly #renamed: ReadonlyMap<string, BrokenReference>;

  /** @param refused the rules whose namespaces have no access: in a directory, their namespace may be mistyped */
  constructor(gathered: Gathered, refused: readonly BrokenReference[], nowMs: number) {
    this.#gathered = gathered;
    this.#nowMs = nowMs;
    const [first, ...others] = gathered.brokenSources;
    const are = others.length === 1 ? "is 1 more such problem" : `are ${others.length} more such problems`;
    const more = others.length === 0 ? "" : ` There ${are}.`;
    this.everything = first === undefined ? undefined : { reason: `${asSentence(first)}${more}`, letGo: undefined };
    const objects = [...(gathered.brokenReferences?.objects.values() ?? [])];
    const misnamed = gathered.brokenReferences?.existing === undefined ? [] : [...refused, ...objects];
    this.#renamed = new Map(misnamed.map((broken) => [plainKey(broken.declared.meta), broken]));
  }

  get isEmpty(): boolean {
    const { invalidObjects, brokenReferences } = this.#gathered;
    const objects = (invalidObjects?.size ?? 0) + (brokenReferences?.objects.size ?? 0) + this.#renamed.size;
    return this.everything === undefined && objects === 0;
  }

  /** Why the owner can't be read; undefined if it can, or if it was deleted. */
  of(owner: EntryOwner): (Broken & { readonly expiresAtMs?: number | undefined }) | undefined {
    if (this.everything !== undefined) return this.everything;
    const { invalidObjects, brokenReferences } = this.#gathered;
    const ref = { kind: owner.kind, ...nameOfKey(owner.name) };
    const key = resourceKey(ref);
    const invalid = invalidObjects?.get(key);
    if (invalid !== undefined) return notUnderstood(key, invalid);
    if (brokenReferences === undefined) return undefined;
    const { objects, existing } = brokenReferences;
    const broken = objects.get(key) ?? (existing?.has(key) === false ? this.#renamed.get(plainKey(ref)) : undefined);
    if (broken === undefined || this.#isOver(broken)) return undefined;
    if (!isOfFormer(this.#gathered, broken) && !mayAttach(this.#gathered, ref)) return undefined;
    return { ...unattached(broken, key), expiresAtMs: expiryIn(broken) };
  }

  /** The first object that may declare an entry for the list, although the record says nothing of it. */
  unreadOn(list: ListName): Broken | undefined {
    const { invalidObjects = new Map<string, string>(), brokenReferences } = this.#gathered;
    if (this.everything !== undefined) return this.everything;
    for (const [key, problem] of invalidObjects) if (!key.startsWith("WafOrigin ")) return notUnderstood(key, problem);
    if (brokenReferences === undefined) return undefined;
    for (const broken of brokenReferences.objects.values()) {
      const { declared } = broken;
      if (!("action" in declared) || listOf(declared) !== list || this.#isOver(broken)) continue;
      // In a directory, the namespace may be wrong, too.
      const isPossible = brokenReferences.existing !== undefined || isOfFormer(this.#gathered, broken);
      if (isPossible || mayAttach(this.#gathered, declared.meta)) return unattached(broken, resourceKey(declared.meta));
    }
    return undefined;
  }

  /** An expired rule declares nothing, whether or not it is attached. */
  #isOver(broken: BrokenReference): boolean {
    const expiresAtMs = expiryIn(broken);
    return broken.declared.meta.deleting || (expiresAtMs !== undefined && expiresAtMs <= this.#nowMs);
  }
}

function notUnderstood(key: string, problem: string): Broken {
  return { reason: asSentence(problem), letGo: `delete ${key}` };
}

function unattached({ declared, problem }: BrokenReference, owner: string): Broken {
  const { meta } = declared;
  const object = resourceKey(meta);
  const where = meta.location === "" ? "" : ` (${meta.location})`;
  const renamed = object === owner ? "" : ` It may be ${owner}, which no longer exists.`;
  const fields = object === owner ? "spec.instanceRef" : "metadata.namespace or spec.instanceRef";
  return {
    reason: `${object}${where} is not attached to an instance. ${capitalized(asSentence(problem))}${renamed} Correct ${fields}.`,
    letGo: `delete ${object}`,
  };
}

function expiryIn({ declared }: BrokenReference): number | undefined {
  return "action" in declared ? expiryOf(declared) : undefined;
}

/** Whether the object still refers to the instance that this one continues. */
function isOfFormer({ instance }: Gathered, { declared }: BrokenReference): boolean {
  const continues = continuesOf(instance.meta);
  return continues.state === "Named" && nameKey(continues.former) === nameKey(declared.instance);
}

function mayAttach(gathered: Gathered, ref: ResourceRef): boolean {
  if (ref.kind === "WafInstance" || ref.kind === "WafFeed") return false;
  const { state } = attachmentOf(gathered, ref);
  return state === "Allowed" || state === "Unknown";
}

function plainKey({ kind, name }: Pick<ResourceRef, "kind" | "name">): string {
  return `${kind} ${name}`;
}

/** The rule that counts as declaring an entry, and why. */
interface Claim extends Broken {
  readonly id: string;
  readonly source: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

/**
 * Finds what the broken objects and parts last declared.
 *
 * @param existing the rules that exist and are not being deleted
 */
export function remember(
  { entries, allowed }: LastDeclared,
  objects: BrokenObjects,
  parts: readonly BrokenPart[],
  existing: ReadonlySet<string>,
): Memory {
  if (objects.isEmpty && parts.length === 0) return noMemory;
  const rules = new Map<string, RememberedRule>();
  const unknown = new Set<string>();
  const recorded = parts.some(({ source }) => source !== undefined) ? sourcesIn(entries) : new Set<string>();
  for (const list of listNames) {
    const ofList = parts.filter((part) => part.list === list);
    const partsOf = brokenPartsBy(ofList, recorded, existing);
    const claimsOf = remembering((owners) =>
      readOwners(owners).flatMap((owner): readonly Claim[] => {
        const id = ruleIdOfOwner(owner);
        if (id === undefined) return [];
        const { source } = owner;
        const broken = objects.of(owner);
        const ofParts = partsOf(id, source).map(({ rule, reason, letGo }) => ({ id: rule, source, reason, letGo }));
        const found = broken === undefined ? ofParts : [{ ...broken, id, source }];
        if (found.length > 0) unknown.add(id);
        return found;
      }),
    );
    for (const [entry, record] of entries[list]) {
      const found = claimsOf(record.owners);
      if (objects.everything !== undefined) for (const id of splitRetainers(record.retainedBy)) unknown.add(id);
      if (isLeaving(entry, record, allowed[list])) continue;
      for (const claim of found) note(rules, list, claim, entry, record);
    }
  }
  const unread = (list: ListName): Broken | undefined =>
    objects.unreadOn(list) ?? parts.find((part) => part.list === list);
  return { rules, unknown, unread: eachList(unread) };
}

function note(
  rules: Map<string, RememberedRule>,
  list: ListName,
  { id, source, expiresAtMs, ...broken }: Claim,
  entry: Entry,
  { lines, retainedBy }: OwnedEntry,
): void {
  const key = `${list} ${id}`;
  const rule = rules.get(key) ?? { list, id, parts: new Map(), lines: new Map(), retains: false, expiresAtMs };
  rules.set(key, rule);
  const part = rule.parts.get(source) ?? new Map<Entry, Broken>();
  rule.parts.set(source, part.set(entry, broken));
  if (lines !== undefined) rule.lines.set(entry, lines);
  rule.retains ||= splitRetainers(retainedBy).includes(id);
}

/**
 * Finds the parts of one list that remember what a rule last declared from a source, one for each rule that has any.
 * @param recorded the sources of which the record has entries
 */
function brokenPartsBy(
  parts: readonly BrokenPart[],
  recorded: ReadonlySet<string>,
  existing: ReadonlySet<string>,
): (id: string, source: string | undefined) => readonly BrokenPart[] {
  const { true: known = [], false: others = [] } = Object.groupBy(parts, ({ source }) =>
    source !== undefined && recorded.has(source) ? "true" : "false",
  );
  const bySource = Map.groupBy(known, ({ source }) => source);
  const byRule = Map.groupBy(others, ({ rule }) => rule);
  const sources = others.filter(({ source }) => source !== undefined);
  const byNamespace = Map.groupBy(sources, ({ rule }) => namespaceOfRule(rule));
  return (id, source) => {
    const ofSource = source === undefined ? [] : (bySource.get(source) ?? []);
    const own = [...(byRule.get(id) ?? []), ...ofSource.filter(({ rule }) => rule === id)];
    if (own.length > 0) return own.slice(0, 1);
    // The source is now of another rule, or the rule was renamed together with its source.
    const found = ofSource.length > 0 || existing.has(id) ? ofSource : byNamespace.get(namespaceOfRule(id));
    return [...new Map(found?.map((part) => [part.rule, part])).values()];
  };
}

function sourcesIn(entries: LastDeclared["entries"]): ReadonlySet<string> {
  const owners = new Set<EntryOwners>();
  for (const list of listNames) for (const record of entries[list].values()) owners.add(record.owners);
  return new Set([...owners].flatMap((one) => readOwners(one).flatMap(({ source }) => source ?? [])));
}

export interface RememberedOrigin {
  readonly origin: DeclaredOrigin;
  readonly broken: Broken;
}

/**
 * The origins that a broken object last declared, by host, and those whose type only the record still says.
 *
 * @param wanted the origins that can be read
 */
export function rememberOrigins(
  gathered: Gathered,
  origins: LastDeclared["origins"],
  brokenOf: (owner: EntryOwner) => Broken | undefined,
  wanted: ReadonlyMap<string, DeclaredOrigin>,
): ReadonlyMap<string, RememberedOrigin> {
  const found = new Map<string, RememberedOrigin>();
  for (const [host, { type, owners, retainedBy }] of origins) {
    const [owner] = readOwners(owners);
    const name = owner?.name ?? "";
    const broken = brokenOf(owner ?? { kind: "WafOrigin", name, source: undefined });
    const declared = wanted.get(host);
    if (broken === undefined || declared?.type === type) continue;
    const known = { instance: gathered.instance.meta, host } as const;
    const deletionPolicy = retainedBy === name ? "Retain" : "Delete";
    const meta = { ...standInMeta, kind: "WafOrigin", ...nameOfKey(name) } as const;
    found.set(host, { origin: { ...(declared ?? { ...known, meta, deletionPolicy }), type }, broken });
  }
  return found;
}

/** Nothing else is known of an object that can't be read. In a cluster, it counts as the oldest. */
export const standInMeta = {
  uid: "",
  generation: 0,
  createdAtMs: undefined,
  annotations: {},
  deleting: false,
  location: "",
} as const;
