// WafIpRule: addresses and networks that belong on the blocklist or the allowlist of an instance.
import * as z from "zod";
import { closingColumns, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import {
  dataKey,
  dateTime,
  deletionPolicy,
  durationBetween,
  instanceRef,
  moment,
  namespaceName,
  objectName,
} from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { commonStatus, count } from "./status-parts.ts";

/** More belongs into a second rule: an object must stay well below what etcd stores. */
export const addressesMax = 10_000;
/** The longest IPv6 network. */
const addressLengthMax = 43;
const entriesShownMax = 20;
const sourcesShownMax = 10;

/** Checked at admission alone: elsewhere one wrong entry is reported on its rule, and stops nothing else. */
const address = withRules(z.string().meta({ maxLength: addressLengthMax }), [
  {
    cel: "isIP(self) || isCIDR(self)",
    message:
      "write an IPv4 or IPv6 address or network, for example 192.0.2.7, 198.51.100.0/24 or 2001:db8::/48: no host name, port, zone, range or leading zeros",
    holds: "AdmissionOnly",
  },
  {
    cel: "!isCIDR(self) || cidr(self) == cidr(self).masked()",
    message:
      "the network has host bits: write its first address, for example 198.51.100.0/24 instead of 198.51.100.7/24, or the address alone",
    holds: "AdmissionOnly",
  },
]);

const addressSource = withRules(
  z.strictObject({
    configMapKeyRef: z
      .strictObject({
        name: objectName.describe("The name of the ConfigMap."),
        key: dataKey.describe("The entry of the ConfigMap."),
      })
      .optional()
      .describe("An entry of a ConfigMap in the namespace of the rule."),
    feedRef: z
      .strictObject({
        name: objectName.describe("The name of the WafFeed."),
        namespace: namespaceName
          .optional()
          .describe(
            "The namespace of the WafFeed, which must allow this one in `spec.allowedNamespaces`. Without it: the namespace of the rule.",
          ),
      })
      .optional()
      .describe("A WafFeed: all entries of its last good content."),
  }),
  [
    {
      cel: "has(self.configMapKeyRef) != has(self.feedRef)",
      message: "write exactly one of configMapKeyRef and feedRef in each item",
      holds: ({ configMapKeyRef, feedRef }) => (configMapKeyRef === undefined) !== (feedRef === undefined),
    },
  ],
);

export const wafIpRuleSpec = withRules(
  z.strictObject({
    instanceRef,
    action: z
      .enum(["Block", "Allow"])
      .describe("`Block` puts the entries on the blocklist, `Allow` puts them on the allowlist."),
    addresses: z
      .array(address)
      .max(addressesMax)
      .default([])
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe("Addresses and networks, IPv4 and IPv6."),
    addressesFrom: z
      .array(addressSource)
      .max(64)
      .default([])
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe(
        'Further addresses and networks, from ConfigMaps and feeds. A ConfigMap has one entry on each line; `#` starts a comment, blank lines are skipped. wafsync notices a change of a ConfigMap within half a minute, and at once if it has the label `wafsync.dev/watch: "true"`.',
      ),
    expiresAt: moment
      .optional()
      .describe(
        "The moment at which the rule expires, for example `2030-01-31T18:00:00Z`. wafsync then removes the entries that it manages and that no other rule wants. Entries that another writer added stay.",
      ),
    ttl: durationBetween("1s", "3650d")
      .optional()
      .describe("How long after its creation the rule expires, for example `2h`. The same happens as at `expiresAt`."),
    priority: z
      .int()
      .min(-1_000_000)
      .max(1_000_000)
      .default(0)
      .meta({ format: "int32" })
      .describe("Rules with a higher priority are written first; among equals, the one with fewer entries left."),
    description: z.string().max(1024).default("").describe("For people: why the rule is there."),
    deletionPolicy: deletionPolicy.describe(
      "What happens when the rule is deleted: `Delete` removes the entries that no other rule wants, `Retain` leaves them on the WAF.",
    ),
  }),
  [
    {
      cel: "!(has(self.ttl) && has(self.expiresAt))",
      message: "write either ttl or expiresAt: ttl counts from the creation of the rule, expiresAt is a moment",
      holds: ({ ttl, expiresAt }) => ttl === undefined || expiresAt === undefined,
    },
  ],
).describe("Which entries belong on which list.");

const rejectedEntry = z.object({
  entry: z.string().max(128).describe("The entry as it was written, shortened if need be."),
  source: z.string().max(512).describe("Where it was written: a place in `spec.addresses`, or a line of a ConfigMap."),
  message: z.string().max(1024).describe("What is wrong with it, and what to write; or what the API said."),
});

const carvedEntry = z.object({
  entry: z.string().max(128).describe("The entry."),
  source: z.string().max(512).describe("Where it was written: a place in `spec.addresses`, or a line of a ConfigMap."),
  message: z.string().max(1024).describe("How many networks it is written as, and which addresses they leave out."),
});

const sourceState = z.object({
  configMap: z.string().max(253).describe("The name of the ConfigMap."),
  key: z.string().max(253).describe("The entry of the ConfigMap."),
  entries: count.optional().describe("How many valid entries it has; unset if it can't be read."),
  refresh: z
    .enum(["Watched", "Polled", "Resync"])
    .optional()
    .describe(
      "How wafsync notices a change: `Watched` at once, because of the label `wafsync.dev/watch`; `Polled` within half a minute; `Resync` at the next resync, because too many ConfigMaps are polled already. Unset in a folder.",
    ),
});

const entryCounts = z.object({
  desired: count.describe("Entries that the rule wants."),
  synced: count.describe("Those of them that are on the WAF."),
  pending: count.describe("Those that are still to be added."),
  rejected: count.describe(
    "Those that are not valid, that guards or the API refused, or that another rule overrides. Those of feeds do not keep the rule from being `Ready`.",
  ),
  carved: count
    .optional()
    .describe(
      "Declared entries that are written as narrower networks, by `spec.guards.onNeverBlock: Carve` of the instance. `desired` counts these networks.",
    ),
  foreign: count
    .optional()
    .describe(
      "Entries of the rule that were on the WAF already, and that wafsync does not manage. They stay when the rule expires or is deleted, unless the policy of the list is `Exclusive`.",
    ),
});

export const wafIpRuleStatus = z
  .object({
    ...commonStatus,
    entries: entryCounts.optional().describe("The entries in numbers."),
    progress: z
      .string()
      .max(32)
      .optional()
      .describe(
        "Entries on the WAF out of those declared, rejected ones among them unless they are of a feed, for example `120/10000`; `expired` once the rule has expired.",
      ),
    rejected: z
      .array(rejectedEntry)
      .max(entriesShownMax)
      .default([])
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe(`The first ${entriesShownMax} entries that were rejected.`),
    carved: z
      .array(carvedEntry)
      .max(entriesShownMax)
      .optional()
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe(`The first ${entriesShownMax} entries that are written as narrower networks.`),
    sources: z
      .array(sourceState)
      .max(sourcesShownMax)
      .optional()
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe(`The first ${sourcesShownMax} ConfigMaps of \`spec.addressesFrom\`.`),
    expiresAt: dateTime.optional().describe("When the rule expires, from `spec.expiresAt` or `spec.ttl`."),
    lastChangeTime: dateTime.optional().describe("When an entry of this rule was last added or removed on the WAF."),
  })
  .prefault({ observedGeneration: -1 })
  .describe("What came of the rule.");

export type WafIpRuleSpec = z.output<typeof wafIpRuleSpec>;
export type WafIpRuleStatus = z.output<typeof wafIpRuleStatus>;

export const wafIpRuleDefinition: KindDefinition<typeof wafIpRuleSpec, typeof wafIpRuleStatus> = {
  kind: "WafIpRule",
  description: "Addresses and networks that belong on the blocklist or the allowlist of a WAF.",
  spec: wafIpRuleSpec,
  status: wafIpRuleStatus,
  printerColumns: [
    instanceColumn,
    { name: "Action", type: "string", jsonPath: ".spec.action", description: "Block or Allow" },
    {
      name: "Progress",
      type: "string",
      jsonPath: ".status.progress",
      description: "Entries on the WAF out of those declared",
    },
    {
      name: "Rejected",
      type: "integer",
      jsonPath: ".status.entries.rejected",
      description: "Entries that were refused",
      priority: 1,
    },
    {
      name: "Expires",
      type: "string",
      jsonPath: ".status.expiresAt",
      description: "When the rule expires",
      priority: 1,
    },
    { name: "Priority", type: "integer", jsonPath: ".spec.priority", description: "Higher goes first", priority: 1 },
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name", ".spec.action"],
  nameRules: [],
};
