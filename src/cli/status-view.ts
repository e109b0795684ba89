// The data that `status` shows for one instance, as reported by the last or current run.
import type { Condition } from "../api/conditions.ts";
import { findCondition } from "../api/conditions.ts";
import type { HeldGroup, WafInstanceStatus } from "../api/waf-instance.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { ResourceMeta } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { InstanceSight } from "./targets/target.ts";

type ListCounts = NonNullable<WafInstanceStatus["blocklist"]>;

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
  /** The command that approves what is on hold. */
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

/** @param words how a command that plans names the same target */
export function viewStatus(sight: InstanceSight, words: (instance: DeclaredInstance) => string): StatusView {
  const { gathered, gaps } = sight;
  const { meta } = gathered.instance;
  const status = (sight.statusOf(meta) ?? {}) as Partial<WafInstanceStatus>;
  const { domain, blocklist, allowlist, lastSyncTime, removalsOnHold = [], heldPlan } = status;
  const attached = [...gathered.rules.map(({ rule }) => rule.meta), ...gathered.origins.map((origin) => origin.meta)];
  const isApprovable = heldPlan !== undefined && heldPlan !== "";
  return {
    instance: nameKey(meta),
    ...(domain === undefined ? {} : { domain }),
    ...conditionOf(status.conditions),
    ...(blocklist === undefined ? {} : { blocklist }),
    ...(allowlist === undefined ? {} : { allowlist }),
    ...(lastSyncTime === undefined ? {} : { lastSyncTime }),
    onHold: removalsOnHold,
    ...(isApprovable ? { approve: `wafsync approve ${words(gathered.instance)}--instance ${nameKey(meta)}` } : {}),
    objects: attached.map((object) => viewObject(object, sight)).filter(({ ready }) => ready !== "True"),
    rules: gathered.rules.filter(({ judged }) => judged === undefined).length,
    origins: gathered.origins.length,
    gaps,
  };
}

function viewObject(meta: ResourceMeta, sight: InstanceSight): ObjectStatusView {
  const status = sight.statusOf(meta) ?? {};
  const progress = status["progress"] ?? status["state"] ?? "";
  return {
    kind: meta.kind,
    name: nameKey(meta),
    progress: typeof progress === "string" ? progress : "",
    ...conditionOf(status["conditions"] as readonly Condition[] | undefined),
  };
}

function conditionOf(conditions: readonly Condition[] | undefined): Pick<StatusView, "ready" | "reason" | "message"> {
  const ready = findCondition(conditions ?? [], "Ready");
  if (ready === undefined) return { ready: "Unknown", reason: "", message: "No reconcile run has reported on it yet." };
  return { ready: ready.status, reason: ready.reason, message: ready.message };
}
