// WafInstance: one API key, one WAF.
import * as z from "zod";
import { guestKinds } from "../model/resource.ts";
import { statusSchema } from "./conditions.ts";
import { baseUrl } from "./host-rules.ts";
import { closingColumns, column, type KindDefinition, nameLengthRule } from "./kind-definition.ts";
import {
  atomicList,
  checkedNetwork,
  count,
  dataKey,
  dateTime,
  deletionPolicies,
  durationBetween,
  int32,
  labelSelector,
  namespaceName,
  objectName,
  onlyWithRule,
  prefixLengths,
} from "./schema-parts.ts";
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
    onlyWithRule("selector", "from", "Selector"),
    {
      cel: "(self.from == 'Names') == has(self.names)",
      message: "write names: [...] to list the namespaces, or from: Selector, or from: All",
      holds: ({ from, names }) => (from === "Names") === (names !== undefined),
    },
  ],
);

const grant = z.strictObject({
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
  maxEntries: int32(0, 1_000_000)
    .default(500)
    .describe(
      "The maximum number of entries for each of these namespaces, across all its rules. Entries of the newest rules are rejected first.",
    ),
  maxPriority: int32(-1_000_000, 1_000_000)
    .default(0)
    .describe("The highest priority that rules may have. Higher values are lowered to this one."),
  minPrefixLength: prefixLengths("shortest prefix length", [24, 48]).describe(
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

const listPolicy = z
  .enum(["Additive", "Exclusive", "Observe"])
  .default("Additive")
  .describe(
    "`Additive` removes only managed entries, which wafsync added or adopted. `Exclusive` makes the declared entries the complete list and removes all others. `Observe` plans and reports, but writes nothing.",
  );

const managedList = z.strictObject({
  policy: listPolicy,
  maxEntries: int32(1, 10_000_000)
    .optional()
    .describe(
      "How many entries the WAF accepts on this list. If more are declared, wafsync leaves out those of the lowest priority first, then the most recently declared ones, and the condition `Synced` is False with the reason `CapacityExceeded`. Defaults to no limit.",
    ),
});

const logForwarding = z.strictObject({
  enabled: z.boolean().default(false).describe("Whether blocked requests are forwarded."),
  interval: durationBetween("10s", "1d").default("5m").describe("How often wafsync queries the API for new entries."),
  lookback: durationBetween("1h", "365d")
    .default("2d")
    .describe(
      "How far back each query reaches, because entries can arrive late. Entries that were already forwarded are skipped.",
    ),
  plan: z
    .enum(["Basic", "CDN", "Advanced", "Professional", "Network", "Enterprise"])
    .optional()
    .describe("The subscription plan of the WAF, which determines how long the API keeps entries."),
  output: z
    .enum(["Stdout", "OTLP"])
    .default("Stdout")
    .describe("`Stdout`: JSON lines on stdout. `OTLP`: an OpenTelemetry collector."),
});

/** The names of records and labels include the name of the instance, so it must be short. */
const instanceNameLengthMax = 63;
/** The maximum number of groups of removals on hold that a status shows. */
export const heldGroupsMax = 20;

const guards = z.strictObject({
  maxRemovals: int32(0, 1_000_000)
    .default(100)
    .describe("Removing more entries than this from one list within `window`, or by one plan, requires approval."),
  maxRemovalPercent: int32(0, 100)
    .default(30)
    .describe(
      "Removing a larger percentage of a list within `window`, or by one plan, requires approval. Applies to lists with at least 10 entries.",
    ),
  window: durationBetween("0s", "7d")
    .default("1h")
    .describe(
      "How long `maxRemovals` and `maxRemovalPercent` count a removal, so that many small plans remove no more than one large plan. Entries that expire or leave a feed count only within a plan. With `0s`, each plan is counted separately.",
    ),
  neverBlock: atomicList(checkedNetwork, 1000)
    .default([])
    .describe(
      "Addresses and networks that must stay reachable: a Block entry that overlaps one is rejected, unless `spec.except` of its rule leaves it out. IP addresses of declared origins count as listed.",
    ),
  minPrefixLength: prefixLengths("shortest prefix length", [8, 16]).describe(
    "The shortest prefix lengths for Block entries. Wider entries are rejected.",
  ),
  allowMinPrefixLength: prefixLengths("shortest prefix length", [16, 32]).describe(
    "The shortest prefix lengths for Allow entries. Wider entries are rejected.",
  ),
  specialPurpose: z
    .enum(["Reject", "Allow"])
    .default("Reject")
    .describe(
      "How to handle a Block or Allow entry that overlaps a special-purpose network, such as private, loopback, link-local or multicast addresses. `Reject`: the entry is rejected. `Allow`: the entry is written like any other.",
    ),
});

const workloadRef = z.strictObject({
  kind: z.enum(["Deployment", "StatefulSet", "DaemonSet"]).describe("The kind of the workload."),
  name: objectName.describe("The name of the workload."),
  namespace: namespaceName
    .optional()
    .describe(
      "Defaults to the namespace of the instance. A workload in another namespace needs the annotation `wafsync.dev/clears-cache-of: NAMESPACE/NAME`, which names the instance.",
    ),
});

const cacheClear = z.strictObject({
  afterRolloutOf: atomicList(workloadRef, 32)
    .default([])
    .describe("Workloads whose completed rollouts clear the cache, once for each rollout."),
  minInterval: durationBetween("0s", "1d")
    .default("60s")
    .describe("The minimum time between two clears after rollouts. Further clears wait, and are combined into one."),
});

export const wafInstanceSpec = z
  .strictObject({
    baseUrl: baseUrl.describe(
      "The base URL of the management API, for example `https://waf.example.com`. The operator may restrict it, and rejects http by default.",
    ),
    apiKeySecretRef: z
      .strictObject({
        name: objectName.describe("The name of the Secret, in the namespace of the instance."),
        key: dataKey.default("apiKey").describe("The key in the Secret's data."),
      })
      .describe("The Secret that holds the API key."),
    expectedDomain: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe("If set, wafsync writes nothing unless the API reports that the API key belongs to this domain."),
    access: z
      .array(grant)
      .max(grantsMax)
      .default([])
      .describe(
        "What other namespaces (guests) may do with this instance. The first matching item applies; a namespace without one has no access. Objects in the namespace of the instance need no grant, and take precedence in every conflict.",
      ),
    suspend: z
      .boolean()
      .default(false)
      .describe("If true, wafsync writes nothing. It continues to read the WAF and to update the status."),
    resyncInterval: durationBetween("1s", "1d")
      .default("5m")
      .describe("How often wafsync reads the lists to detect and correct drift."),
    consistencyWindow: durationBetween("0s", "1h")
      .default("5s")
      .describe(
        "How long the WAF may take to show a write in its lists, including writes that timed out. An undeclared entry stays recorded as managed until two reads, at least this long apart, did not contain it.",
      ),
    requestTimeout: durationBetween("100ms", "5m")
      .default("10s")
      .describe("The timeout of a call. For writes, the timeout is never longer than 10 s."),
    minRequestInterval: durationBetween("0s", "1m").default("0s").describe("The minimum time between two calls."),
    blocklist: managedList.prefault({}).describe("How wafsync manages the blocklist."),
    allowlist: managedList.prefault({}).describe("How wafsync manages the allowlist."),
    origins: z
      .strictObject({
        policy: z
          .enum(["Additive", "Observe"])
          .default("Additive")
          .describe(
            "`Additive` removes only managed origins, which wafsync added or adopted. `Observe` plans and reports, but writes nothing.",
          ),
      })
      .prefault({})
      .describe("How wafsync manages the origins."),
    guards: guards.prefault({}).describe("Limits that protect against removing or blocking too much by mistake."),
    cacheClear: cacheClear.prefault({}).describe("When wafsync clears the cache automatically."),
    logs: logForwarding.prefault({}).describe("How wafsync forwards new blocked requests."),
    deletionPolicy: deletionPolicies
      .default("Retain")
      .describe(
        "What happens to the managed entries and origins when the instance is deleted. `Retain` leaves them on the WAF and keeps their record: a new instance with the same name continues it. `Delete` removes them from the WAF.",
      ),
  })
  .describe("The desired state of the WAF.");

export const listStatus = z.object({
  live: count.describe("Entries on the list when it was last read."),
  managed: count.describe("Managed entries, which wafsync added or adopted."),
  foreign: count.describe("Unmanaged entries, which another writer added."),
  pending: count.describe("Writes of the plan that are still pending."),
  held: count.describe("Removals on hold."),
  overflow: count.optional().describe("Entries that the list has no room for (`maxEntries`)."),
});

export const heldGroup = z.object({
  list: z.enum(["blocklist", "allowlist"]).describe("The list that contains the entries."),
  owners: z
    .string()
    .max(1024)
    .describe("The last object that declared the entries, for example `WafIpRule shop/scanners`; empty if unknown."),
  count: count.describe("The number of removals."),
  reason: z.string().max(1024).describe("Why the removals are on hold."),
  examples: z.array(z.string().max(64)).max(5).default([]).describe("The first entries of the group."),
  hash: z
    .string()
    .max(64)
    .optional()
    .describe("The hash of this group, which approves it alone; several hashes are separated by commas."),
});

const planSummary = z.object({
  additions: count.describe("Entries and origins that would be added."),
  removals: count.describe("Entries and origins that would be removed."),
  examples: z.array(z.string().max(512)).max(10).default([]).describe("The first operations of the plan."),
});

const rolloutStatus = z.object({
  workload: z.string().max(341).describe("The kind, namespace and name of the workload: `Deployment shop/web`."),
  state: z
    .enum(["Handled", "RollingOut", "Pending", "NotSeen"])
    .describe(
      "`Handled`: nothing to do for this revision. `RollingOut`: the rollout is not complete. `Pending`: the rollout is complete, and the clear is pending. `NotSeen`: the workload does not exist or is not accessible.",
    ),
  message: z.string().max(1024).describe("The state as a sentence."),
});

const logsStatus = z.object({
  lastEntryTime: dateTime.optional().describe("The time of the newest forwarded entry."),
  lag: z.string().max(32).optional().describe("The time between the newest forwarded entry and its forwarding."),
  forwarded: z.int().min(0).meta({ format: "int64" }).describe("The total number of forwarded entries."),
});

export const wafInstanceStatus = statusSchema("The observed state of the WAF.", {
  domain: z.string().max(253).optional().describe("The domain of the API key, as reported by the API."),
  primaryOrigin: z.string().max(253).optional().describe("The current primary origin, as reported by the API."),
  blocklist: listStatus.optional().describe("The number of entries on the blocklist, by state."),
  allowlist: listStatus.optional().describe("The number of entries on the allowlist, by state."),
  attachedRules: count.optional().describe("The number of attached WafIpRules."),
  attachedOrigins: count.optional().describe("The number of attached WafOrigins."),
  lastSyncTime: dateTime.optional().describe("When the last complete read of the WAF finished."),
  inventoryVersion: z
    .int()
    .min(0)
    .optional()
    .meta({ format: "int64" })
    .describe(
      "The version of the inventory, which each save increases. If the inventory has a lower one, it was restored from a backup, and wafsync removes nothing until you accept it.",
    ),
  heldPlan: z
    .string()
    .max(128)
    .optional()
    .describe(
      "The hash of the removals on hold. The annotation `wafsync.dev/approve-removals` with this hash approves them.",
    ),
  removalsOnHold: atomicList(heldGroup, heldGroupsMax)
    .optional()
    .describe(
      `The removals on hold, grouped by the last object that declared the entries. At most ${heldGroupsMax} groups are shown.`,
    ),
  plan: planSummary.optional().describe("With the policy `Observe`: the changes that wafsync would make."),
  rollouts: z
    .array(rolloutStatus)
    .max(32)
    .optional()
    .describe("The state of each workload in `cacheClear.afterRolloutOf`."),
  logs: logsStatus.optional().describe("The progress of forwarding blocked requests."),
});

export type HeldGroup = z.output<typeof heldGroup>;
export type WafInstanceStatus = z.output<typeof wafInstanceStatus>;

export const wafInstanceDefinition: KindDefinition<typeof wafInstanceSpec, typeof wafInstanceStatus> = {
  kind: "WafInstance",
  shortName: "wafi",
  description:
    "Describes one hosted web application firewall (WAF): its API URL, its API key, and how wafsync may change it.",
  spec: wafInstanceSpec,
  status: wafInstanceStatus,
  printerColumns: [
    column("Domain", "string", ".status.domain", "The domain of the API key"),
    column("Blocked", "integer", ".status.blocklist.live", "Entries on the blocklist"),
    column("Allowed", "integer", ".status.allowlist.live", "Entries on the allowlist"),
    column("Rules", "integer", ".status.attachedRules", "Attached WafIpRules"),
    column("Primary", "string", ".status.primaryOrigin", "The current primary origin", "Wide"),
    column("Last Sync", "date", ".status.lastSyncTime", "Time since the last complete read of the WAF", "Wide"),
    ...closingColumns,
  ],
  nameRules: [nameLengthRule("instance", instanceNameLengthMax)],
};
