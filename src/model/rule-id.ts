// Identifies objects that declare entries: `namespace/name` for a WafIpRule, and `WafAutoBlock namespace/name` for a WafAutoBlock.
import { type ResourceMeta, nameKey, entryKinds } from "./resource.ts";
import { listed } from "./texts.ts";

const autoBlock = "WafAutoBlock";
const autoBlockPrefix = `${autoBlock} `;

export function ruleIdOf(meta: Pick<ResourceMeta, "kind" | "namespace" | "name">): string {
  return meta.kind === autoBlock ? `${autoBlockPrefix}${nameKey(meta)}` : nameKey(meta);
}

/** With its kind, for messages. */
export function ruleLabel(id: string): string {
  return id.startsWith(autoBlockPrefix) ? id : `WafIpRule ${id}`;
}

export function ownerOfRule(id: string, source: string | undefined): EntryOwner {
  return id.startsWith(autoBlockPrefix)
    ? { kind: autoBlock, name: id.slice(autoBlockPrefix.length), source }
    : { kind: "WafIpRule", name: id, source };
}

/** Undefined for the owner of an origin. */
export function ruleIdOfOwner({ kind, name }: Pick<EntryOwner, "kind" | "name">): string | undefined {
  if (kind === "WafOrigin") return undefined;
  return kind === autoBlock ? `${autoBlockPrefix}${name}` : name;
}

export function namespaceOfRule(id: string): string {
  const name = id.startsWith(autoBlockPrefix) ? id.slice(autoBlockPrefix.length) : id;
  return name.slice(0, name.indexOf("/"));
}

/** The rules that a record names as retaining an entry, separated by commas, which are not part of any name. */
export function splitRetainers(retainedBy: string | undefined): readonly string[] {
  return retainedBy?.split(",") ?? [];
}

// The last owners of a managed entry as one canonical string: 100,000 entries share a few such strings, and comparing them is cheap.
// `WafIpRule:shop/ipsum:ConfigMap%20shop/ipsum,%20key%20list` is one owner; several are sorted and joined by a space.

/** Printable ASCII without whitespace, colons and percent signs, because V8 compiles Unicode classes slowly. */
const plain = /^[!-$&-9;-~]*$/;

/** A part of an owner without whitespace and colons. Names of objects and hosts stay unchanged. */
function encodePart(text: string): string {
  if (plain.test(text)) return text;
  return text.replaceAll(/[%:\s\p{Cc}]/gu, (character) => encodeURIComponent(character));
}

/** Undefined stays undefined; null for an invalid word. */
function decodeWord(word: string | undefined): string | undefined | null {
  if (word === undefined) return undefined;
  try {
    return word === "" ? null : decodeURIComponent(word);
  } catch {
    return null;
  }
}

const namesShownMax = 3;

declare const brand: unique symbol;
/** The owners of an entry in canonical form, which is also the format in the inventory. */
export type EntryOwners = string & { readonly [brand]: "EntryOwners" };

export interface EntryOwner {
  readonly kind: (typeof entryKinds)[number];
  /** `namespace/name` of the object. */
  readonly name: string;
  /** The `source` of the address text that contained the entry; undefined for `spec.addresses` and for origins. */
  readonly source: string | undefined;
}

/** The owners are unknown, for example of an entry without a record. */
export const unknownOwners = "" as EntryOwners;

/** The canonical form, independent of the order of the owners. */
export function writeOwners(owners: readonly EntryOwner[]): EntryOwners {
  const words = owners.map(({ kind, name, source }) => {
    const parts = source === undefined ? [kind, name] : [kind, name, source];
    return parts.map(encodePart).join(":");
  });
  return [...new Set(words)].toSorted().join(" ") as EntryOwners;
}

/** The individual owners; empty for `unknownOwners`. */
export function readOwners(owners: EntryOwners): readonly EntryOwner[] {
  return owners === unknownOwners ? [] : owners.split(" ").flatMap((word) => readOwner(word) ?? []);
}

/** The same function with a memory: many entries share their owners. */
export function remembering<T>(read: (owners: EntryOwners) => T): (owners: EntryOwners) => T {
  const known = new Map<EntryOwners, T>();
  return (owners) => {
    const value = known.get(owners) ?? read(owners);
    known.set(owners, value);
    return value;
  };
}

/** `last declared by WafIpRule shop/scanners`; empty if unknown. */
export function lastDeclaredBy(owners: EntryOwners): string {
  const names = new Set(readOwners(owners).map(({ kind, name }) => `${kind} ${name}`));
  return names.size === 0 ? "" : `last declared by ${listed([...names], namesShownMax)}`;
}

/** The canonical form of stored words; undefined if one of them is invalid. */
export function parseOwners(words: readonly string[]): EntryOwners | undefined {
  const owners = words.map(readOwner);
  return owners.every((owner) => owner !== undefined) ? writeOwners(owners) : undefined;
}

function readOwner(word: string): EntryOwner | undefined {
  const [kindWord, nameWord, sourceWord, ...more] = word.split(":");
  const kind = entryKinds.find((one) => one === kindWord);
  const name = decodeWord(nameWord);
  const source = decodeWord(sourceWord);
  return kind === undefined || typeof name !== "string" || source === null || more.length > 0
    ? undefined
    : { kind, name, source };
}
