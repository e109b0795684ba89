// The JSON of `/summary`: what the page shows about all WAFs. Published: fields are added, but not renamed or removed.
import * as z from "zod";
import { count, dateTime } from "./schema-parts.ts";
import { heldGroup, listStatus } from "./waf-instance.ts";

/** The maximum number of objects of an instance that are listed as not Ready. */
export const summaryObjectsMax = 20;
/** The same of the entries of an object that are not applied. */
export const summaryEntriesMax = 5;

const ready = z
  .enum(["True", "False", "Unknown"])
  .describe("The status of the condition `Ready`; `Unknown` before the first reconcile run.");
const reason = z.string().describe("The reason of that condition, as one word; empty before the first reconcile run.");
const message = z
  .string()
  .describe("The message of that condition, for example why the object waits and how much time is left.");
const name = z.string().describe("The name, as `namespace/name`.");

const rejectedEntry = z.object({
  entry: z.string().describe("The entry as it is written."),
  source: z.string().describe("Where it is declared, for example `spec.addresses[1]`."),
  message: z.string().describe("Why it is not applied."),
  place: z.string().optional().describe("File and line of the entry; absent in a cluster."),
});

const objectSummary = z.object({
  kind: z.string().describe("The kind, for example `WafIpRule`."),
  name,
  description: z.string().optional().describe("The description of the rule, for example the reason of a block."),
  progress: z.string().describe("The progress, for example `120/10000`; empty if unknown."),
  ready,
  reason,
  message,
  place: z.string().optional().describe("File and line of its declaration; absent in a cluster."),
  isAccepted: z.boolean().describe("False if the object or a part of it is invalid."),
  rejectedCount: count.describe("The number of its entries that are not applied."),
  rejected: z.array(rejectedEntry).describe(`The first ${summaryEntriesMax} of these entries.`),
});

const instanceSummary = z.object({
  instance: name,
  domain: z.string().optional().describe("The domain of the API key, as reported by the API."),
  suspended: z.boolean().describe("Whether `spec.suspend` is set."),
  ready,
  reason,
  message,
  blocklist: listStatus.optional().describe("The number of entries on the blocklist; absent before the first read."),
  allowlist: listStatus.optional().describe("The number of entries on the allowlist; absent before the first read."),
  lastSyncTime: dateTime.optional().describe("When the last complete read of the WAF finished."),
  rules: count.describe("The number of WafIpRules that refer to the instance."),
  origins: count.describe("The number of WafOrigins that refer to the instance."),
  notReady: count.describe("The number of objects that refer to the instance and are not Ready."),
  objects: z.array(objectSummary).describe(`The first ${summaryObjectsMax} of the objects that are not Ready.`),
  onHold: z.array(heldGroup).describe("The removals on hold, grouped by the last object that declared the entries."),
  heldPlan: z.string().optional().describe("The hash of the removals on hold; absent if there are none."),
  approve: z.string().optional().describe("The command that shows the removals on hold and approves them."),
});

const feedSummary = z.object({
  feed: name,
  ready,
  reason,
  message,
  entries: count.optional().describe("Unexpired entries, which rules currently use."),
  invalid: count.optional().describe("Invalid entries in the last good content."),
  lastGoodTime: dateTime.optional().describe("When the source last returned or confirmed the current content."),
  lastChangeTime: dateTime.optional().describe("When the entries last changed."),
  nextFetchTime: dateTime.optional().describe("The time of the next fetch."),
  heldContent: z
    .object({
      hash: z.string().describe("The hash of the content on hold."),
      reason: z.string().describe("The guard that put the content on hold, as one word."),
      entries: count.describe("The number of valid entries."),
      accept: z.string().describe("The command or the annotation that accepts the content."),
    })
    .optional()
    .describe("New content that a guard put on hold; absent if there is none."),
});

const totals = z.object({
  instances: count.describe("The number of instances."),
  ready: count.describe("Instances that are Ready."),
  notReady: count.describe("Instances with `Ready` set to `False`, and the objects that `unattached` counts."),
  unknown: count.describe("Instances with `Ready` set to `Unknown`: in progress, suspended, or not reconciled yet."),
  unattached: count.describe("Objects that are not Ready and refer to no instance that is shown."),
  blocked: count.describe("Entries on all blocklists."),
  allowed: count.describe("Entries on all allowlists."),
  pending: count.describe("Pending writes."),
  onHold: count.describe("Removals on hold."),
});

export const summarySchema = z
  .object({
    version: z.string().describe("The version of wafsync."),
    generatedAt: dateTime.describe("When the objects were read."),
    where: z.string().describe("What was read, for example `in folder waf/` or `in namespace shop`."),
    gaps: z.array(z.string()).describe("What could not be read, one sentence each."),
    totals: totals.describe("Sums over all instances that could be read."),
    instances: z.array(instanceSummary).describe("The instances, ordered by name."),
    unattached: z
      .array(objectSummary)
      .describe(
        `The first ${summaryObjectsMax} objects that are not Ready and refer to no instance that is shown, for example because of a typo.`,
      ),
    feeds: z.array(feedSummary).describe("The feeds, ordered by name."),
  })
  .describe("The state of all WAFs.");

export type Summary = z.output<typeof summarySchema>;
export type InstanceSummary = Summary["instances"][number];
export type ObjectSummary = z.output<typeof objectSummary>;
export type FeedSummary = Summary["feeds"][number];
