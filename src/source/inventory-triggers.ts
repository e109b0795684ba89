// The lines of an inventory that record handled cache clears: those of WafCacheClear objects, and those of rollouts.
import type { HandledTrigger } from "../model/inventory.ts";
import type { RolloutRecord } from "../model/workload.ts";
import { decodeJsonLine, decodeTime, encodeJsonLine, encodeTime } from "./inventory-lines.ts";

const rolloutFields = [
  "workload",
  "uid",
  "revision",
  "content",
  "begun",
  "clearedAt",
  "attempts",
  "attemptedAt",
] as const;

export function triggerLine({ cacheClear, trigger, handledAtMs }: HandledTrigger): string {
  return encodeJsonLine({ cacheClear, trigger, handledAt: encodeTime(handledAtMs) });
}

export function rolloutLine(record: RolloutRecord): string {
  const { workload, uid, revision, content, hasBegun, attempts } = record;
  return encodeJsonLine({
    workload,
    uid,
    revision,
    content,
    begun: String(hasBegun),
    clearedAt: optionalTime(record.clearedAtMs),
    attempts: String(attempts),
    attemptedAt: optionalTime(record.attemptedAtMs),
  });
}

/** Adds a line of either type; false if it is invalid. */
export function readTriggerLine(
  line: string,
  into: { readonly handledTriggers: HandledTrigger[]; readonly rollouts: RolloutRecord[] },
): boolean {
  const rollout = readRollout(line);
  if (rollout !== undefined) into.rollouts.push(rollout);
  const trigger = rollout === undefined ? readTrigger(line) : undefined;
  if (trigger !== undefined) into.handledTriggers.push(trigger);
  return rollout !== undefined || trigger !== undefined;
}

function readTrigger(line: string): HandledTrigger | undefined {
  const fields = decodeJsonLine(line, ["cacheClear", "trigger", "handledAt"]);
  const handledAtMs = decodeTime(fields?.["handledAt"]);
  if (fields === undefined || handledAtMs === null) return undefined;
  const { cacheClear, trigger } = fields as Record<"cacheClear" | "trigger", string>;
  return { cacheClear, trigger, handledAtMs };
}

function readRollout(line: string): RolloutRecord | undefined {
  const fields = decodeJsonLine(line, rolloutFields) as Record<(typeof rolloutFields)[number], string> | undefined;
  if (fields === undefined) return undefined;
  const { workload, uid, revision, content, begun } = fields;
  const clearedAtMs = fields.clearedAt === "" ? undefined : decodeTime(fields.clearedAt);
  const attemptedAtMs = fields.attemptedAt === "" ? undefined : decodeTime(fields.attemptedAt);
  const isUnderstood = /^(?:true|false)$/.test(begun) && /^[0-9]{1,9}$/.test(fields.attempts);
  if (!isUnderstood || clearedAtMs === null || attemptedAtMs === null) return undefined;
  const attempts = Number(fields.attempts);
  return { workload, uid, revision, content, hasBegun: begun === "true", clearedAtMs, attempts, attemptedAtMs };
}

function optionalTime(timeMs: number | undefined): string {
  return timeMs === undefined ? "" : encodeTime(timeMs);
}
