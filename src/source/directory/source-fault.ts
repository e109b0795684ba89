// A fault in the files of a directory, with its place: file, line and field. Messages never quote the content of a file,
// because it may be a Secret.
import type { ObjectName } from "../../model/resource.ts";
import { visibleText } from "../../model/texts.ts";

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
