// Clears the cache for the WafCacheClear objects and the completed rollouts of one instance that are due, between the writes of
// its runs. One call serves all of them, including those that are waiting. Each attempt of an object is recorded before its call,
// so a killed process may clear once too often, but never misses a clear.
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import { earliest } from "../async/earliest.ts";
import { type Attachment, decideAttachment } from "../model/attachment.ts";
import type { DeclaredCacheClear } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import type { HandledTrigger, Inventory } from "../model/inventory.ts";
import { byAge, nameKey } from "../model/resource.ts";
import { listed } from "../model/sentence.ts";
import type { WafFault } from "../model/waf-result.ts";
import { workloadKey } from "../model/workload.ts";
import type { ObjectEvent, ReconcilePorts, RunHooks, StatusPort } from "../run/ports.ts";
import type { World } from "../run/world.ts";
import type { RunFacts, RunResult } from "../run/facts.ts";
import { troubleOf } from "../run/status/findings.ts";
import { writeStatus } from "../run/status/write-status.ts";
import {
  type ClearDecision,
  type ClearFinish,
  type ClearRecord,
  type ClearTrouble,
  decideAfterFault,
  decideCacheClear,
  guestNotBeforeMs,
  handledBy,
  rateLimitedMs,
  recordAfter,
  withAttempt,
  withHandled,
} from "./cache-clear.ts";
import { ClearMemory } from "./records.ts";
import type { RolloutClears } from "./rollouts.ts";
import { decideRollouts, rolloutFaultAfter, rolloutsIgnored, rolloutsStatus, withRolloutsCleared } from "./rollouts.ts";
import { cacheClearStatus } from "./status.ts";

/** Calls for one instance are at least this far apart, so that objects created one after another share the second call. */
const callIntervalMs = 2_000;
const workloadsNamedMax = 5;

interface ClearSituation {
  readonly gathered: Gathered;
  /** The handled triggers in the inventory; empty if the inventory was not read. */
  readonly handled: readonly HandledTrigger[];
  readonly trouble: ClearTrouble | undefined;
  readonly nowMs: number;
}

interface AdvancedClears {
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

interface Cleared {
  readonly all: readonly DeclaredCacheClear[];
  /** The object that the call was made for; undefined if it was made for a rollout. */
  readonly by: DeclaredCacheClear | undefined;
  /** The name of the object or workload that the call was made for. */
  readonly caller: string;
}

/** The cache clears of one instance, and what this process remembers of them. */
export class CacheClears implements RunHooks {
  readonly #memory = new ClearMemory();
  /** When the clears were last advanced, and for what: unless it changes, nothing is due before `nextMs`. */
  #advanced:
    | { readonly run: World; readonly gathered: Gathered; readonly atMs: number; readonly nextMs: number }
    | undefined;

  /**
   * Advances the cache clears if the declared state has changed or a scheduled time has come, and calls the WAF once if any clear
   * is due. Otherwise, it is cheap enough to be called before every write. Problems of the whole instance end the run.
   */
  async beforeWrite(run: World): Promise<RunResult | undefined> {
    const { ports } = run;
    const { gathered, desired, inventory } = run;
    if (gathered.instance.meta.deleting) return undefined;
    const nowMs = ports.clock.nowMs();
    const last = this.#advanced;
    // The clock may have been set back since.
    const isSame = last?.run === run && last.gathered === gathered && nowMs >= last.atMs;
    if (isSame && nowMs < last.nextMs) return undefined;
    const trouble = clearTroubleOf({ result: undefined, desired });
    const handled = inventory.handledTriggers;
    const clears = this.#advance(ports.status, { gathered, handled, trouble, nowMs });
    const rollouts = decideRollouts(this.#memory, { gathered, records: inventory.rollouts, trouble, nowMs });
    if (gathered.workloads === undefined) emitRolloutsIgnored(run);
    const nextMs = earliest(clears.nextMs, rollouts.dueMs) ?? Number.POSITIVE_INFINITY;
    this.#advanced = { run, gathered, atMs: nowMs, nextMs };
    const ended = await this.#remember(run, {
      handledTriggers: withHandled(handled, clears.handled, "Recalled"),
      rollouts: rollouts.records,
    });
    await this.#report(run, clears.finished);
    const isDue = clears.due.length > 0 || (rollouts.dueMs !== undefined && rollouts.dueMs <= nowMs);
    if (ended !== undefined || !isDue) return ended;
    if (ports.stopping.aborted) return { kind: "Interrupted" };
    // The first write of a process requires a fresh read, which may show that nothing is due.
    if (!run.isFresh) return (await run.confirm()) ?? (await run.record()) ?? (await this.beforeWrite(run));
    return this.#callOnce(run, clears, rollouts);
  }

