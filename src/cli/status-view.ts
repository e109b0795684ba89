// The data that `status` shows for one instance, as reported by the last or current run.
import type { Condition } from "../api/conditions.ts";
import { findCondition } from "../api/conditions.ts";
import type { HeldGroup, WafInstanceStatus } from "../api/waf-instance.ts";
import type { ObjectName, ResourceRef } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { approveCommand } from "./hold-lines.ts";

type ListCounts = NonNullable<WafInstanceStatus["blocklist"]>;

/** The objects to show, with their reported statuses. */
export interface StatusSubject {
  readonly instance: ObjectName;
  readonly rules: readonly ResourceRef[];
  readonly origins: readonly ResourceRef[];
  readonly statusOf: (object: ResourceRef) => Readonly<Record<string, unknown>> | undefined;
  readonly gaps: readonly string[];
  /** The options that select the same target in suggested commands that plan. */
  readonly words: string;
}

export interface StatusView {
  readonly instance: string;
  readonly domain?: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly blocklist?: ListCounts;
  readonly allowlist?: ListCounts;
  readonly lastSyncTime?: string;
  readonly onHold: readonly HeldGroup[];
  /** The command that approves the removals on hold. */
  readonly approve?: string;
  /** Rules and origins that are not Ready. */
  readonly objects: readonly ObjectStatusView[];
  readonly rules: number;
  readonly origins: number;
  readonly gaps: readonly string[];
}

export interface ObjectStatusView {
  readonly kind: string;
  readonly name: string;
  readonly progress: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
}

export function viewStatus({ instance, rules, origins, statusOf, gaps, words }: StatusSubject): StatusView {
  const status = (statusOf({ kind: "WafInstance", ...instance }) ?? {}) as Partial<WafInstanceStatus>;
  const { domain, blocklist, allowlist, lastSyncTime, removalsOnHold = [], heldPlan } = status;
  const isApprovable = heldPlan !== undefined && heldPlan !== "";
  return {
    instance: nameKey(instance),
    ...(domain === undefined ? {} : { domain }),
    ...conditionOf(status.conditions),
    ...(blocklist === undefined ? {} : { blocklist }),
    ...(allowlist === undefined ? {} : { allowlist }),
    ...(lastSyncTime === undefined ? {} : { lastSyncTime }),
    onHold: removalsOnHold,
    ...(isApprovable ? { approve: approveCommand(words, instance) } : {}),
    objects: [...rules, ...origins]
      .map((object) => viewObject(object, statusOf(object) ?? {}))
      .filter(({ ready }) => ready !== "True"),
    rules: rules.filter(({ kind }) => kind === "WafIpRule").length,
    origins: origins.length,
    gaps,
  };
}

function viewObject(object: ResourceRef, status: Readonly<Record<string, unknown>>): ObjectStatusView {
  const progress = status["progress"] ?? status["state"] ?? "";
  return {
    kind: object.kind,
    name: nameKey(object),
    progress: typeof progress === "string" ? progress : "",
    ...conditionOf(status["conditions"] as readonly Condition[] | undefined),
  };
}

/** The status, reason and message of the condition `Ready`. */
export function conditionOf(
  conditions: readonly Condition[] | undefined,
): Pick<StatusView, "ready" | "reason" | "message"> {
  const ready = findCondition(conditions ?? [], "Ready");
  if (ready === undefined) return { ready: "Unknown", reason: "", message: "No reconcile run has reported on it yet." };
  return { ready: ready.status, reason: ready.reason, message: ready.message };
}
