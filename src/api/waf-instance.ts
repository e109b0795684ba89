// WafInstance: one API key, one WAF.
import * as z from "zod";
import { grant, grantsMax } from "./access-schema.ts";
import { logForwarding } from "./log-forwarding.ts";
import { baseUrl } from "./host-rules.ts";
import { closingColumns, type KindDefinition, nameLengthRule } from "./kind-definition.ts";
import {
  checkedNetwork,
  dataKey,
  dateTime,
  deletionPolicies,
  durationBetween,
  namespaceName,
  objectName,
} from "./schema-parts.ts";
import { commonStatus, count } from "./status-parts.ts";

/** Instances give their name to records and labels, which must stay short. */
const instanceNameLengthMax = 63;
/** Groups of removals on hold in a status. */
export const heldGroupsMax = 20;

const listPolicy = z
  .enum(["Additive", "Exclusive", "Observe"])
  .default("Additive")
  .describe(
    "`Additive` removes only what wafsync itself added. `Exclusive` makes the declared entries the whole list: anything else is removed. `Observe` plans and reports, and writes nothing.",
  );

const guards = z.strictObject({
  maxRemovals: z
    .int()
    .min(0)
    .max(1_000_000)
    .default(100)
    .meta({ format: "int32" })
    .describe("A plan that removes more entries from one list waits for approval."),
  maxRemovalPercent: z
    .int()
    .min(0)
    .max(100)
    .default(30)
    .meta({ format: "int32" })
    .describe("A plan that removes a larger share of a list of 10 entries or more waits for approval."),
  neverBlock: z
    .array(checkedNetwork)
    .max(1000)
    .default([])
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe(
      "Addresses and networks that must stay reachable: a Block entry that overlaps one is rejected, or carved (see `onNeverBlock`). IP addresses of declared origins count as listed.",
    ),
  onNeverBlock: z
    .enum(["Reject", "Carve"])
    .default("Reject")
    .describe(
      "What happens to a Block entry that is wider than what `neverBlock` protects. `Reject`: it is rejected. `Carve`: the protected networks are cut out of it, and the rest is blocked, as up to 256 narrower networks.",
    ),
  minPrefixLength: prefixLengths(8, 16).describe("A wider Block entry is rejected."),
  allowMinPrefixLength: prefixLengths(16, 32).describe("A wider Allow entry is rejected."),
  specialPurpose: z
    .enum(["Reject", "Allow"])
    .default("Reject")
    .describe(
      "What happens to a Block or Allow entry that overlaps a special-purpose network, such as private, loopback, link-local or multicast addresses, from which no request comes over the public Internet. `Reject`: it is rejected. `Allow`: it is written like any other.",
    ),
});

/** The shortest prefix that networks may have, by family. */
function prefixLengths(ipv4: number, ipv6: number) {
  const shortest = (max: number, value: number) => z.int().min(0).max(max).default(value).meta({ format: "int32" });
  return z
    .strictObject({
      ipv4: shortest(32, ipv4).describe("The shortest prefix of an IPv4 network."),
      ipv6: shortest(128, ipv6).describe("The shortest prefix of an IPv6 network."),
    })
    .prefault({});
}

const workloadRef = z.strictObject({
  kind: z.enum(["Deployment", "StatefulSet", "DaemonSet"]).describe("What kind of workload it is."),
  name: objectName.describe("The name of the workload."),
  namespace: namespaceName
    .optional()
    .describe(
      "Its namespace. Without it: the namespace of the instance. A workload elsewhere must be annotated with `wafsync.dev/clears-cache-of: NAMESPACE/NAME` of the instance.",
    ),
});

const cacheClear = z.strictObject({
  afterRolloutOf: z
    .array(workloadRef)
    .max(32)
    .default([])
    .meta({ "x-kubernetes-list-type": "atomic" })
    .describe("Workloads whose finished rollout clears the cache once."),
  minInterval: durationBetween("0s", "1d")
    .default("60s")
    .describe("The time between two clears that follow rollouts. Later ones wait, and become one."),
});

