// Advances all cache clears of an instance: determines which are due, waiting or finished, updates the records, and emits events
// for failed clears. The callers call the WAF and write the status.
import { earliest } from "../../async/earliest.ts";
import type { DeclaredCacheClear, Grant } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { HandledTrigger } from "../../model/inventory.ts";
import { byAge, nameKey } from "../../model/resource.ts";
import type { Attachment } from "../../model/attachment.ts";
import { decideAttachment } from "../../model/attachment.ts";
import type { ClearDecision, ClearRecord, ClearTrouble } from "../../plan/cache-clear/cache-clear.ts";
import { decideCacheClear, recordAfter } from "../../plan/cache-clear/cache-clear.ts";
import { handledBy } from "../../plan/cache-clear/triggers.ts";
import { troubleOf } from "../status/trouble.ts";
import type { ClearMemory } from "./clear-records.ts";
import { decideRollouts } from "./rollouts.ts";
import type { RunFacts } from "../facts.ts";
import type { ReconcilePorts, StatusPort } from "../ports.ts";

export interface ClearSituation {
  readonly gathered: Gathered;
  /** The handled triggers in the inventory; empty if the inventory was not read. */
  readonly handled: readonly HandledTrigger[];
  readonly trouble: ClearTrouble | undefined;
  readonly nowMs: number;
}

export interface AdvancedClears {
  /** Clears that need a call now, oldest first. */
  readonly due: readonly DeclaredCacheClear[];
  /** Clears that are not due yet. A call for another clear completes them too. */
  readonly waiting: readonly DeclaredCacheClear[];
  /** Clears that have just finished. */
  readonly finished: readonly DeclaredCacheClear[];
  /** Finished clears whose time to live has expired. */
  readonly outlived: readonly DeclaredCacheClear[];
  /** The triggers that were handled according to the records. */
  readonly handled: readonly HandledTrigger[];
  /** When a decision changes without a change of the objects; undefined if none does. */
  readonly nextMs: number | undefined;
}

/** Advances every object that is attached and not being deleted. */
export function advanceClears(status: StatusPort, memory: ClearMemory, scene: ClearSituation): AdvancedClears {
  const { gathered, nowMs } = scene;
  const handledByName = new Map(scene.handled.map((item) => [item.cacheClear, item]));
  const groups = { due: [], waiting: [], finished: [], outlived: [] } as Record<
    "due" | "waiting" | "finished" | "outlived",
    DeclaredCacheClear[]
  >;
  const handled: HandledTrigger[] = [];
  let nextMs: number | undefined;
  memory.keepOnly(gathered.cacheClears);
  for (const clear of gathered.cacheClears) {
    const attachment = attachmentOf(clear, gathered);
    if (attachment.state !== "Allowed" || clear.meta.deleting) continue;
    const name = nameKey(clear.meta);
    const before = memory.recordOf(status, clear);
    const decision = decideCacheClear({
      clear,
      record: before,
      handled: handledByName.get(name),
      instanceSuspended: gathered.instance.suspend,
      trouble: scene.trouble,
      notBeforeMs: Math.max(memory.notBefore(nowMs), guestNotBeforeMs(clear, attachment.grant, scene)),
      nowMs,
    });
    const record = recordAfter(decision, { clear, record: before, nowMs });
    memory.keep(clear, record);
    const group = groupOf(decision);
    if (group !== undefined) groups[group].push(clear);
    if (group === "finished") emitFinish(status, clear, record);
    const done = handledBy(name, record);
    if (done !== undefined) handled.push(done);
    nextMs = earliest(nextMs, nextDecisionMs(clear, decision, nowMs));
  }
  return { ...groups, due: groups.due.toSorted((a, b) => byAge(a.meta, b.meta)), handled, nextMs };
}

/** Advances the clears at the end of a run, or while the instance backs off. */
export function advanceClearsAtEnd(
  { status, clock }: Pick<ReconcilePorts, "status" | "clock">,
  memory: ClearMemory,
  facts: RunFacts,
): AdvancedClears {
  const { gathered, inventory } = facts;
  const trouble = clearTroubleOf(facts);
  const nowMs = clock.nowMs();
  const handled = inventory?.handledTriggers ?? [];
  const advanced = advanceClears(status, memory, { gathered, handled, trouble, nowMs });
  if (inventory === undefined) return advanced;
  const rollouts = decideRollouts(memory, { gathered, records: inventory.rollouts, trouble, nowMs });
  return { ...advanced, nextMs: earliest(advanced.nextMs, rollouts.dueMs) };
}

/** Deletes finished objects after their `ttlSecondsAfterFinished`, if the source supports this. */
export async function removeOutlived(
  { source, stopping }: Pick<ReconcilePorts, "source" | "stopping">,
  { outlived }: AdvancedClears,
): Promise<void> {
  for (const { meta } of outlived) {
    if (stopping.aborted) return;
    await source.removeObject?.(meta);
  }
}

/** Why the whole instance can't be reconciled, from the point of view of its cache clears. */
export function clearTroubleOf({ result, desired }: Pick<RunFacts, "result" | "desired">): ClearTrouble | undefined {
  const trouble = troubleOf({ result, desired });
  if (trouble === undefined) {
    if (!desired.instance.meta.deleting) return undefined;
    return { reason: undefined, message: "The instance is being deleted." };
  }
  const { reason, message, cause = message } = trouble;
  // A missing key is not final, because the Secret is often applied a moment after the instance.
  const isFinal = reason === "BadApiKey" || reason === "DomainChanged";
  return { reason: isFinal ? reason : undefined, message: cause };
}

/** Emits an event on the object about how it finished. */
export function emitFinish(status: StatusPort, clear: DeclaredCacheClear, { finish }: ClearRecord): void {
  switch (finish?.state) {
    case "Cleared":
    case "Coalesced": {
      const by = finish.state === "Coalesced" ? ` with the call for ${finish.with}` : "";
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

function attachmentOf({ meta }: DeclaredCacheClear, { instance, namespaceLabels }: Gathered): Attachment {
  return decideAttachment(instance, "WafCacheClear", meta.namespace, namespaceLabels.get(meta.namespace));
}

/**
 * Each guest namespace has a minimum time between two clears, including clears by the calls for other objects. A time that is
 * further ahead than this minimum was recorded before the clock was set back, and does not count.
 */
function guestNotBeforeMs(
  { meta }: DeclaredCacheClear,
  grant: Grant | undefined,
  { handled, nowMs }: Pick<ClearSituation, "handled" | "nowMs">,
): number {
  if (grant === undefined) return 0;
  const own = handled.filter(({ cacheClear }) => cacheClear.startsWith(`${meta.namespace}/`));
  const { cacheClearMinIntervalMs: intervalMs } = grant;
  const times = own.map(({ handledAtMs }) => handledAtMs).filter((atMs) => atMs <= nowMs + intervalMs);
  return times.reduce((latestMs, atMs) => Math.max(latestMs, atMs + intervalMs), 0);
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

function nextDecisionMs(clear: DeclaredCacheClear, decision: ClearDecision, nowMs: number): number | undefined {
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
