// WafIpRule: addresses and networks that belong on the blocklist or the allowlist of an instance.
import * as z from "zod";
import { closingColumns, column, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import {
  atomicList,
  checkedNetwork,
  count,
  dataKey,
  dateTime,
  deletionPolicy,
  durationBetween,
  eitherRule,
  instanceRef,
  int32,
  moment,
  namespaceName,
  objectName,
} from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { statusSchema } from "./conditions.ts";

/** Larger lists need another rule: an object must stay well below the size limit of etcd. */
export const addressesMax = 10_000;
/** The length of the longest IPv6 network. */
const addressLengthMax = 43;
const entriesShownMax = 20;
const sourcesShownMax = 10;
const exceptMax = 1000;

/** Checked only at admission: elsewhere an invalid entry is reported on its rule and affects nothing else. */
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
      "the network has host bits: write its first address, for example 198.51.100.0/24 instead of 198.51.100.7/24, or only the address",
    holds: "AdmissionOnly",
  },
]);

const keyRef = (kind: string) =>
  z.strictObject({
    name: objectName.describe(`The name of the ${kind}.`),
    key: dataKey.describe(`The key in the ${kind}'s data.`),
  });

const addressSource = withRules(
  z.strictObject({
    configMapKeyRef: keyRef("ConfigMap").optional().describe("A key of a ConfigMap in the namespace of the rule."),
    secretKeyRef: keyRef("Secret")
      .optional()
      .describe(
        "A key of a Secret in the namespace of the rule, for addresses that not everyone may read. wafsync reads it at every resync.",
      ),
    feedRef: z
      .strictObject({
        name: objectName.describe("The name of the WafFeed."),
        namespace: namespaceName
          .optional()
          .describe(
            "The namespace of the WafFeed, which must allow this one in `spec.allowedNamespaces`. Defaults to the namespace of the rule.",
          ),
      })
      .optional()
      .describe("A WafFeed. The rule uses all entries of its last good content."),
  }),
  [eitherRule(["configMapKeyRef", "secretKeyRef", "feedRef"], " in each item")],
);

export const wafIpRuleSpec = withRules(
  z.strictObject({
    instanceRef,
    action: z
      .enum(["Block", "Allow"])
      .describe("`Block` puts the entries on the blocklist, `Allow` puts them on the allowlist."),
    addresses: atomicList(address, addressesMax).default([]).describe("Addresses and networks, IPv4 and IPv6."),
    addressesFrom: atomicList(addressSource, 64)
      .default([])
      .describe(
        "Further addresses and networks from ConfigMaps, Secrets and feeds. A ConfigMap or Secret has one entry per line; `#` starts a comment.",
      ),
    except: atomicList(checkedNetwork, exceptMax)
      .default([])
      .describe(
        "Addresses and networks to take out of the entries of the rule, wherever these come from. What is left of an entry becomes up to 256 narrower networks.",
      ),
    aggregate: z
      .boolean()
      .default(false)
      .describe(
        "Whether wafsync merges the entries of the rule into the smallest set of networks with exactly the same addresses. No merged network is wider than the guards of the instance allow. Entries that overlap an entry of the other list, or that the rule adopts, stay as they are.",
      ),
    expiresAt: moment
      .optional()
      .describe(
        "The time at which the rule expires, for example `2030-01-31T18:00:00Z`. wafsync then removes its managed entries that no other rule declares. Entries that another writer added stay.",
      ),
    ttl: durationBetween("1s", "3650d")
      .optional()
      .describe(
        "How long after its creation the rule expires, for example `2h`. The effect is the same as with `expiresAt`.",
      ),
    priority: int32(-1_000_000, 1_000_000)
      .default(0)
      .describe("Rules with a higher priority are written first, then those with fewer pending entries."),
    description: z
      .string()
      .max(1024)
      .default("")
      .describe("A description for people, for example why the rule exists."),
    deletionPolicy: deletionPolicy.describe(
      "What happens when the rule is deleted: `Delete` removes the entries that no other rule declares, `Retain` leaves them on the WAF.",
    ),
  }),
  [
    {
      cel: "!(has(self.ttl) && has(self.expiresAt))",
      message: "write either ttl or expiresAt: ttl counts from the creation of the rule, expiresAt is a point in time",
      holds: ({ ttl, expiresAt }) => ttl === undefined || expiresAt === undefined,
    },
  ],
).describe("The entries of the rule and the list that they belong on.");

