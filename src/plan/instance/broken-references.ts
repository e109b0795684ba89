// The holds for rules and origins that this version of wafsync does not understand, or that are not attached to an instance by
// mistake. To its former instance, a typo in `spec.instanceRef` looks like the deletion of the object. Its entries therefore stay
// until the reference is corrected, the object is deleted or a user approves the removals. An object that refers to another
// existing instance was moved, and causes no hold.
import { decideAttachment } from "../../model/attachment.ts";
import { continuesOf } from "../../model/continues.ts";
import type { ListName, DeclaredRule } from "../../model/declared.ts";
import type { EntryOwner } from "../../model/entry-owners.ts";
import { NetworkIndex } from "../../address/ranges.ts";
import type { Entry } from "../../address/entry.ts";
import { parseDeclaredEntry } from "../../address/entry.ts";
import type { BrokenReference, Gathered } from "../../model/gathered.ts";
import { nameKey, nameOfKey, resourceKey } from "../../model/resource.ts";
import type { ResourceRef } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import type { Hold, ObjectHolds } from "../lists/holds.ts";
import { noObjectHolds } from "../lists/holds.ts";
import { expiryOf } from "./expiry.ts";

/** The holds for objects that this version does not understand. */
function holdsOfInvalidObjects({ invalidObjects }: Pick<Gathered, "invalidObjects">): ObjectHolds {
  if (invalidObjects === undefined) return noObjectHolds;
  return {
    isEmpty: invalidObjects.size === 0,
    on(owner) {
      const object = resourceKey(refOf(owner));
      const reason = invalidObjects.get(object);
      return reason === undefined ? [] : [holdOn(object, reason)];
    },
    // What they declare is unknown.
    onUnowned: () => [...invalidObjects].map(([object, reason]) => holdOn(object, reason)),
  };
}

function holdOn(object: string, reason: string): Hold {
  return { scope: { kind: "Object", object }, reason };
}

/** @param rules the compiled attached rules */
export function holdsOfObjects(gathered: Gathered, rules: readonly CompiledRule[], nowMs: number): ObjectHolds {
  const { brokenReferences } = gathered;
  const invalid = holdsOfInvalidObjects(gathered);
  if (brokenReferences === undefined) return invalid;
  const { objects, existing } = brokenReferences;
  const renamed = existing === undefined ? new Map<string, BrokenReference>() : byPlainName(objects.values(), rules);
  const unowned: Partial<Record<ListName, ReturnType<typeof unattachedEntries>>> = {};
  return {
    isEmpty: objects.size === 0 && renamed.size === 0 && invalid.isEmpty,
    on(owner) {
      const ref = refOf(owner);
      const key = resourceKey(ref);
      const ofInvalid = invalid.on(owner);
      if (ofInvalid.length > 0) return ofInvalid;
      const broken = objects.get(key) ?? (existing?.has(key) === false ? renamed.get(plainKey(ref)) : undefined);
      if (broken === undefined || isOver(broken, nowMs)) return [];
      if (!isOfFormer(gathered, broken) && !mayAttach(gathered, ref)) return [];
      return [holdOf(broken, key)];
    },
    onUnowned(list, entry) {
      unowned[list] ??= unattachedEntries(unattachedRules(gathered, nowMs), list);
      return [...invalid.onUnowned(list, entry), ...unowned[list](entry)];
    },
  };
}

/** The rules that may belong to the instance. In a directory, the namespace may be wrong, too. */
function unattachedRules(gathered: Gathered, nowMs: number): UnattachedRule[] {
  const { objects = new Map<string, BrokenReference>(), existing } = gathered.brokenReferences ?? {};
  return [...objects].flatMap(([key, broken]) => {
    const { declared } = broken;
    if (!("action" in declared) || isOver(broken, nowMs)) return [];
    const isPossible = existing !== undefined || isOfFormer(gathered, broken) || mayAttach(gathered, declared.meta);
    return isPossible ? [{ rule: declared, hold: holdOf(broken, key) }] : [];
  });
}

