// Parses the JSON bodies of the control port. Every field is validated, and an unknown field is an error, because a misspelled
// fault would never happen.
import { knownPaths } from "./api-contract.ts";
import { faultKinds } from "./fault-rule.ts";
import type { FaultEffect, FaultMatch, FaultRule } from "./fault-rule.ts";

/** A mistake of a user of the control port, identified by its code. */
export class ControlProblem extends Error {
  readonly code = "ControlProblem";
}

export type FieldKind = "string" | "boolean" | "natural" | "naturals" | "strings" | "headers" | "object" | "objects";

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

type ReadFields<Shape extends Readonly<Record<string, FieldKind>>> = {
  readonly [Name in keyof Shape]?: FieldValues[Shape[Name]];
};

const timesMax = 1_000_000;

/** @throws ControlProblem that names the field */
export function readFields<const Shape extends Readonly<Record<string, FieldKind>>>(
  value: unknown,
  shape: Shape,
): ReadFields<Shape> {
  if (!isObject(value)) throw new ControlProblem("a JSON object is expected");
  for (const [name, field] of Object.entries(value)) {
    const kind = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (kind === undefined) {
      throw new ControlProblem(
        `unknown field ${name.slice(0, 40)}; the known fields are ${Object.keys(shape).join(", ")}`,
      );
    }
    if (!kindChecks[kind](field)) throw new ControlProblem(`${name} must be of type ${kind}`);
  }
  return value as ReadFields<Shape>;
}

/** @throws ControlProblem if the field is missing */
export function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new ControlProblem(`the field ${name} is missing`);
  return value;
}

/** @throws ControlProblem that lists the choices */
export function oneOf<const T extends string>(value: string, choices: readonly T[], name: string): T {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new ControlProblem(`${name} must be one of ${choices.join(", ")}`);
  return found;
}

/** @throws ControlProblem */
export function readFaultRule(value: unknown): FaultRule {
  const { match, times, effect } = readFields(value, { match: "object", times: "natural", effect: "object" });
  if (times !== undefined && (times < 1 || times > timesMax)) {
    throw new ControlProblem(`times must be from 1 to ${timesMax}`);
  }
  return {
    ...(match === undefined ? {} : { match: readFaultMatch(match) }),
    ...(times === undefined ? {} : { times }),
    effect: readFaultEffect(required(effect, "effect")),
  };
}

function readFaultMatch(value: unknown): FaultMatch {
  const match = readFields(value, {
    method: "string",
    path: "string",
    ip: "string",
    domain: "string",
    nth: "natural",
  });
  if (match.nth === 0) throw new ControlProblem("nth counts from 1");
  if (match.path !== undefined) oneOf(match.path, knownPaths, "match.path");
  return match;
}

function readFaultEffect(value: unknown): FaultEffect {
  const { kind, ...rest } = readFields(value, {
    kind: "string",
    afterEffect: "boolean",
    status: "natural",
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
  });
  const { status } = rest;
  if (status !== undefined && (status < 200 || status > 599))
    throw new ControlProblem("status must be from 200 to 599");
  return { ...rest, kind: oneOf(required(kind, "effect.kind"), faultKinds, "effect.kind") };
}

const kindChecks: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  string: isString,
  boolean: (value) => typeof value === "boolean",
  natural: isNatural,
  naturals: (value) => Array.isArray(value) && value.every(isNatural),
  strings: (value) => Array.isArray(value) && value.every(isString),
  headers: (value) => isObject(value) && Object.values(value).every(isString),
  object: isObject,
  objects: (value) => Array.isArray(value) && value.every(isObject),
};

function isNatural(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isString(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
