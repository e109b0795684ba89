// Parses the JSON bodies of the control port. Every field is validated, and an unknown field is an error, because a misspelled
// fault would never happen.
import { knownPaths } from "./api-contract.ts";
import { faultKinds } from "./fault-rule.ts";
import type { FaultRule } from "./fault-rule.ts";

/** A mistake of a user of the control port, identified by its code. */
export class ControlProblem extends Error {
  readonly code = "ControlProblem";
}

interface FieldValues {
  readonly string: string;
  readonly boolean: boolean;
  /** A whole number of at least 0. */
  readonly natural: number;
  readonly naturals: readonly number[];
  readonly strings: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly object: Readonly<Record<string, unknown>>;
  readonly objects: readonly Readonly<Record<string, unknown>>[];
}

interface Range {
  readonly min: number;
  readonly max: number;
}

/** A kind of value, a list of choices, or a range of whole numbers. */
type Field = keyof FieldValues | readonly string[] | Range;
export type Shape = Readonly<Record<string, Field>>;

type ValueOf<F> = F extends keyof FieldValues ? FieldValues[F] : F extends readonly (infer Choice)[] ? Choice : number;

export type Fields<Required extends Shape, Optional extends Shape> = {
  readonly [Name in keyof Required]: ValueOf<Required[Name]>;
} & { readonly [Name in keyof Optional]?: ValueOf<Optional[Name]> };

/**
 * @param place the start of the names in messages, for example `effect.`
 * @throws ControlProblem that names the field
 */
export function readFields<const Required extends Shape, const Optional extends Shape>(
  value: unknown,
  required: Required,
  optional: Optional,
  place = "",
): Fields<Required, Optional> {
  if (!isObject(value)) throw new ControlProblem("a JSON object is expected");
  const shape: Shape = { ...required, ...optional };
  for (const [name, given] of Object.entries(value)) {
    const field = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (field === undefined) {
      throw new ControlProblem(
        `unknown field ${name.slice(0, 40)}; the known fields are ${Object.keys(shape).join(", ")}`,
      );
    }
    const expected = expectedOf(field, given);
    if (expected !== undefined) throw new ControlProblem(`${place}${name} must be ${expected}`);
  }
  for (const name of Object.keys(required)) {
    if (!Object.hasOwn(value, name)) throw new ControlProblem(`the field ${place}${name} is missing`);
  }
  return value as Fields<Required, Optional>;
}

/** What the value must be; undefined if it is. */
function expectedOf(field: Field, value: unknown): string | undefined {
  if (typeof field === "string") return kindChecks[field](value) ? undefined : `of type ${field}`;
  if ("min" in field) {
    const fits = isNatural(value) && value >= field.min && value <= field.max;
    return fits ? undefined : `a whole number from ${field.min} to ${field.max}`;
  }
  return isString(value) && field.includes(value) ? undefined : `one of ${field.join(", ")}`;
}

/** @throws ControlProblem */
export function readFaultRule(value: unknown): FaultRule {
  const times = { min: 1, max: 1_000_000 };
  const { match, ...rule } = readFields(value, { effect: "object" }, { match: "object", times });
  const effect = readFields(rule.effect, { kind: faultKinds }, effectFields, "effect.");
  return { ...rule, effect, ...(match === undefined ? {} : { match: readFields(match, {}, matchFields, "match.") }) };
}

const matchFields = {
  method: "string",
  path: knownPaths,
  ip: "string",
  domain: "string",
  nth: { min: 1, max: Number.MAX_SAFE_INTEGER },
} as const;

const effectFields = {
  afterEffect: "boolean",
  status: { min: 200, max: 599 },
  message: "string",
  retryAfter: "string",
  retryAfterSeconds: "natural",
  retryAfterDateInMs: "natural",
  location: "string",
  headers: "headers",
  body: "string",
  delayMs: "natural",
  domain: "string",
  bytes: "natural",
  writes: "natural",
} as const;

const kindChecks: Readonly<Record<keyof FieldValues, (value: unknown) => boolean>> = {
  string: isString,
  boolean: (value) => typeof value === "boolean",
  natural: isNatural,
  naturals: (value) => Array.isArray(value) && value.every(isNatural),
  strings: (value) => Array.isArray(value) && value.every(isString),
  headers: (value) => isObject(value) && Object.values(value).every(isString),
  object: isObject,
  objects: (value) => Array.isArray(value) && value.every(isObject),
};

function isNatural(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
