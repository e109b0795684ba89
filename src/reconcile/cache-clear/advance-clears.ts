// One look at all cache clears of an instance: which are due, which wait, which are over. It brings the records up to date
// and tells of what was given up; calling the WAF and writing the status is left to others.
import type { DeclaredCacheClear } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { HandledTrigger } from "../../model/inventory.ts";
import { byAge, nameKey } from "../../model/resource.ts";
import { decideAttachment } from "../../plan/access/attach.ts";
import type { ClearDecision, ClearRecord, ClearTrouble } from "../../plan/cache-clear/cache-clear.ts";
import { decideCacheClear, recordAfter } from "../../plan/cache-clear/cache-clear.ts";
import { handledBy } from "../../plan/cache-clear/triggers.ts";
import { troubleOf } from "../status/trouble.ts";
import type { ClearMemory } from "./clear-records.ts";
import { keepRecord, keepRecordsOf, recordOf } from "./clear-records.ts";
import { lookAtRollouts } from "./rollout-clears.ts";
import type { RunFacts } from "../facts.ts";
import type { InstanceMemory } from "../converge/instance-memory.ts";
import type { ReconcilePorts, StatusPort } from "../ports.ts";

export interface ClearScene {
  readonly gathered: Gathered;
  /** Of the inventory; empty where it was not read. */
  readonly handled: readonly HandledTrigger[];
  readonly trouble: ClearTrouble | undefined;
  readonly nowMs: number;
}

export interface ClearLook {
  /** To be called for now, oldest first. */
  readonly due: readonly DeclaredCacheClear[];
  /** Not due yet, but a call for another one does for these too. */
  readonly waiting: readonly DeclaredCacheClear[];
  /** Those that finished by this look. */
  readonly finished: readonly DeclaredCacheClear[];
  /** Those that want to be deleted. */
  readonly outlived: readonly DeclaredCacheClear[];
  /** What the statuses say was handled. */
  readonly handled: readonly HandledTrigger[];
  /** When a look would decide something else; undefined if time alone changes nothing. */
  readonly nextMs: number | undefined;
}

/** Looks at every object that is attached and not being deleted. */
export function lookAtClears(status: StatusPort, memory: ClearMemory, scene: ClearScene): ClearLook {
  const { gathered, nowMs } = scene;
  const handledByName = new Map(scene.handled.map((item) => [item.cacheClear, item]));
  const groups = { due: [], waiting: [], finished: [], outlived: [] } as Record<
    "due" | "waiting" | "finished" | "outlived",
    DeclaredCacheClear[]
  >;
  const handled: HandledTrigger[] = [];
  let nextMs: number | undefined;
  keepRecordsOf(memory, gathered.cacheClears);
  for (const clear of gathered.cacheClears.filter((item) => isAttached(item, gathered))) {
    const name = nameKey(clear.meta);
    const before = recordOf(status, memory, clear);
    const decision = decideCacheClear({
      clear,
      record: before,
      handled: handledByName.get(name),
      instanceSuspended: gathered.instance.suspend,
      trouble: scene.trouble,
      notBeforeMs: memory.notBeforeMs,
      nowMs,
    });
    const record = recordAfter(decision, { clear, record: before, nowMs });
    keepRecord(memory, clear, record);
    const group = groupOf(decision);
    if (group !== undefined) groups[group].push(clear);
    if (group === "finished") tellFinish(status, clear, record);
    const done = handledBy(name, record);
    if (done !== undefined) handled.push(done);
    nextMs = earliest(nextMs, nextLookMs(clear, decision, nowMs));
  }
  return { ...groups, due: groups.due.toSorted((a, b) => byAge(a.meta, b.meta)), handled, nextMs };
}

