// Formats the faults of documents for users: where, what is wrong, and what to write. Derived from zod's issues and the schema,
// which lists the known fields. A fault never quotes long or free-form strings: they may contain secrets.
import type * as z from "zod";
import { counted, inThousands } from "../model/sentence.ts";
import { nearestName } from "./nearest-name.ts";
import { type StructuralSchema, schemaAt } from "./structural-schema.ts";

export interface ResourceFault {
  /** For example `spec.addresses[3]`; empty for the document as a whole. */
  readonly path: string;
  /** The same path as names and positions, to find the place in the document. */
  readonly segments: readonly (string | number)[];
  /** What is wrong, and what to write instead; without the path. */
  readonly message: string;
}

const quotedLengthMax = 40;
const plainName = /^[A-Za-z_][A-Za-z0-9_-]*$/u;

export function resourceFault(segments: readonly PropertyKey[], message: string): ResourceFault {
  const known = segments.map((segment) => (typeof segment === "number" ? segment : String(segment)));
  return { path: formatPath(known), segments: known, message };
}

function formatPath(segments: readonly (string | number)[]): string {
  let path = "";
  for (const segment of segments) {
    if (typeof segment === "number") path += `[${segment}]`;
    else if (plainName.test(segment)) path += path === "" ? segment : `.${segment}`;
    else path += `[${JSON.stringify(segment)}]`;
  }
  return path;
}

/** Returns the fault for an unknown field. */
export function unknownFieldFault(
  segments: readonly PropertyKey[],
  field: string,
  known: readonly string[],
): ResourceFault {
  const meant = nearestName(field, known);
  const hint = meant === undefined ? `the known fields are ${known.join(", ")}` : `did you mean ${meant}?`;
  return resourceFault([...segments, field], `unknown field; ${hint}`);
}

/** Returns the faults for one zod issue. `base` is the path of the checked value in the document, `value` the value itself. */
export function faultsOfIssue(
  issue: z.core.$ZodIssue,
  base: readonly string[],
  value: unknown,
  schema: StructuralSchema,
): ResourceFault[] {
  const segments = [...base, ...issue.path];
  const at = schemaAt(schema, issue.path);
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(at?.properties ?? {});
    return issue.keys.map((key) => unknownFieldFault(segments, key, known));
  }
  return [resourceFault(segments, messageOf(issue, valueAt(value, issue.path), at))];
}

function messageOf(issue: z.core.$ZodIssue, found: unknown, at: StructuralSchema | undefined): string {
  switch (issue.code) {
    case "invalid_type":
      return found === undefined ? missingMessage(at) : `must be ${nameOfType(at)}, but is ${nameOfValue(found)}`;
    case "invalid_value":
      return found === undefined ? missingMessage(at) : choiceMessage(found, issue.values.map(String));
    case "too_big":
      return boundMessage(issue.origin, "at most", issue.maximum);
    case "too_small":
      return boundMessage(issue.origin, "at least", issue.minimum);
    default:
      return issue.message;
  }
}

function missingMessage(at: StructuralSchema | undefined): string {
  const choices = at?.enum;
  if (choices !== undefined) return `is missing: write ${choices.join(" or ")}`;
  return `is missing: write ${nameOfType(at)}`;
}

function choiceMessage(found: unknown, choices: readonly string[]): string {
  const options = choices.length > 1 ? `one of ${choices.join(", ")}` : (choices[0] ?? "");
  if (typeof found !== "string") return `must be ${options}, but is ${nameOfValue(found)}`;
  const meant = nearestName(found, choices);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  return `must be ${options}, but is ${quoted(found)}${hint}`;
}

function boundMessage(origin: string, bound: string, limit: number | bigint): string {
  switch (origin) {
    case "string":
      if (limit === 1 && bound === "at least") return "must not be empty";
      return `must have ${bound} ${counted(Number(limit), "character", "characters")}`;
    case "array":
      return `must have ${bound} ${counted(Number(limit), "item", "items")}`;
    default:
      return `must be ${bound} ${inThousands(Number(limit))}`;
  }
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > quotedLengthMax ? `${text.slice(0, quotedLengthMax)}…` : text);
}

function nameOfType(at: StructuralSchema | undefined): string {
  switch (at?.type) {
    case "object":
      return at.properties === undefined
        ? "an object"
        : `an object with ${(at.required ?? Object.keys(at.properties)).join(", ")}`;
    case "array":
      return "a list";
    case "integer":
      return "a whole number";
    case "boolean":
      return "true or false";
    default:
      return "a string";
  }
}

export function nameOfValue(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "object":
      return "an object";
    case "number":
      return Number.isInteger(value) ? "a number" : "a fraction";
    case "bigint":
      return "a number";
    case "boolean":
      return "true or false";
    case "string":
      return "a string";
    default:
      return "nothing";
  }
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let found = value;
  for (const segment of path) {
    if (typeof found !== "object" || found === null) return undefined;
    found = (found as Record<PropertyKey, unknown>)[segment];
  }
  return found;
}
