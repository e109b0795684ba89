// `spec.access` of a WafInstance: what other namespaces may do with the WAF. No other field affects tenancy.
import * as z from "zod";
import { guestKinds } from "../model/declared.ts";
import { durationBetween, labelSelector, namespaceName } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";

export const grantsMax = 32;
const namesMax = 256;

const granted = withRules(
  z.strictObject({
    from: z
      .enum(["All", "Selector", "Names"])
      .default("Names")
      .describe(
        "`Names`: the namespaces in `names`. `Selector`: the namespaces that `selector` matches. `All`: every namespace.",
      ),
    names: z.array(namespaceName).max(namesMax).optional().describe("With `from: Names`: the names of the namespaces."),
    selector: labelSelector.optional().describe("With `from: Selector`: the labels that a namespace must have."),
  }),
  [
    {
      cel: "(self.from == 'Selector') == has(self.selector)",
      message: "write selector only together with from: Selector",
      holds: ({ from, selector }) => (from === "Selector") === (selector !== undefined),
    },
    {
      cel: "(self.from == 'Names') == has(self.names)",
      message: "write names: [...] to list the namespaces, or from: Selector, or from: All",
      holds: ({ from, names }) => (from === "Names") === (names !== undefined),
    },
  ],
);

const prefixLengths = z
  .strictObject({
    ipv4: z
      .int()
      .min(0)
      .max(32)
      .default(24)
      .meta({ format: "int32" })
      .describe("The shortest prefix length of an IPv4 network."),
    ipv6: z
      .int()
      .min(0)
      .max(128)
      .default(48)
      .meta({ format: "int32" })
      .describe("The shortest prefix length of an IPv6 network."),
  })
  .prefault({});

export const grant = z.strictObject({
  namespaces: granted.describe("The namespaces that this grant applies to."),
  kinds: z
    .array(z.enum(guestKinds))
    .min(1)
    .max(guestKinds.length)
    .default(["WafIpRule"])
    .describe("The kinds of objects that may attach to the instance."),
  actions: z
    .array(z.enum(["Block", "Allow"]))
    .min(1)
    .max(2)
    .default(["Block"])
    .describe("The actions that rules may use."),
  maxEntries: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(500)
    .meta({ format: "int32" })
    .describe(
      "The maximum number of entries for each of these namespaces, across all its rules. Entries of the newest rules are rejected first.",
    ),
  maxPriority: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .default(0)
    .meta({ format: "int32" })
    .describe("The highest priority that rules may have. Higher values are lowered to this one."),
  minPrefixLength: prefixLengths.describe(
    "The shortest prefix lengths that entries may have. Wider networks are rejected.",
  ),
  maxTtl: durationBetween("1m", "365d")
    .optional()
    .describe("If set, the longest time that entries stay on the list, counted from the creation of their rule."),
  adopt: z
    .boolean()
    .default(false)
    .describe(
      "Whether rules and origins may adopt entries and origins that the WAF already has (`wafsync.dev/adopt`).",
    ),
  cacheClear: z
    .strictObject({
      minInterval: durationBetween("0s", "1d")
        .default("10m")
        .describe("The minimum time between two cache clears of one namespace."),
    })
    .prefault({})
    .describe("Limits for cache clears."),
});
