// The conditions of a status: their shape, and the one way to change them.
// `lastTransitionTime` changes only when `status` changes, as in Kubernetes' own controllers.
import { isDeepStrictEqual } from "node:util";
import { formatTime, shortened } from "../model/texts.ts";
import * as z from "zod";
import { conditionStatuses, type ConditionStatus, type ConditionType, type ReasonOf } from "./reasons.ts";
import { dateTime } from "./schema-parts.ts";

const messageLengthMax = 32_768;
const conditionsMax = 16;

const condition = z.object({
  type: z.string().min(1).max(316).describe("The type of the condition."),
  status: z.enum(conditionStatuses).describe("Whether the condition is met."),
  reason: z.string().min(1).max(1024).describe("The reason, as one word for programs."),
  message: z.string().max(messageLengthMax).describe("The reason, as a sentence for people."),
  lastTransitionTime: dateTime.describe("When `status` last changed."),
  observedGeneration: z.int().min(0).optional().describe("The `metadata.generation` that the condition is based on."),
});

const conditions = z
  .array(condition)
  .max(conditionsMax)
  .default([])
  .meta({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] })
  .describe("The current conditions of this object. See the conditions reference.");

const commonStatus = {
  observedGeneration: z
    .int()
    .default(-1)
    .meta({ format: "int64" })
    .describe("The `metadata.generation` that this status is based on, or -1 before the first reconcile run."),
  lastHandledRequest: z
    .string()
    .max(1024)
    .optional()
    .describe("The last value of the annotation `wafsync.dev/requested-at` that wafsync handled."),
  conditions,
};

/** A status with these fields, after those of every status. It is parsed leniently, because a newer version may have written it. */
export function statusSchema<Shape extends z.core.$ZodLooseShape>(description: string, fields: Shape) {
  const status = z.object({ ...commonStatus, ...fields });
  const empty = { observedGeneration: -1 } as z.input<typeof status>;
  return status.prefault(empty).describe(description);
}

/** A condition in a status. */
export type Condition = Readonly<z.output<typeof condition>>;

export function findCondition(conditions: readonly Condition[], type: ConditionType): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

/** The conditions to set, by their type: only published pairs of type and reason compile. A condition that is undefined is removed. */
export type NewConditions = {
  readonly [Type in ConditionType]?:
    | { readonly status: ConditionStatus; readonly reason: ReasonOf<Type>; readonly message: string }
    | undefined;
};

/**
 * Sets conditions in place, adds new ones, and removes others. What does not change stays the same object, also the whole list.
 * `nowMs` becomes the transition time, to the second, of a condition that is new or whose status differs.
 */
export function withConditions(
  before: readonly Condition[],
  next: NewConditions,
  observedGeneration: number,
  nowMs: number,
): readonly Condition[] {
  return Object.entries(next).reduce((conditions, [name, condition]) => {
    const type = name as ConditionType;
    const known = findCondition(conditions, type);
    if (condition === undefined) return known === undefined ? conditions : conditions.filter((one) => one !== known);
    const { status, reason } = condition;
    const message = shortened(condition.message, messageLengthMax);
    const lastTransitionTime = known?.status === status ? known.lastTransitionTime : formatTime(nowMs);
    const after: Condition = { type, status, reason, message, lastTransitionTime, observedGeneration };
    if (known === undefined) return [...conditions, after];
    return isDeepStrictEqual(known, after) ? conditions : conditions.with(conditions.indexOf(known), after);
  }, before);
}

/** What a condition says whose reason is also that of Ready: the same sentence never stands in two conditions. */
export const seeReady = "See the condition Ready.";

/** Conditions that outlast Ready with these reasons. They keep their details, and Ready points to them. */
const lasting: Readonly<Record<string, ConditionType>> = { Held: "RemovalsHeld", SourceBroken: "SourceBroken" };

/** The message with the details about a condition; undefined if the condition is absent. */
export function detailOf(conditions: readonly Condition[], type: ConditionType): string | undefined {
  const condition = findCondition(conditions, type);
  const ready = findCondition(conditions, "Ready");
  if (ready === undefined || condition?.reason !== ready.reason) return condition?.message;
  return (findCondition(conditions, lasting[ready.reason] ?? "Ready") ?? ready).message;
}

/**
 * Returns the conditions for a status that was derived from an older version than `current`, which it replaces. A condition with
 * the same status as in `current` keeps its transition time.
 */
export function withTransitionTimesOf(next: readonly Condition[], current: readonly Condition[]): Condition[] {
  return next.map((condition) => {
    const before = current.find(({ type }) => type === condition.type);
    if (before === undefined || before.status !== condition.status) return condition;
    return { ...condition, lastTransitionTime: before.lastTransitionTime };
  });
}
