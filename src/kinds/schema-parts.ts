// Building blocks shared by the schemas of several kinds.
import * as z from "zod";
import { parseDeclaredEntry } from "../address/entry.ts";
import { labelPattern, nameLengthMax, namespaceLengthMax, subdomainPattern } from "../model/resource.ts";
import { durationLengthMax, durationPattern, parseDuration } from "./durations.ts";
import { type SchemaRule, celText, withRules } from "./schema-rules.ts";

/** Requires a string to match a regular expression, which must have the same meaning in RE2 and JavaScript. */
export function matchRule(pattern: string, message: string): SchemaRule<string> {
  const expression = new RegExp(pattern, "u");
  return { cel: `self.matches(${celText(pattern)})`, message, holds: (text) => expression.test(text) };
}

/** Requires a field exactly where the other field has this value, which may be its default. */
export function onlyWithRule(field: string, other: string, value: string): SchemaRule<object> {
  return {
    cel: `(has(self.${other}) && self.${other} == '${value}') == has(self.${field})`,
    message: `write ${field} only together with ${other}: ${value}`,
    holds: (object) => (valueOf(object, other) === value) === (valueOf(object, field) !== undefined),
  };
}

/** Requires exactly one of these fields; `where` completes the message. */
export function eitherRule(fields: readonly string[], where = ""): SchemaRule<object> {
  return {
    cel: `[${fields.map((field) => `has(self.${field})`).join(", ")}].exists_one(isSet, isSet)`,
    message: `write exactly one of ${fields.slice(0, -1).join(", ")} and ${fields.at(-1)}${where}`,
    holds: (object) => fields.filter((field) => valueOf(object, field) !== undefined).length === 1,
  };
}

function valueOf(object: object, field: string): unknown {
  return Reflect.get(object, field);
}

/** For immutable fields. */
export const immutableRule: SchemaRule<unknown> = {
  cel: "self == oldSelf",
  message: "this field can't be changed: delete the object and create it again",
  holds: "AdmissionOnly",
};

// CEL durations have no days, so days are counted separately. Concatenating strings would exceed its cost limit.
const celDays = "(self.contains('d') ? int(self.substring(0, self.indexOf('d'))) : 0)";
const celRest =
  "duration(!self.contains('d') ? self : self.endsWith('d') ? '0s' : self.substring(self.indexOf('d') + 1))";
const celSeconds = `${celDays} * 86400 + ${celRest}.getSeconds()`;

/** A duration from `min` to `max`, both inclusive. Fractions of a second are ignored for `max`. */
export function durationBetween(min: string, max: string): z.ZodString {
  const minMs = parseDuration(min) ?? 0;
  const maxSeconds = Math.floor((parseDuration(max) ?? 0) / 1000);
  const form = `self.matches(${celText(durationPattern)})`;
  const atLeast =
    minMs % 1000 === 0
      ? `${celSeconds} >= ${minMs / 1000}`
      : `(${celDays} > 0 || ${celRest} >= duration('${minMs}ms'))`;
  return withRules(z.string().max(durationLengthMax), [
    {
      cel: `self != '' && ${form}`,
      message: "write a duration such as 30s, 5m, 1h30m or 2d: whole numbers with the units d, h, m, s and ms",
      holds: (text) => parseDuration(text) !== undefined,
    },
    {
      cel: `self == '' || !${form} || (${atLeast} && ${celSeconds} <= ${maxSeconds})`,
      message: `write a duration of at least ${min} and at most ${max}`,
      holds: (text) => {
        const spanMs = parseDuration(text);
        return spanMs === undefined || (spanMs >= minMs && Math.floor(spanMs / 1000) <= maxSeconds);
      },
    },
  ]);
}

/** A whole number from `min` to `max`, both inclusive. */
export function int32(min: number, max: number) {
  return z.int().min(min).max(max).meta({ format: "int32" });
}

/** A number that only wafsync writes. */
export const count = z.int().min(0).meta({ format: "int32" });

