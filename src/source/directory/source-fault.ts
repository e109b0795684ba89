// What is wrong with the files of a directory, so that a person finds the place at once: file, line and field.
// No message ever quotes the content of a file: it may be a Secret.
import type { ObjectName } from "../../model/resource.ts";

/**
 * Which removals wait until the fault is gone: everybody's where nobody can tell whom the unread text concerns, those of
 * one instance where that is known, nobody's where nothing was lost.
 */
export type Holds = "Everything" | "Nothing" | ObjectName;

export interface SourceFault {
  /** Relative to the directory, with `/`; `.` is the directory itself. */
  readonly file: string;
  /** Counts from 1. */
  readonly line: number | undefined;
  /** For example `spec.addresses[3]`. */
  readonly field: string | undefined;
  /** What is wrong, and what to do about it. */
  readonly message: string;
  readonly severity: "Error" | "Note";
  readonly holds: Holds;
  /** The file was on the move while it was read: reading again is likely to cure it. */
  readonly passing: boolean;
}

/** A fault that holds all removals, at most with a place. */
export function brokenFile(file: string, message: string, place: Partial<SourceFault> = {}): SourceFault {
  return {
    file,
    line: undefined,
    field: undefined,
    message,
    severity: "Error",
    holds: "Everything",
    passing: false,
    ...place,
  };
}

/** Something that a person may want to know and that needs no action. */
export function noteOn(file: string, line: number | undefined, message: string): SourceFault {
  return brokenFile(file, message, { line, severity: "Note", holds: "Nothing" });
}

/** `rules.yaml:12: spec.addresses[3]: …` */
export function faultText({ file, line, field, message }: SourceFault): string {
  return `${placeText(file, line)}: ${field === undefined || field === "" ? "" : `${field}: `}${message}`;
}

/** `rules.yaml:12` */
export function placeText(file: string, line: number | undefined): string {
  return line === undefined ? file : `${file}:${line}`;
}

/** Whether the fault holds the removals of the instance. */
export function holdsRemovalsOf(fault: SourceFault, { namespace, name }: ObjectName): boolean {
  if (typeof fault.holds === "string") return fault.holds === "Everything";
  return fault.holds.namespace === namespace && fault.holds.name === name;
}