export const wafInstanceSpec = z
  .strictObject({
    baseUrl: baseUrl.describe(
      "Where the management API is, for example `https://waf.example.com`. The operator may narrow what is allowed, and refuses http unless told otherwise.",
    ),
    apiKeySecretRef: z
      .strictObject({
        name: objectName.describe("The name of the Secret, in the namespace of the instance."),
        key: dataKey.default("apiKey").describe("The entry of the Secret that holds the key."),
      })
      .describe("The Secret that holds the API key."),
    expectedDomain: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe("If set, nothing is written unless the API says that the key belongs to this domain."),
    access: z
      .array(grant)
      .max(grantsMax)
      .default([])
      .describe(
        "What other namespaces, the guests, may do with this instance. The first item that matches a namespace counts; a namespace that no item matches may do nothing. Objects in the namespace of the instance need no grant, and win every conflict.",
      ),
    suspend: z.boolean().default(false).describe("If true, nothing is written. Reads and status go on."),
    resyncInterval: durationBetween("1s", "1d")
      .default("5m")
      .describe("How often the lists are read again, to find and correct what others changed."),
    consistencyWindow: durationBetween("0s", "1h")
      .default("5s")
      .describe(
        "How long the WAF may take until its lists show a write, also one that timed out. An entry that no rule wants any more stays recorded as managed until its list was read without it twice, at least this long apart.",
      ),
    requestTimeout: durationBetween("100ms", "5m")
      .default("10s")
      .describe("How long a call may take. A write never takes longer than 10 s, whatever is set here."),
    minRequestInterval: durationBetween("0s", "1m").default("0s").describe("The least time between two calls."),
    blocklist: z.strictObject({ policy: listPolicy }).prefault({}).describe("How the blocklist is kept."),
    allowlist: z.strictObject({ policy: listPolicy }).prefault({}).describe("How the allowlist is kept."),
    origins: z
      .strictObject({
        policy: z
          .enum(["Additive", "Observe"])
          .default("Additive")
          .describe(
            "`Additive` removes only what wafsync itself added. `Observe` plans and reports, and writes nothing.",
          ),
      })
      .prefault({})
      .describe("How the origins are kept."),
    guards: guards.prefault({}).describe("What protects against removing or blocking too much by mistake."),
    cacheClear: cacheClear.prefault({}).describe("When the cache is cleared without being asked."),
    logs: logForwarding.prefault({}).describe("Forwards new blocked requests."),
    deletionPolicy: deletionPolicies
      .default("Retain")
      .describe(
        "What happens to the managed entries and origins when the instance is deleted. `Retain` leaves them on the WAF and keeps their record: an instance of the same name continues with it. `Delete` removes them from the WAF.",
      ),
  })
  .describe("What the WAF should be like.");

const listStatus = z.object({
  live: count.describe("Entries on the list when it was last read."),
  managed: count.describe("Entries that wafsync added."),
  foreign: count.describe("Entries that others added."),
  pending: count.describe("Writes that the plan still asks for."),
  held: count.describe("Removals that wait for approval, or for a source that can't be read."),
});

const heldGroup = z.object({
  list: z.enum(["blocklist", "allowlist"]).describe("The list that the entries are on."),
  owners: z
    .string()
    .max(1024)
    .describe("Who wanted the entries last, for example `WafIpRule shop/scanners`; empty if that is not known."),
  count: count.describe("How many removals."),
  reason: z.string().max(1024).describe("What holds them."),
  examples: z.array(z.string().max(64)).max(5).default([]).describe("The first of the entries."),
});

const planSummary = z.object({
  additions: count.describe("Entries and origins that would be added."),
  removals: count.describe("Entries and origins that would be removed."),
  examples: z.array(z.string().max(512)).max(10).default([]).describe("The first operations of the plan."),
});

const workloadStatus = z.object({
  kind: z.string().max(32).describe("The kind of the workload."),
  namespace: z.string().max(63).describe("Its namespace."),
  name: z.string().max(253).describe("Its name."),
  revision: z.string().max(320).optional().describe("The revision that was seen last."),
  generation: z
    .int()
    .min(0)
    .optional()
    .meta({ format: "int64" })
    .describe("The generation that was seen last. A scale changes it, and not the revision."),
  state: z
    .enum(["Handled", "RollingOut", "Paused", "Pending", "Failed", "NotSeen", "Untracked"])
    .describe(
      "`Handled`: nothing to do for this revision. `RollingOut`: the rollout goes on. `Paused`: a change waits, and no pod runs it. `Pending`: it is complete, and the clear is still to come. `Failed`: it exceeded its deadline. `NotSeen`: the workload is not there, or may not be seen. `Untracked`: its rollouts can't be followed.",
    ),
  message: z.string().max(1024).describe("The same, in a sentence."),
});

