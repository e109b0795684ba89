// One complete and immutable snapshot of a directory, with its faults. Pure: the files have been read before.
import { createHash } from "node:crypto";
import type { DeclaredByKind } from "../../kinds/to-declared.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance } from "../../model/declared.ts";
import { nameKey, type ObjectName, type ResourceKind, resourceKinds, type ResourceMeta } from "../../model/resource.ts";
import { configMapSource } from "../gather.ts";
import type { DirectoryItem } from "./read-document.ts";
import {
  blocksRemovalsOf,
  faultText,
  placeText,
  type RemovalScope,
  sourceFault,
  type SourceFault,
} from "./source-fault.ts";

export interface ConfigMapDocument {
  readonly name: ObjectName;
  readonly data: Readonly<Record<string, string>>;
}

export interface SecretDocument {
  readonly name: ObjectName;
  readonly location: string;
  readonly data: ReadonlyMap<string, ApiKey>;
}

/** Maps are keyed by `namespace/name`. */
export interface DirectorySnapshot {
  readonly instances: ReadonlyMap<string, DeclaredInstance>;
  readonly declared: { readonly [Kind in ResourceKind]: readonly DeclaredByKind[Kind][] };
  readonly configMaps: ReadonlyMap<string, ConfigMapDocument>;
  readonly secrets: ReadonlyMap<string, SecretDocument>;
  /** By namespace; only for namespaces with a Namespace document. */
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** All objects with their lines, by `kind namespace/name`: for messages. */
  readonly items: ReadonlyMap<string, DirectoryItem>;
  /** Ordered by file and line. */
  readonly faults: readonly SourceFault[];
  /** Equal for snapshots with the same meaning. Never print it: the API keys are part of the hash. */
  readonly fingerprint: string;
}

export const emptySnapshot: DirectorySnapshot = assembleSnapshot([], []);

/** Merges the objects of all files in order. If two have the same name, the first one counts. */
export function assembleSnapshot(items: readonly DirectoryItem[], faults: readonly SourceFault[]): DirectorySnapshot {
  const seen = new Map<string, DirectoryItem>();
  const duplicates: SourceFault[] = [];
  for (const item of items) {
    const key = `${item.kind} ${nameKey(item.name)}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, item);
    else duplicates.push(duplicateFault(first, item));
  }
  const kept = [...seen.values()];
  const sorted = [...faults, ...duplicates].sort(byPlace);
  const declared = (kind: ResourceKind) => [kind, pick(kept, kind).map((item) => item.declared)] as const;
  return {
    instances: new Map(pick(kept, "WafInstance").map((item) => [nameKey(item.name), item.declared])),
    declared: Object.fromEntries(resourceKinds.map(declared)) as unknown as DirectorySnapshot["declared"],
    configMaps: new Map(pick(kept, "ConfigMap").map((item) => [nameKey(item.name), item])),
    secrets: new Map(pick(kept, "Secret").map((item) => [nameKey(item.name), secretDocument(item)])),
    namespaceLabels: new Map(pick(kept, "Namespace").map(({ name, labels }) => [name.name, labels])),
    items: seen,
    faults: sorted,
    fingerprint: fingerprintOf(kept, sorted),
  };
}

/** Why the snapshot of an instance may be incomplete. Any reason blocks its removals. */
export function brokenSourcesOf(snapshot: DirectorySnapshot, instance: ObjectName): string[] {
  return snapshot.faults.filter((fault) => blocksRemovalsOf(fault, instance)).map(faultText);
}

function pick<Kind extends DirectoryItem["kind"]>(
  items: readonly DirectoryItem[],
  kind: Kind,
): Extract<DirectoryItem, { kind: Kind }>[] {
  return items.filter((item): item is Extract<DirectoryItem, { kind: Kind }> => item.kind === kind);
}

function secretDocument({ name, data, file, line }: Extract<DirectoryItem, { kind: "Secret" }>): SecretDocument {
  return { name, data, location: placeText(file, line) };
}

function duplicateFault(first: DirectoryItem, second: DirectoryItem): SourceFault {
  const place = placeText(first.file, first.line);
  const message = `${second.kind} ${nameKey(second.name)} is declared twice, first at ${place}; this one is ignored: remove one of them`;
  return sourceFault(second.file, message, {
    line: second.line,
    field: "metadata.name",
    blocksRemovals: scopeOf(second),
  });
}

function scopeOf(item: DirectoryItem): RemovalScope {
  if (item.kind === "WafInstance") return item.name;
  return "declared" in item && "instance" in item.declared ? item.declared.instance : "All";
}

function byPlace(left: SourceFault, right: SourceFault): number {
  if (left.file !== right.file) return left.file < right.file ? -1 : 1;
  return (left.line ?? 0) - (right.line ?? 0);
}

/** Ignores lines and file names, so that an added comment or a renamed file is not a change. */
function fingerprintOf(items: readonly DirectoryItem[], faults: readonly SourceFault[]): string {
  const hash = createHash("sha256");
  const byName = items.map((item) => ({ key: `${item.kind} ${nameKey(item.name)}`, item }));
  byName.sort((left, right) => (left.key < right.key ? -1 : 1));
  for (const { key, item } of byName) hash.update(`${key}\0${meaningOf(item)}\0`);
  for (const { file, field, message, blocksRemovals } of faults)
    hash.update(`${JSON.stringify([file, field, message, blocksRemovals])}\0`);
  return hash.digest("hex");
}

function meaningOf(item: DirectoryItem): string {
  switch (item.kind) {
    case "Secret":
      return [...item.data]
        .map(([key, secret]) => `${key} ${secret.fingerprint()}`)
        .sort()
        .join("\n");
    case "ConfigMap":
      return JSON.stringify(item.data);
    case "Namespace":
      return JSON.stringify(item.labels);
    default:
      return JSON.stringify({ ...item.declared, meta: { ...item.declared.meta, location: "" } });
  }
}

type Snapshot = Pick<DirectorySnapshot, "items">;

/** The place of `spec.instanceRef`: its file and line, such as `rules.yaml:12`. */
export function placeOfReference(snapshot: Snapshot, meta: ResourceMeta): string {
  const item = itemOf(snapshot, meta.kind, nameKey(meta));
  return item !== undefined && "lines" in item ? placeText(item.file, item.lines.instanceRef) : meta.location;
}

/** @param source The origin of a rejected entry: `spec.addresses[3]`, or a line of a ConfigMap. */
export function placeOfSource(snapshot: Snapshot, meta: ResourceMeta, source: string): string {
  const item = itemOf(snapshot, meta.kind, nameKey(meta));
  if (item?.kind !== "WafIpRule") return meta.location;
  const index = /^spec\.addresses\[(\d+)\]$/u.exec(source)?.[1];
  if (index !== undefined) return placeText(item.file, item.lines.addresses[Number(index)] ?? item.line);
  for (const { name, key } of item.declared.addressesFrom) {
    const mapName = { namespace: meta.namespace, name };
    const prefix = `${configMapSource(mapName, key)}, line `;
    const configMap = itemOf(snapshot, "ConfigMap", nameKey(mapName));
    if (!source.startsWith(prefix) || configMap === undefined || !("textLines" in configMap)) continue;
    const lines = configMap.textLines.get(key);
    if (lines?.first === undefined) return placeText(configMap.file, lines?.key ?? configMap.line);
    return placeText(configMap.file, lines.first + Number(source.slice(prefix.length)) - 1);
  }
  return meta.location;
}

function itemOf({ items }: Snapshot, kind: string, name: string): DirectoryItem | undefined {
  return items.get(`${kind} ${name}`);
}