/** In a directory: objects that may have been declared under a different name, including those whose namespace has no access. */
function byPlainName(objects: Iterable<BrokenReference>, rules: readonly CompiledRule[]): Map<string, BrokenReference> {
  const named = new Map<string, BrokenReference>();
  for (const { rule: declared, verdict, message } of rules) {
    if (verdict !== "NotAllowed") continue;
    named.set(plainKey(declared.meta), { declared, problem: message, place: declared.meta.location });
  }
  for (const object of objects) named.set(plainKey(object.declared.meta), object);
  return named;
}

function holdOf({ declared, problem, place }: BrokenReference, owner: string): Hold {
  const { meta } = declared;
  const object = resourceKey(meta);
  const where = place === "" ? "" : ` (${place})`;
  const renamed = object === owner ? "" : ` It may be ${owner}, which no longer exists.`;
  const fields = object === owner ? "spec.instanceRef" : "metadata.namespace or spec.instanceRef";
  const owned = meta.kind === "WafOrigin" ? "origin" : "entries";
  return {
    scope: { kind: "Object", object },
    reason: `${object}${where} is not attached to an instance. ${capitalized(asSentence(problem))}${renamed} Correct ${fields}, or delete the object if wafsync should remove its ${owned}.`,
  };
}

/** Whether the object still refers to the instance that this one continues. */
function isOfFormer({ instance }: Gathered, { declared }: BrokenReference): boolean {
  const continues = continuesOf(instance.meta);
  return continues.state === "Named" && nameKey(continues.former) === nameKey(declared.instance);
}

/** An expired rule declares nothing, whether or not it is attached. */
function isOver({ declared }: BrokenReference, nowMs: number): boolean {
  if (declared.meta.deleting) return true;
  const expiresAtMs = "action" in declared ? expiryOf(declared) : undefined;
  return expiresAtMs !== undefined && expiresAtMs <= nowMs;
}

function mayAttach({ instance, namespaceLabels }: Gathered, { kind, namespace }: ResourceRef): boolean {
  if (kind === "WafInstance" || kind === "WafFeed") return false;
  const { state } = decideAttachment(instance, kind, namespace, namespaceLabels.get(namespace));
  return state === "Allowed" || state === "Unknown";
}

function refOf({ kind, name }: EntryOwner): ResourceRef {
  return { kind, ...nameOfKey(name) };
}

function plainKey({ kind, name }: Pick<ResourceRef, "kind" | "name">): string {
  return `${kind} ${name}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

interface UnattachedRule {
  readonly rule: DeclaredRule;
  readonly hold: Hold;
}

/**
 * Finds the unattached rules that declare an entry which no record assigns to a rule, or one with common addresses: on a list with
 * the policy `Exclusive`, wafsync also removes entries that it does not manage. Returns the holds of these rules.
 */
function unattachedEntries(unattached: readonly UnattachedRule[], list: ListName): (entry: Entry) => readonly Hold[] {
  const ofList = unattached.filter(({ rule }) => (rule.action === "Block") === (list === "blocklist"));
  // The sources of unattached rules are not read, so these rules may declare every entry.
  const declaresAny = ofList.filter(({ rule }) => rule.addressesFrom.length + rule.feeds.length > 0);
  const named = ofList.map(({ rule, hold }) => ({ hold, entries: entriesOf(rule) }));
  const all = new NetworkIndex(named.flatMap(({ entries }) => entries));
  const indexes = named.map(({ hold, entries }) => ({ hold, index: new NetworkIndex(entries) }));
  return (entry) => {
    const found =
      all.overlaps(entry) === undefined ? [] : indexes.filter(({ index }) => index.overlaps(entry) !== undefined);
    return [...new Set([...declaresAny, ...found].map(({ hold }) => hold))];
  };
}

function entriesOf({ addresses }: DeclaredRule): Entry[] {
  return addresses.flatMap((text) => {
    const parsed = parseDeclaredEntry(text);
    return parsed.ok ? [parsed.entry] : [];
  });
}