/** A list that server-side apply replaces whole. */
export function atomicList<Item extends z.ZodType>(item: Item, lengthMax: number) {
  return z.array(item).max(lengthMax).meta({ "x-kubernetes-list-type": "atomic" });
}

/** The prefix length of networks, by address family: the defaults, and the smallest values that are possible. */
export function prefixLengths(what: string, [ipv4, ipv6]: readonly [number, number], [ipv4Min, ipv6Min] = [0, 0]) {
  return z
    .strictObject({
      ipv4: int32(ipv4Min, 32).default(ipv4).describe(`The ${what} of an IPv4 network.`),
      ipv6: int32(ipv6Min, 128).default(ipv6).describe(`The ${what} of an IPv6 network.`),
    })
    .prefault({});
}

/** The name of another object. */
export const objectName = withRules(z.string().min(1).max(nameLengthMax), [
  matchRule(subdomainPattern, "write the name of an object: lower-case letters, digits, '-' and '.'"),
]);

export const namespaceName = withRules(z.string().min(1).max(namespaceLengthMax), [
  matchRule(labelPattern, "write the name of a namespace: lower-case letters, digits and '-'"),
]);

/** A key of a ConfigMap or Secret. */
export const dataKey = withRules(z.string().min(1).max(nameLengthMax), [
  matchRule("^[-._a-zA-Z0-9]+$", "write a key of the object's data: letters, digits, '-', '_' and '.'"),
]);

export const instanceRef = withRules(
  z.strictObject({
    name: objectName.describe("The name of the WafInstance."),
    namespace: namespaceName
      .optional()
      .describe(
        "The namespace of the WafInstance, which must grant access to this one in `spec.access`. Defaults to the namespace of this object.",
      ),
  }),
  [immutableRule],
).describe("The WafInstance that this object attaches to. This field is immutable.");

export const deletionPolicies = z.enum(["Delete", "Retain"]);
export const deletionPolicy = deletionPolicies.default("Delete");

/** A network or address that the schema validates: for lists in which every item must be valid. */
export const checkedNetwork = withRules(z.string().min(1).meta({ maxLength: 43 }), [
  {
    cel: "(isIP(self) || isCIDR(self)) && (!isCIDR(self) || cidr(self) == cidr(self).masked())",
    message:
      "write an IPv4 or IPv6 address, or a network without host bits, for example 192.0.2.7, 10.0.0.0/8 or 2001:db8::/48",
    holds: (text) => parseDeclaredEntry(text).ok,
  },
]);

const labelText = z.string().max(317);

export const labelSelector = z.strictObject({
  matchLabels: z
    .record(labelText, z.string().max(63))
    .default({})
    .describe("Labels that the namespace must have, with their values."),
  matchExpressions: z
    .array(
      withRules(
        z.strictObject({
          key: labelText.min(1).describe("The key of the label."),
          operator: z
            .enum(["In", "NotIn", "Exists", "DoesNotExist"])
            .describe("How the label's value relates to `values`."),
          values: z
            .array(z.string().max(63))
            .max(64)
            .default([])
            .describe("The values for `In` and `NotIn`; empty for the other operators."),
        }),
        [
          {
            cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
            message: "write values with the operators In and NotIn, and none with Exists and DoesNotExist",
            holds: ({ operator, values }) =>
              !Array.isArray(values) || (operator === "In" || operator === "NotIn") === values.length > 0,
          },
        ],
      ),
    )
    .max(64)
    .default([])
    .describe("Further label requirements, all of which must be met."),
});

/** RFC 3339, for times that wafsync writes. */
export const dateTime = z.iso.datetime({ offset: true });

const momentLengthMax = 40;

/**
 * RFC 3339, for times that users write. Does not use `format`, because the API server then accepts invalid times such as 18:00:00+25:00.
 */
export const moment = withRules(z.string().max(momentLengthMax), [
  matchRule(
    z.regexes.datetime({ precision: null, offset: true, local: false }).source,
    "write a time such as 2030-01-31T18:00:00Z or 2030-01-31T18:00:00+01:00",
  ),
]);
