// One complete and immutable snapshot of a directory, with its faults. Pure: the files have been read before.
import type { DeclaredByKind } from "../../kinds/to-declared.ts";
import { describeIndex } from "../../model/address-source.ts";
import { nameKey, type ObjectName, type ResourceKind, resourceKinds, type ResourceMeta } from "../../model/resource.ts";
import type { DirectoryItem, ItemOf } from "./read-document.ts";
import { placeText, type RemovalScope, sourceFault, type SourceFault } from "./source-fault.ts";

export class DirectorySnapshot {
  /** Those of the instances, and so on. */
  readonly declared: { readonly [Kind in ResourceKind]: readonly DeclaredByKind[Kind][] };
  /** Ordered by file and line. */
  readonly faults: readonly SourceFault[];
  /** By `kind namespace/name`. */
  readonly items: ReadonlyMap<string, DirectoryItem>;

  /** Merges the objects of all files in order. If two have the same name, the first one counts. */
  constructor(items: readonly DirectoryItem[], faults: readonly SourceFault[]) {
    const known = new Map<string, DirectoryItem>();
    const duplicates: SourceFault[] = [];
    for (const item of items) {
      const key = `${item.kind} ${nameKey(item.name)}`;
      const first = known.get(key);
      if (first === undefined) known.set(key, item);
      else duplicates.push(duplicateFault(first, item));
    }
    this.items = known;
    this.faults = [...faults, ...duplicates].sort(byPlace);
    const declared = (kind: ResourceKind) => [kind, this.all(kind).map((item) => item.declared)] as const;
    this.declared = Object.fromEntries(resourceKinds.map(declared)) as unknown as DirectorySnapshot["declared"];
  }

  find<Kind extends DirectoryItem["kind"]>(kind: Kind, name: ObjectName): ItemOf<Kind> | undefined {
    return this.items.get(`${kind} ${nameKey(name)}`) as ItemOf<Kind> | undefined;
  }

  all<Kind extends DirectoryItem["kind"]>(kind: Kind): readonly ItemOf<Kind>[] {
    return [...this.items.values()].filter((item) => item.kind === kind) as unknown as readonly ItemOf<Kind>[];
  }
}

export const emptySnapshot = new DirectorySnapshot([], []);

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

/**
 * Where a rule has a rejected entry: its line in `spec.addresses`, or else that of the rule.
 * @param source as `describeIndex` or `describeLine` writes it into a status
 */
export function placeOfSource(snapshot: DirectorySnapshot, meta: ResourceMeta, source: string): string {
  const item = meta.kind === "WafIpRule" ? snapshot.find(meta.kind, meta) : undefined;
  const line = item?.lines.find((_, index) => source === describeIndex(index));
  return item === undefined || line === undefined ? meta.location : placeText(item.file, line);
}