  instanceStatus(before: Partial<WafInstanceStatus>, facts: RunFacts): Partial<WafInstanceStatus> {
    // While the inventory is unknown, the former value stays.
    if (facts.inventory === undefined) return { cacheClear: before.cacheClear };
    const trouble = clearTroubleOf(facts);
    return { cacheClear: rolloutsStatus(this.#memory, { ...facts, records: facts.inventory.rollouts, trouble }) };
  }

  async report(status: StatusPort, facts: RunFacts, clears = facts.gathered.cacheClears): Promise<void> {
    for (const clear of clears) {
      if (clear.meta.deleting || facts.gathered.instance.meta.deleting) continue;
      const record = this.#memory.recordOf(status, clear);
      await writeStatus(status, clear.meta, (before) => cacheClearStatus(before, clear, record, facts));
    }
  }

  atEnd({ status, clock, source, stopping }: ReconcilePorts, facts: RunFacts) {
    const { gathered, inventory } = facts;
    const trouble = clearTroubleOf(facts);
    const nowMs = clock.nowMs();
    const handled = inventory?.handledTriggers ?? [];
    const { due, waiting, outlived, nextMs } = this.#advance(status, { gathered, handled, trouble, nowMs });
    const rollouts =
      inventory && decideRollouts(this.#memory, { gathered, records: inventory.rollouts, trouble, nowMs });
    return {
      pending: [...due, ...waiting],
      wakeAtMs: earliest(nextMs, rollouts?.dueMs),
      afterReport: async () => {
        // If the source supports this.
        for (const { meta } of outlived) if (!stopping.aborted) await source.removeObject?.(meta);
      },
    };
  }

  /** Advances every object that is attached and not being deleted. */
  #advance(status: StatusPort, scene: ClearSituation): AdvancedClears {
    const { gathered, nowMs } = scene;
    const memory = this.#memory;
    const handledByName = new Map(scene.handled.map((item) => [item.cacheClear, item]));
    const groups: Record<Group, DeclaredCacheClear[]> = { due: [], waiting: [], finished: [], outlived: [] };
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
        notBeforeMs: Math.max(memory.notBefore(nowMs), guestNotBeforeMs(clear, attachment.grant, scene.handled, nowMs)),
        nowMs,
      });
      const record = recordAfter(decision, { clear, record: before, nowMs });
      memory.keep(clear, record);
      const { group, nextMs: ownMs } = consequencesOf(clear, decision, nowMs);
      if (group !== undefined) groups[group].push(clear);
      if (group === "finished") emitFinish(status, clear, record);
      const done = handledBy(name, record);
      if (done !== undefined) handled.push(done);
      nextMs = earliest(nextMs, ownMs);
    }
    return { ...groups, due: groups.due.toSorted((a, b) => byAge(a.meta, b.meta)), handled, nextMs };
  }

  async #callOnce(
    run: World,
    { due, waiting }: AdvancedClears,
    rollouts: RolloutClears,
  ): Promise<RunResult | undefined> {
    const { waf, ports } = run;
    const { clock, abandon, observer, stopping } = ports;
    for (const clear of due) this.#memory.keep(clear, withAttempt(this.#known(run, clear), clock.nowMs()));
    await this.#report(run, due);
    if (stopping.aborted) return { kind: "Interrupted" };
    const result = await waf.clearCache({ signal: abandon });
    const nowMs = clock.nowMs();
    this.#memory.wait(nowMs + callIntervalMs, nowMs);
    this.#advanced = undefined;
    observer.clearTried?.(run.name, due.length > 0 ? "WafCacheClear" : "Rollout", result.ok);
    if (!result.ok) return this.#settleFault(run, due, rollouts, result.fault);
    const caller = due[0] === undefined ? (namesOf(rollouts)[0] ?? "") : nameKey(due[0].meta);
    const cleared = { all: [...due, ...waiting], by: due[0], caller };
    return run.movedTo(result.value.domain) ?? this.#settleCleared(run, cleared, rollouts, nowMs);
  }

  /** One call clears everything, so all clears that were waiting when it began are complete. */
  async #settleCleared(
    run: World,
    { all, by, caller }: Cleared,
    rollouts: RolloutClears,
    nowMs: number,
  ): Promise<RunResult | undefined> {
    const times = { atMs: nowMs, clearedAtMs: nowMs };
    const finished = all.map((clear): readonly [DeclaredCacheClear, ClearRecord] => {
      const finish: ClearFinish =
        clear === by ? { state: "Cleared", ...times } : { state: "Coalesced", ...times, with: caller };
      return [clear, { ...this.#known(run, clear), message: "", finish }];
    });
    for (const [clear, record] of finished) this.#memory.keep(clear, record);
    const { ports, inventory } = run;
    const ended = await this.#remember(run, {
      handledTriggers: withHandled(inventory.handledTriggers, handledIn(finished), "Now"),
      rollouts: withRolloutsCleared(inventory.rollouts, rollouts, nowMs),
    });
    await this.#report(run, all);
    for (const [clear, record] of finished) emitFinish(ports.status, clear, record);
    this.#memory.rolloutFault = undefined;
    if (rollouts.pending.length > 0) {
      const message = `The API has started to clear the cache after the rollout of ${listed(namesOf(rollouts), workloadsNamedMax)}.`;
      emit(run, { type: "Normal", reason: "CacheCleared", message });
    }
    return ended;
  }

  async #settleFault(
    run: World,
    due: readonly DeclaredCacheClear[],
    rollouts: RolloutClears,
    fault: WafFault,
  ): Promise<RunResult | undefined> {
    const { clock, status, stopping } = run.ports;
    if (fault.code === "Aborted" || fault.code === "NotPermitted") return { kind: "Interrupted" };
    // The outcome of an abandoned call is unknown: the next process repeats it.
    if (stopping.aborted) return { kind: "Interrupted" };
    if (rollouts.pending.length > 0) this.#noteRolloutFault(run, rollouts, fault);
    for (const clear of due) {
      const nowMs = clock.nowMs();
      const { record, notBeforeMs } = decideAfterFault(clear, this.#known(run, clear), fault, nowMs);
      this.#memory.wait(notBeforeMs, nowMs);
      this.#memory.keep(clear, record);
      emitFinish(status, clear, record);
    }
    await this.#report(run, due);
    const isWrongKey = fault.code === "BadApiKey" || fault.code === "MissingApiKey";
    return isWrongKey ? { kind: "Failed", fault } : undefined;
  }

  /** Stores handled triggers and rollout attempts in the inventory, before wafsync acts on them. */
  async #remember(run: World, next: Pick<Inventory, "handledTriggers" | "rollouts">): Promise<RunResult | undefined> {
    const { inventory } = run;
    if (next.handledTriggers === inventory.handledTriggers && next.rollouts === inventory.rollouts) return undefined;
    this.#memory.unsavedRollouts = next.rollouts;
    await run.learn({ inventory: { ...inventory, ...next } });
    const ended = await run.record();
    if (ended === undefined) this.#memory.unsavedRollouts = undefined;
    return ended;
  }

  /** Returns the record of the object, which every advanced object has. */
  #known(run: World, clear: DeclaredCacheClear): ClearRecord {
    const record = this.#memory.recordOf(run.ports.status, clear);
    if (record === undefined) throw new Error(`WafCacheClear ${nameKey(clear.meta)} has no record`);
    return record;
  }

  /** A failed call for rollouts is retried with backoff; only a different failure is another event. */
  #noteRolloutFault(run: World, rollouts: RolloutClears, fault: WafFault): void {
    const before = this.#memory.rolloutFault;
    const nowMs = run.ports.clock.nowMs();
    this.#memory.rolloutFault = rolloutFaultAfter(before, fault, nowMs);
    this.#memory.wait(nowMs + (fault.retryAfterMs ?? (fault.code === "RateLimited" ? rateLimitedMs : 0)), nowMs);
    if (before?.code === fault.code) return;
    const message = `The cache was not cleared after the rollout of ${listed(namesOf(rollouts), workloadsNamedMax)}; wafsync retries. ${fault.message}`;
    emit(run, { type: "Warning", reason: "CacheClearFailed", message });
  }

  async #report(run: World, clears: readonly DeclaredCacheClear[]): Promise<void> {
    if (clears.length > 0) await this.report(run.ports.status, await run.facts("Applying"), clears);
  }
}