/** The look at the end of a pass, or while the instance is left alone: what the end means for those that still wait. */
export function lookAtEnd(
  { status, clock }: Pick<ReconcilePorts, "status" | "clock">,
  { cacheClears }: Pick<InstanceMemory, "cacheClears">,
  facts: RunFacts,
): ClearLook {
  const { gathered, inventory } = facts;
  const trouble = clearTroubleOf(facts);
  const nowMs = clock.nowMs();
  const handled = inventory?.handledTriggers ?? [];
  const look = lookAtClears(status, cacheClears, { gathered, handled, trouble, nowMs });
  if (inventory === undefined) return look;
  const rollouts = lookAtRollouts(cacheClears, { gathered, records: inventory.rollouts, trouble, nowMs });
  return { ...look, nextMs: earliest(look.nextMs, rollouts.nextMs) };
}

/** Deletes the objects whose time after their finish is over, where objects can be deleted. */
export async function removeOutlived(
  { source, stopping }: Pick<ReconcilePorts, "source" | "stopping">,
  { outlived }: ClearLook,
): Promise<void> {
  for (const { meta } of outlived) {
    if (stopping.aborted) return;
    await source.removeObject?.(meta);
  }
}

/** What keeps the whole instance from being worked on, as it concerns cache clears. */
export function clearTroubleOf({ end, desired }: Pick<RunFacts, "result" | "desired">): ClearTrouble | undefined {
  const trouble = troubleOf({ end, desired });
  if (trouble === undefined) {
    if (!desired.instance.meta.deleting) return undefined;
    return { reason: undefined, message: "The instance is being deleted." };
  }
  const { reason, message } = trouble;
  const isFinal = reason === "BadApiKey" || reason === "MissingApiKey" || reason === "DomainChanged";
  return { reason: isFinal ? reason : undefined, message };
}

/** Tells the object's events of how it finished. */
export function tellFinish(status: StatusPort, clear: DeclaredCacheClear, { finish }: ClearRecord): void {
  switch (finish?.state) {
    case "Cleared":
    case "Coalesced": {
      const by = finish.state === "Coalesced" ? `, by the call for ${finish.with}` : "";
      const message = `The API has started to clear the cache${by}.`;
      status.event(clear.meta, { type: "Normal", reason: "CacheCleared", message });
      return;
    }
    case "Failed": {
      const message = `The cache was not cleared (${finish.reason}). ${finish.message}`;
      status.event(clear.meta, { type: "Warning", reason: "CacheClearFailed", message });
      return;
    }
    case "AlreadyHandled":
    case undefined:
      return;
  }
}

/** The earlier of two times, where undefined is never. */
export function earliest(aMs: number | undefined, bMs: number | undefined): number | undefined {
  if (aMs === undefined) return bMs;
  return bMs === undefined ? aMs : Math.min(aMs, bMs);
}

function isAttached({ meta }: DeclaredCacheClear, gathered: Gathered): boolean {
  if (meta.deleting) return false;
  const labels = gathered.namespaceLabels.get(meta.namespace);
  return decideAttachment(gathered.instance, meta.namespace, labels).state === "Allowed";
}

function groupOf({ decision }: ClearDecision): "due" | "waiting" | "finished" | "outlived" | undefined {
  switch (decision) {
    case "Due":
      return "due";
    case "Wait":
      return "waiting";
    case "AlreadyHandled":
    case "Fail":
      return "finished";
    case "Delete":
      return "outlived";
    case "Finished":
    case "Suspended":
      return undefined;
  }
}

function nextLookMs(clear: DeclaredCacheClear, decision: ClearDecision, nowMs: number): number | undefined {
  switch (decision.decision) {
    case "Due":
      return nowMs;
    case "Wait":
      return decision.untilMs;
    case "Finished":
      return decision.deleteAtMs;
    case "AlreadyHandled":
    case "Fail":
      return clear.ttlAfterFinishedMs === undefined ? undefined : nowMs + clear.ttlAfterFinishedMs;
    case "Delete":
    case "Suspended":
      return undefined;
  }
}
