// WafCacheClear: a job that clears the whole cache of an instance, once for each trigger.
import * as z from "zod";
import { closingColumns, instanceColumn, type KindDefinition } from "./kind-definition.ts";
import { dateTime, immutableRule, instanceRef } from "./schema-parts.ts";
import { withRules } from "./schema-rules.ts";
import { commonStatus, count } from "./status-parts.ts";

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
      .describe("Any text, for example a commit. The cache is cleared at the creation, and once for each new value."),
    suspend: z.boolean().default(false).describe("If true, no attempt is begun."),
    backoffLimit: withRules(z.int().min(0).max(100).default(3).meta({ format: "int32" }), [immutable]).describe(
      "How many times a failed attempt is repeated before it is given up.",
    ),
    activeDeadlineSeconds: withRules(z.int().min(1).max(86_400).default(300).meta({ format: "int32" }), [
      immutable,
    ]).describe("How long it may take in all, in seconds."),
    ttlSecondsAfterFinished: z
      .int()
      .min(0)
      .max(31_536_000)
      .optional()
      .meta({ format: "int32" })
      .describe(
        "If set, the object is deleted this many seconds after it finished. Not for objects that GitOps keeps.",
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
).describe("When to clear. All but `trigger` and `suspend` stays as it was created.");

export const wafCacheClearStatus = z
  .object({
    ...commonStatus,
    startTime: dateTime.optional().describe("When work on the current trigger began."),
    completionTime: dateTime.optional().describe("When the clear was accepted by the API."),
    duration: z.string().max(32).optional().describe("The time from start to completion, for example `3s` or `2m5s`."),
    attempts: count
      .optional()
      .describe("How many calls were begun for the current trigger; those that the API put off (429) don't count."),
    lastAttemptTime: dateTime.optional().describe("When the last of them was begun."),
    message: z.string().max(1024).optional().describe("What came of the last attempt."),
    lastTrigger: z
      .string()
      .max(253)
      .optional()
      .describe("The trigger that all of this is about; not there if the object had none."),
    coalescedWith: z
      .string()
      .max(512)
      .optional()
      .describe(
        "`namespace/name` of the WafCacheClear whose call has cleared for this one too, or the workload whose rollout it followed.",
      ),
  })
  .prefault({ observedGeneration: -1 })
  .describe("What came of it, like the status of a Job.");

export type WafCacheClearSpec = z.output<typeof wafCacheClearSpec>;
export type WafCacheClearStatus = z.output<typeof wafCacheClearStatus>;

export const wafCacheClearDefinition: KindDefinition<typeof wafCacheClearSpec, typeof wafCacheClearStatus> = {
  kind: "WafCacheClear",
  description: "A job that clears the whole cache of a WAF: once when it is created, and once for each new trigger.",
  spec: wafCacheClearSpec,
  status: wafCacheClearStatus,
  printerColumns: [
    instanceColumn,
    { name: "Trigger", type: "string", jsonPath: ".spec.trigger", description: "What it was asked for" },
    {
      name: "Complete",
      type: "string",
      jsonPath: '.status.conditions[?(@.type=="Complete")].status',
      description: "Whether the cache was cleared",
    },
    { name: "Duration", type: "string", jsonPath: ".status.duration", description: "Time from start to completion" },
    { name: "Attempts", type: "integer", jsonPath: ".status.attempts", description: "Calls that were begun" },
    {
      name: "Completed",
      type: "date",
      jsonPath: ".status.completionTime",
      description: "Time since the clear",
      priority: 1,
    },
    ...closingColumns,
  ],
  selectableFields: [".spec.instanceRef.name"],
  nameRules: [],
};