const rejectedEntry = z.object({
  entry: z
    .string()
    .max(128)
    .describe("The entry as it was written, truncated if necessary. Lines of Secrets are not shown."),
  source: z
    .string()
    .max(512)
    .describe("The position of the entry: an item of `spec.addresses`, or a line of a ConfigMap or Secret."),
  message: z.string().max(1024).describe("Why the entry is invalid and what to write instead, or the API's error."),
});

const sourceState = z.object({
  configMap: z.string().max(253).optional().describe("The name of the ConfigMap."),
  secret: z.string().max(253).optional().describe("The name of the Secret."),
  key: z.string().max(253).describe("The key in its data."),
  entries: count.optional().describe("The number of valid entries; unset if the source can't be read."),
});

const entryCounts = z.object({
  desired: count.describe("Entries of the rule that belong on the list, after `except` and `aggregate`."),
  synced: count.describe("Entries of the rule that are on the WAF."),
  pending: count.describe("Entries that wafsync has yet to add."),
  rejected: count.describe(
    "Entries that are invalid, that a guard or the API rejected, or that another rule overrides. Rejected entries of feeds do not prevent the rule from being `Ready`.",
  ),
  declared: count
    .optional()
    .describe(
      "Entries that the rule and its sources contain, before `except` and `aggregate`. Unset if the rule uses neither.",
    ),
  overflow: count
    .optional()
    .describe("Entries that the list has no room for (`maxEntries` of the instance). They are not on the WAF."),
  foreign: count
    .optional()
    .describe(
      "Unmanaged entries of the rule. They stay when the rule expires or is deleted, unless the policy of the list is `Exclusive`.",
    ),
});

export const wafIpRuleStatus = statusSchema("The observed state of the rule.", {
  entries: entryCounts.optional().describe("The number of entries, by state."),
  progress: z
    .string()
    .max(32)
    .optional()
    .describe(
      "Entries on the WAF out of all declared entries, for example `120/10000`, or `expired` once the rule has expired. Rejected entries count as declared, except those of a feed.",
    ),
  rejected: atomicList(rejectedEntry, entriesShownMax)
    .default([])
    .describe(`The first ${entriesShownMax} entries that were rejected.`),
  sources: atomicList(sourceState, sourcesShownMax)
    .optional()
    .describe(`The first ${sourcesShownMax} ConfigMaps and Secrets of \`spec.addressesFrom\`.`),
  expiresAt: dateTime.optional().describe("When the rule expires, from `spec.expiresAt` or `spec.ttl`."),
  lastChangeTime: dateTime.optional().describe("When an entry of this rule was last added to or removed from the WAF."),
});

export type WafIpRuleStatus = z.output<typeof wafIpRuleStatus>;

export const wafIpRuleDefinition: KindDefinition<typeof wafIpRuleSpec, typeof wafIpRuleStatus> = {
  kind: "WafIpRule",
  shortName: "wafip",
  description: "Addresses and networks that belong on the blocklist or the allowlist of a WAF.",
  spec: wafIpRuleSpec,
  status: wafIpRuleStatus,
  printerColumns: [
    instanceColumn,
    column("Action", "string", ".spec.action", "Block or Allow"),
    column("Progress", "string", ".status.progress", "Entries on the WAF out of all declared entries"),
    column("Rejected", "integer", ".status.entries.rejected", "Rejected entries", "Wide"),
    column("Expires", "string", ".status.expiresAt", "When the rule expires", "Wide"),
    column("Priority", "integer", ".spec.priority", "The priority; higher values are written first", "Wide"),
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name", ".spec.action"],
};
