// Formats the faults of documents for users: where, what is wrong, and what to write. Derived from zod's issues. A fault never quotes long or free-form strings: they may contain secrets.
import * as z from "zod";
import { counted, inThousands } from "../model/texts.ts";
import { nearestName } from "./nearest-name.ts";

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

export type CheckedValue<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly ResourceFault[] };

/** Parses a value with a schema. `base` is the path of the value in the document. */
export function checkValue<T>(schema: z.ZodType<T>, base: readonly string[], value: unknown): CheckedValue<T> {
  const parsed = schema.safeParse(value, { error: messageOf });
  if (parsed.success) return { ok: true, value: parsed.data };
  const faults = parsed.error.issues.flatMap((issue) => {
    const segments = [...base, ...issue.path];
    if (issue.code !== "unrecognized_keys") return [resourceFault(segments, issue.message)];
    const known = issue.message.split(" ");
    return issue.keys.map((key) => unknownFieldFault(segments, key, known));
  });
  return { ok: false, faults };
}

/** What is wrong with a value; of an object with unknown fields, the names of the known ones. Undefined for a rule with its own message. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { input, inst } = issue;
  switch (issue.code) {
    case "unrecognized_keys":
      return inst instanceof z.ZodObject ? Object.keys(inst.shape).join(" ") : "";
    case "invalid_type":
      return input === undefined ? `is missing: write ${wantedType(issue)}` : wrongType(issue);
    case "invalid_value":
      return input === undefined
        ? `is missing: write ${issue.values.join(" or ")}`
        : choiceMessage(input, issue.values.map(String));
    case "too_big":
      return boundMessage(issue.origin, "at most", issue.maximum);
    case "too_small":
      return boundMessage(issue.origin, "at least", issue.minimum);
    default:
      return undefined;
  }
}

type TypeIssue = Pick<z.core.$ZodRawIssue<z.core.$ZodIssueInvalidType>, "input" | "inst" | "expected">;

/** A value of a map of strings. YAML parses an unquoted `123456789012` or `true` as a number or a boolean. */
export const textOfMap = z.string({
  error: (issue) => `${wrongType(issue as TypeIssue)}${typeof issue.input === "object" ? "" : ": put it in quotes"}`,
});

function wrongType(issue: TypeIssue): string {
  return `must be ${wantedType(issue)}, but is ${nameOfValue(issue.input)}`;
}

const typeNames: Readonly<Record<string, string>> = {
  record: "an object",
  array: "a list",
  int: "a whole number",
  number: "a whole number",
  boolean: "true or false",
};

function wantedType({ inst, expected }: TypeIssue): string {
  if (!(inst instanceof z.ZodObject)) return typeNames[expected] ?? "a string";
  const fields = Object.entries<z.core.$ZodType>(inst.shape);
  const required = fields.filter(([, field]) => field._zod.optin === undefined);
  return `an object with ${(required.length > 0 ? required : fields).map(([name]) => name).join(", ")}`;
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
