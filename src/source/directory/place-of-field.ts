// The file and line for a message, such as `rules.yaml:12`. Best effort: if the exact line is unknown, the line of the object.
import { nameKey } from "../../model/resource.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { DirectoryItem } from "./directory-item.ts";
import type { DirectorySnapshot } from "./snapshot.ts";
import { placeText } from "./source-fault.ts";

type Snapshot = Pick<DirectorySnapshot, "items">;

/** The name of a ConfigMap's key as a source of entries; `, line 3` follows. */
export function sourceOfText(configMap: string, key: string): string {
  return `ConfigMap ${configMap}, key ${key}`;
}

/** The place of `spec.instanceRef`. */
export function placeOfReference(snapshot: Snapshot, meta: ResourceMeta): string {
  const item = itemOf(snapshot, meta.kind, nameKey(meta));
  return item !== undefined && "lines" in item ? placeText(item.file, item.lines.instanceRef) : meta.location;
}

/** @param source The origin of a rejected entry: `spec.addresses[3]`, or a line of a ConfigMap. */
export function placeOfSource(snapshot: Snapshot, meta: ResourceMeta, source: string): string {
  const index = /^spec\.addresses\[(?<index>\d+)\]$/.exec(source)?.groups?.["index"];
  const item = itemOf(snapshot, meta.kind, nameKey(meta));
  if (index !== undefined && item !== undefined && "lines" in item) {
    return placeText(item.file, item.lines.addresses[Number(index)] ?? item.line);
  }
  const text = /^ConfigMap (?<name>\S+), key (?<key>.+), line (?<line>\d+)$/.exec(source)?.groups;
  const configMap = text === undefined ? undefined : itemOf(snapshot, "ConfigMap", text["name"] ?? "");
  if (text === undefined || configMap === undefined || !("textLines" in configMap)) return meta.location;
  const lines = configMap.textLines.get(text["key"] ?? "");
  if (lines?.first === undefined) return placeText(configMap.file, lines?.key ?? configMap.line);
  return placeText(configMap.file, lines.first + Number(text["line"]) - 1);
}

function itemOf({ items }: Snapshot, kind: string, name: string): DirectoryItem | undefined {
  return items.get(`${kind} ${name}`);
}
