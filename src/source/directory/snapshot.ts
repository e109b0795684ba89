// One complete and immutable snapshot of a directory, with its faults. Pure: the files have been read before.
import type { DeclaredByKind } from "../../kinds/to-declared.ts";
import { describeIndex } from "../../model/address-source.ts";
import { nameKey, type ObjectName, type ResourceKind, resourceKinds, type ResourceMeta } from "../../model/resource.ts";
import type { DirectoryItem, ItemOf } from "./read-document.ts";
import { visibleText } from "../../model/texts.ts";

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

// A fault in the files of a directory, with its place: file, line and field. Messages never quote the content of a file,
// because it may be a Secret.

/**
 * The instances whose removals are blocked until the fault is fixed: all of them if the unread text may concern any
 * instance, one of them if the text names it, and none if it is only a note, which needs no action.
 */
export type RemovalScope = "All" | "None" | ObjectName;

export interface SourceFault {
  /** Relative to the directory, with `/`; `.` is the directory itself. */
  readonly file: string;
  /** Starts at 1. */
  readonly line: number | undefined;
  /** For example `spec.addresses[3]`. */
  readonly field: string | undefined;
  /** The problem, and how to fix it. */
  readonly message: string;
  readonly blocksRemovals: RemovalScope;
  /** The file changed or disappeared while it was read: another scan will probably succeed. */
  readonly isTransient: boolean;
}

const permanentError = { line: undefined, field: undefined, isTransient: false } as const;

/** A permanent error that blocks all removals, unless `overrides` changes that. */
export function sourceFault(file: string, message: string, overrides: Partial<SourceFault> = {}): SourceFault {
  return { ...permanentError, blocksRemovals: "All", file, message, ...overrides };
}

/** `rules.yaml:12: spec.addresses[3]: …` */
export function faultText({ file, line, field, message }: SourceFault): string {
  return visibleText(`${placeText(file, line)}: ${field === undefined || field === "" ? "" : `${field}: `}${message}`);
}

/** `rules.yaml:12` */
export function placeText(file: string, line: number | undefined): string {
  return line === undefined ? file : `${file}:${line}`;
}

/** Whether something has to be fixed. */
export function isError({ blocksRemovals }: SourceFault): boolean {
  return blocksRemovals !== "None";
}

/** Whether the fault blocks the removals of the instance. */
export function blocksRemovalsOf(fault: SourceFault, { namespace, name }: ObjectName): boolean {
  if (typeof fault.blocksRemovals === "string") return fault.blocksRemovals === "All";
  return fault.blocksRemovals.namespace === namespace && fault.blocksRemovals.name === name;
}