/** Why the whole instance can't be reconciled, from the point of view of its cache clears. */
export function clearTroubleOf({ result, desired }: Pick<RunFacts, "result" | "desired">): ClearTrouble | undefined {
  const trouble = troubleOf({ result, desired });
  if (trouble === undefined) {
    if (!desired.instance.meta.deleting) return undefined;
    return { isPermanent: false, message: "The instance is being deleted." };
  }
  const { message, cause = message } = trouble;
  // A missing key is not permanent, because the Secret is often applied a moment after the instance.
  const isPermanent =
    result?.kind === "Failed"
      ? result.fault.code === "BadApiKey"
      : result?.kind === "Blocked" && result.blocker === "DomainChanged";
  return { isPermanent, message: cause };
}

/** Emits an event on the object about how it finished. */
function emitFinish(status: StatusPort, clear: DeclaredCacheClear, { finish }: ClearRecord): void {
  switch (finish?.state) {
    case "Cleared":
    case "Coalesced": {
      const by = finish.state === "Coalesced" ? ` with the call for ${finish.with}` : "";
      const message = `The API has started to clear the cache${by}.`;
      status.event(clear.meta, { type: "Normal", reason: "CacheCleared", message });
      return;
    }
    case "Failed": {
      const message = `The cache was not cleared. ${finish.message}`;
      status.event(clear.meta, { type: "Warning", reason: "CacheClearFailed", message });
      return;
    }
    case "AlreadyHandled":
    case undefined:
      return;
  }
}