const cacheClearStatus = z.object({
  lastClearTime: dateTime.optional().describe("When the cache was last cleared after a rollout."),
  failedAttempts: count.optional().describe("How many calls in a row failed; it is tried again."),
  message: z.string().max(1024).optional().describe("Why the last call failed, or why there is none."),
  workloads: z.array(workloadStatus).max(32).default([]).describe("The listed workloads."),
});

const logsStatus = z.object({
  lastEntryTime: dateTime.optional().describe("The time of the newest entry that was handed on."),
  lag: z.string().max(32).optional().describe("How long after its time that entry was handed on."),
  forwarded: z.int().min(0).meta({ format: "int64" }).describe("How many entries were handed on in all."),
});

export const wafInstanceStatus = z
  .object({
    ...commonStatus,
    domain: z.string().max(253).optional().describe("The domain that the key belongs to, as the API says."),
    primaryOrigin: z
      .string()
      .max(253)
      .optional()
      .describe("The host that the API shows as the current primary origin."),
    blocklist: listStatus.optional().describe("The blocklist in numbers."),
    allowlist: listStatus.optional().describe("The allowlist in numbers."),
    attachedRules: count.optional().describe("How many WafIpRules are attached."),
    attachedOrigins: count.optional().describe("How many WafOrigins are attached."),
    lastSyncTime: dateTime.optional().describe("When the last full look at the WAF ended."),
    heldPlan: z
      .string()
      .max(128)
      .optional()
      .describe(
        "The hash of the plan whose removals wait: what the annotation `wafsync.dev/approve-removals` approves.",
      ),
    removalsOnHold: z
      .array(heldGroup)
      .max(heldGroupsMax)
      .optional()
      .meta({ "x-kubernetes-list-type": "atomic" })
      .describe(`The removals on hold by who wanted the entries last: the first ${heldGroupsMax} groups.`),
    plan: planSummary.optional().describe("Under `Observe`: what would be written."),
    cacheClear: cacheClearStatus.optional().describe("The clears that follow rollouts, and where those are."),
    logs: logsStatus.optional().describe("How far the forwarding of blocked requests is."),
  })
  .prefault({ observedGeneration: -1 })
  .describe("What wafsync found and did.");

export type HeldGroup = z.output<typeof heldGroup>;
export type WafInstanceSpec = z.output<typeof wafInstanceSpec>;
export type WafInstanceStatus = z.output<typeof wafInstanceStatus>;

export const wafInstanceDefinition: KindDefinition<typeof wafInstanceSpec, typeof wafInstanceStatus> = {
  kind: "WafInstance",
  description: "A hosted web application firewall: where its API is, the key for it, and how wafsync may change it.",
  spec: wafInstanceSpec,
  status: wafInstanceStatus,
  printerColumns: [
    { name: "Domain", type: "string", jsonPath: ".status.domain", description: "The domain that the key belongs to" },
    { name: "Blocked", type: "integer", jsonPath: ".status.blocklist.live", description: "Entries on the blocklist" },
    { name: "Allowed", type: "integer", jsonPath: ".status.allowlist.live", description: "Entries on the allowlist" },
    { name: "Rules", type: "integer", jsonPath: ".status.attachedRules", description: "Attached WafIpRules" },
    {
      name: "Primary",
      type: "string",
      jsonPath: ".status.primaryOrigin",
      description: "The current primary origin",
      priority: 1,
    },
    {
      name: "Last Sync",
      type: "date",
      jsonPath: ".status.lastSyncTime",
      description: "Time since the last full look at the WAF",
      priority: 1,
    },
    ...closingColumns,
  ],
  selectableFields: [],
  nameRules: [nameLengthRule("instance", instanceNameLengthMax)],
};
