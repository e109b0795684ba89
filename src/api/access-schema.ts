// `spec.access` of a WafInstance: what the namespaces of others may do with the WAF. Tenancy is decided here and nowhere else.
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
        "`Names`: the namespaces in `names`. `Selector`: those that `selector` matches. `All`: every namespace.",
      ),
    names: z.array(namespaceName).max(namesMax).optional().describe("With `from: Names`: the names of the namespaces."),
    selector: labelSelector.optional().describe("With `from: Selector`: the labels that a namespace must have."),
  }),
  [
    {
      cel: "(self.from == 'Selector') == has(self.selector)",
      message: "write selector together with from: Selector, and not otherwise",
      holds: ({ from, selector }) => (from === "Selector") === (selector !== undefined),
    },
    {
      cel: "(self.from == 'Names') == has(self.names)",
      message: "write names: [...] to name the namespaces, or from: Selector, or from: All",
      holds: ({ from, names }) => (from === "Names") === (names !== undefined),
    },
  ],
);

const prefixLengths = z
  .strictObject({
    ipv4: z.int().min(0).max(32).default(24).meta({ format: "int32" }).describe("Of IPv4 networks."),
    ipv6: z.int().min(0).max(128).default(48).meta({ format: "int32" }).describe("Of IPv6 networks."),
  })
  .prefault({});

export const grant = z.strictObject({
  namespaces: granted.describe("The namespaces that this grant is for."),
  kinds: z
    .array(z.enum(guestKinds))
    .min(1)
    .max(guestKinds.length)
    .default(["WafIpRule"])
    .describe("The kinds of objects that may attach."),
  actions: z
    .array(z.enum(["Block", "Allow"]))
    .min(1)
    .max(2)
    .default(["Block"])
    .describe("What rules may do."),
  maxEntries: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(500)
    .meta({ format: "int32" })
    .describe(
      "How many entries each of these namespaces may have, over all its rules. Entries beyond it are rejected, those of the newest rules first.",
    ),
  maxPriority: z
    .int()
    .min(-1_000_000)
    .max(1_000_000)
    .default(0)
    .meta({ format: "int32" })
    .describe("The highest priority that rules may have. A higher one counts as this."),
  minPrefixLength: prefixLengths.describe("The widest networks that entries may be, as the shortest prefix lengths."),
  maxTtl: durationBetween("1m", "365d")
    .optional()
    .describe("If set, entries are removed this long after their rule was created, at the latest."),
  adopt: z
    .boolean()
    .default(false)
    .describe("Whether rules and origins may adopt what the WAF has already (`wafsync.dev/adopt`)."),
  cacheClear: z
    .strictObject({
      minInterval: durationBetween("0s", "1d")
        .default("10m")
        .describe("The least time between two cache clears of one namespace."),
    })
    .prefault({})
    .describe("Limits of cache clears."),
});