function handledIn(finished: readonly (readonly [DeclaredCacheClear, ClearRecord])[]) {
  return finished.flatMap(([clear, record]) => handledBy(nameKey(clear.meta), record) ?? []);
}

/** Outside a cluster, warns once that afterRolloutOf has no effect. */
function emitRolloutsIgnored(run: World): void {
  const { afterRolloutOf } = run.gathered.instance.cacheClear;
  if (afterRolloutOf.length === 0 || !run.memory.emitted.isNew("rolloutsIgnored", "ignored")) return;
  emit(run, { type: "Warning", reason: "RolloutsIgnored", message: rolloutsIgnored });
}

function namesOf({ pending }: RolloutClears): string[] {
  return pending.map(({ workload }) => workloadKey(workload));
}

function emit({ ports, gathered }: World, event: ObjectEvent): void {
  ports.status.event(gathered.instance.meta, event);
}

function attachmentOf({ meta }: DeclaredCacheClear, { instance, namespaceLabels }: Gathered): Attachment {
  return decideAttachment(instance, "WafCacheClear", meta.namespace, namespaceLabels.get(meta.namespace));
}

type Group = "due" | "waiting" | "finished" | "outlived";

/** The group of the object after the decision, and when the next one changes without a change of the object. */
function consequencesOf(
  { ttlAfterFinishedMs }: DeclaredCacheClear,
  decision: ClearDecision,
  nowMs: number,
): { readonly group?: Group; readonly nextMs?: number | undefined } {
  switch (decision.decision) {
    case "Due":
      return { group: "due", nextMs: nowMs };
    case "Wait":
      return { group: "waiting", nextMs: decision.untilMs };
    case "Finished":
      return { nextMs: decision.deleteAtMs };
    case "AlreadyHandled":
    case "Fail":
      return { group: "finished", nextMs: ttlAfterFinishedMs === undefined ? undefined : nowMs + ttlAfterFinishedMs };
    case "Delete":
      return { group: "outlived" };
    case "Suspended":
      return {};
  }
}
