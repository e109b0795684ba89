// WafCacheClear: a job that clears the whole cache of an instance, once for each trigger.
import * as z from "zod";
import { closingColumns, column, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import { count, dateTime, instanceRef, int32, immutableRule } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { statusSchema } from "./conditions.ts";

const immutable = {
  ...immutableRule,
  message: "only trigger and suspend can be changed: create another WafCacheClear",
};

export const wafCacheClearSpec = withRules(
  z.strictObject({
    instanceRef,
    trigger: z
      .string()
      .min(1)
      .max(253)
      .optional()
      .describe(
        "Any string, for example a commit. The cache is cleared once on creation, and once for each new value.",
      ),
    suspend: z.boolean().default(false).describe("If true, no attempt is started."),
    backoffLimit: withRules(int32(0, 100).default(3), [immutable]).describe(
      "The maximum number of retries after a failed attempt.",
    ),
    activeDeadlineSeconds: withRules(int32(1, 86_400).default(300), [immutable]).describe(
      "The maximum total time of the job, in seconds.",
    ),
    ttlSecondsAfterFinished: int32(0, 31_536_000)
      .optional()
      .describe(
        "If set, the object is deleted this many seconds after it has finished. Do not set it for objects that GitOps manages.",
      ),
  }),
  [
    {
      cel: "has(self.ttlSecondsAfterFinished) == has(oldSelf.ttlSecondsAfterFinished) && (!has(self.ttlSecondsAfterFinished) || self.ttlSecondsAfterFinished == oldSelf.ttlSecondsAfterFinished)",
      message:
        "ttlSecondsAfterFinished can't be changed: only trigger and suspend can, so create another WafCacheClear",
      holds: "AdmissionOnly",
    },
  ],
).describe("When to clear the cache. All fields except `trigger` and `suspend` are immutable.");

export const wafCacheClearStatus = statusSchema("The result, similar to the status of a Job.", {
  startTime: dateTime.optional().describe("When work on the current trigger started."),
  completionTime: dateTime.optional().describe("When the API accepted the clear."),
  duration: z.string().max(32).optional().describe("The time from start to completion, for example `3s` or `2m5s`."),
  attempts: count
    .optional()
    .describe(
      "The number of calls started for the current trigger, not counting those that the API rate-limited (429).",
    ),
  lastAttemptTime: dateTime.optional().describe("When the last attempt started."),
  message: z.string().max(1024).optional().describe("The result of the last attempt."),
  lastTrigger: z
    .string()
    .max(253)
    .optional()
    .describe("The trigger that this status describes; absent if the object had none."),
  coalescedWith: z
    .string()
    .max(512)
    .optional()
    .describe(
      "`namespace/name` of the WafCacheClear whose call also cleared the cache for this one, or the workload whose rollout triggered the clear.",
    ),
});

export type WafCacheClearStatus = z.output<typeof wafCacheClearStatus>;

export const wafCacheClearDefinition: KindDefinition<typeof wafCacheClearSpec, typeof wafCacheClearStatus> = {
  kind: "WafCacheClear",
  shortName: "wafcc",
  description: "A job that clears the whole cache of a WAF: once when it is created, and once for each new trigger.",
  spec: wafCacheClearSpec,
  status: wafCacheClearStatus,
  printerColumns: [
    instanceColumn,
    column("Trigger", "string", ".spec.trigger", "The trigger of the clear"),
    column("Complete", "string", '.status.conditions[?(@.type=="Complete")].status', "Whether the cache was cleared"),
    column("Duration", "string", ".status.duration", "Time from start to completion"),
    column("Attempts", "integer", ".status.attempts", "Number of calls"),
    column("Completed", "date", ".status.completionTime", "Time since the clear", "Wide"),
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name"],
};
