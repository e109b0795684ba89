// Clears the cache for the WafCacheClear objects and the completed rollouts of one instance that are due, between the writes of
// its runs. One call serves all of them, including those that are waiting. Each attempt of an object is recorded before its call,
// so a killed process may clear once too often, but never misses a clear.
import type { WafInstanceStatus } from "../kinds/waf-instance.ts";
import { attachmentOf, type Attachment, type Gathered } from "../model/gathered.ts";
import type { DeclaredCacheClear, Grant } from "../model/declared.ts";
import type { HandledTrigger } from "../model/inventory.ts";
import { byAge } from "../model/resource.ts";
import type { WafFault } from "../model/waf-result.ts";
import type { HooksEnd, HookStep, ReportedObject, RunHooks, StatusPort } from "../run/ports.ts";
import type { World } from "../run/world.ts";
import type { RunFacts } from "../run/facts.ts";
import { emitChange } from "../run/status/events.ts";
import { troubleOf, accepted, type Finding, forPerson, withFindings } from "../run/status/messages.ts";
import { writeStatus } from "../run/status/write-status.ts";
import {
  advanceClear,
  type AdvancedClear,
  afterFault,
  type ClearFinish,
  type ClearInterval,
  type ClearRecord,
  type ClearTrouble,
  isWorkload,
  notBeforeMs,
  pauseMsAfter,
  sameOr,
  startedRecord,
  withAttempt,
  withHandled,
  currentRecord,
} from "./cache-clear.ts";
import { ClearMemory, handledBy } from "./records.ts";
import { clearName, observeRollouts, rolloutClears, rolloutsIgnored, rolloutsStatus } from "./rollouts.ts";
import { formatTime, shortened } from "../model/texts.ts";
import { seeReady } from "../kinds/conditions.ts";
import { formatDuration } from "../kinds/durations.ts";
import type { ReasonOf } from "../kinds/reasons.ts";
import type { WafCacheClearStatus } from "../kinds/waf-cache-clear.ts";

/** Calls for one instance are at least this far apart, so that objects created one after another share the second call. */
const callIntervalMs = 2_000;

type ClearFacts = Pick<RunFacts, "gathered" | "desired" | "inventory" | "result" | "nowMs">;

interface AdvancedClears {
  /** Clears that need a call now: those of objects, oldest first, and then those after rollouts. */
  readonly due: readonly DeclaredCacheClear[];
  /** Clears that are not due yet. A call for another clear completes them too. */
  readonly waiting: readonly DeclaredCacheClear[];
  /** Clears that have just finished. */
  readonly finished: readonly DeclaredCacheClear[];
  /** Finished clears whose time to live has expired. */
  readonly outlived: readonly DeclaredCacheClear[];
  /** The triggers that are handled now. */
  readonly handled: readonly HandledTrigger[];
  /** When a decision changes without a change of the objects; infinite if none does. */
  readonly nextMs: number;
}

/** The cache clears of one instance, and what this process remembers of them. */
export class CacheClears implements RunHooks {
  readonly #memory = new ClearMemory();
  /** When the clears were last advanced, and for what: unless it changes, nothing is due before `nextMs`. */
  #advanced:
    | { readonly run: World; readonly gathered: Gathered; readonly atMs: number; readonly nextMs: number }
    | undefined;
  /** The run that was last told to save something. */
  #learnedIn: World | undefined;

  /**
   * Advances the cache clears if the declared state has changed or a scheduled time has come, and calls the WAF once if any clear
   * is due. Otherwise, it is cheap enough to be called before every write. Problems of the whole instance end the run.
   */
  async beforeWrite(run: World): Promise<HookStep | undefined> {
    const { ports, gathered, desired, inventory } = run;
    if (gathered.instance.meta.deleting) return undefined;
    // A run saves what it has learned before it calls this again.
    if (this.#learnedIn === run) this.#memory.unsavedRollouts = [];
    const nowMs = ports.clock.nowMs();
    const last = this.#advanced;
    // The clock may have been set back since.
    const isSame = last?.run === run && last.gathered === gathered && nowMs >= last.atMs;
    if (isSame && nowMs < last.nextMs) return undefined;
    const clears = this.#advance(ports.status, { gathered, desired, inventory, result: undefined, nowMs });
    this.#advanced = { run, gathered, atMs: nowMs, nextMs: clears.nextMs };
    emitChange(run, gathered.instance.meta, "rolloutsIgnored", rolloutsIgnored(gathered));
    await this.#report(run, clears.finished);
    const learned = await this.#learned(run, clears.handled);
    if (learned !== undefined || clears.due.length === 0) return learned;
    if (ports.stopping.aborted) return { kind: "Interrupted" };
    // A fresh read may show that nothing is due.
    return run.isFresh ? await this.#callOnce(run, clears) : ((await run.confirm()) ?? "Again");
  }

  report(facts: RunFacts): ReturnType<RunHooks["report"]> {
    const { gathered, nowMs } = facts;
    const scene = { instanceSuspended: gathered.instance.suspend, trouble: troubleOf(facts)?.message, nowMs };
    const objects = gathered.cacheClears.filter(({ meta }) => !meta.deleting);
    return {
      instance: this.#instanceStatus(facts),
      objects: objects.map((clear): ReportedObject => {
        const attachment = attachmentOf(gathered, clear.meta);
        const record = (before: object) => this.#memory.recordIn(clear, before);
        return [clear.meta, (before) => cacheClearStatus(before, clear, record(before), attachment, scene)];
      }),
    };
  }

  #instanceStatus(facts: RunFacts): Partial<WafInstanceStatus> {
    // While the inventory is unknown, the former value stays.
    if (facts.inventory === undefined) return {};
    const failureOf = (clear: DeclaredCacheClear): string => this.#memory.recordIn(clear, undefined)?.message ?? "";
    return { rollouts: rolloutsStatus(facts.gathered, this.#handledIn(facts), failureOf) };
  }

  atEnd(status: StatusPort, facts: RunFacts): HooksEnd {
    // All that a run knows takes a lot of memory.
    this.#advanced = undefined;
    this.#learnedIn = undefined;
    const { due, waiting, outlived, nextMs } = this.#advance(status, facts);
    const wakeAtMs = Number.isFinite(nextMs) ? nextMs : undefined;
    return { pending: [...due, ...waiting], wakeAtMs, expired: outlived.map(({ meta }) => meta) };
  }

  /** The handled triggers in the inventory, with the rollouts that were observed since; empty if the inventory was not read. */
  #handledIn({ gathered, inventory }: ClearFacts): readonly HandledTrigger[] {
    return observeRollouts(gathered, [...(inventory?.handledTriggers ?? []), ...this.#memory.unsavedRollouts]);
  }

  /** Advances every object that is attached and not being deleted, and every rollout. */
  #advance(status: StatusPort, facts: ClearFacts): AdvancedClears {
    const { gathered, nowMs } = facts;
    const before = this.#handledIn(facts);
    const trouble = clearTroubleOf(facts);
    const memory = this.#memory;
    const groups: Record<NonNullable<AdvancedClear["group"]>, DeclaredCacheClear[]> = {
      due: [],
      waiting: [],
      finished: [],
      outlived: [],
    };
    const known = new Map(before.map((item) => [item.cacheClear, item]));
    const handled: HandledTrigger[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    const objects = gathered.cacheClears.toSorted((a, b) => byAge(a.meta, b.meta));
    const clears = [...objects, ...rolloutClears(gathered, before)];
    memory.keepOnly(clears);
    for (const clear of clears) {
      const attachment = attachmentOf(gathered, clear.meta);
      if (clear.meta.deleting || attachment.state !== "Allowed") continue;
      const notBefore = notBeforeMs(before, intervalOf(clear, attachment.grant, gathered), nowMs);
      const advanced = advanceClear({
        clear,
        record: memory.recordOf(clear, status),
        handled: known.get(clearName(clear)),
        instanceSuspended: gathered.instance.suspend,
        trouble,
        notBeforeMs: Math.max(memory.notBefore(nowMs), notBefore),
        nowMs,
      });
      const { group, record } = advanced;
      memory.keep(clear, record);
      if (group !== undefined) groups[group].push(clear);
      if (group === "finished") emitFinish(status, clear, record);
      handled.push(...handledBy(clear, record));
      nextMs = Math.min(nextMs, advanced.nextMs);
    }
    return { ...groups, handled: withHandled(before, handled, "Recalled"), nextMs };
  }

  async #callOnce(run: World, { due, waiting }: AdvancedClears): Promise<HookStep | undefined> {
    const { waf, ports } = run;
    const { clock, abandon, observer, stopping } = ports;
    if (!due.every(({ meta }) => run.permits({ kind: "ClearCache", clear: meta }))) return { kind: "Interrupted" };
    for (const clear of due) this.#memory.keep(clear, withAttempt(this.#known(run, clear), clock.nowMs()));
    await this.#report(run, due);
    if (stopping.aborted) return { kind: "Interrupted" };
    const answer = await waf.clearCache({ signal: abandon });
    const nowMs = clock.nowMs();
    this.#memory.wait(nowMs + callIntervalMs, nowMs);
    this.#advanced = undefined;
    // Those of objects come first.
    observer.clearTried?.(run.name, due[0]?.workload === undefined ? "WafCacheClear" : "Rollout", answer.ok);
    if (!answer.ok) return this.#settleFault(run, due, answer.fault);
    return run.movedTo(answer.value.domain) ?? (await this.#settleCleared(run, [...due, ...waiting], nowMs));
  }

  /** One call, made for the first of them, clears everything, so all clears that were waiting when it began are complete. */
  async #settleCleared(
    run: World,
    clears: readonly DeclaredCacheClear[],
    nowMs: number,
  ): Promise<HookStep | undefined> {
    const [by] = clears;
    const handled: HandledTrigger[] = [];
    for (const clear of clears) {
      const other = by === undefined || clear === by ? undefined : clearName(by);
      const finish: ClearFinish = { state: "Cleared", atMs: nowMs, clearedAtMs: nowMs, with: other };
      const record = { ...this.#known(run, clear), message: "", finish };
      this.#memory.keep(clear, record);
      emitFinish(run.ports.status, clear, record);
      handled.push(...handledBy(clear, record));
    }
    emitChange(run, run.gathered.instance.meta, "rolloutClear", undefined);
    await this.#report(run, clears);
    return await this.#learned(run, withHandled(run.inventory.handledTriggers, handled, "Now"));
  }

  async #settleFault(run: World, due: readonly DeclaredCacheClear[], fault: WafFault): Promise<HookStep | undefined> {
    const { clock, status, stopping } = run.ports;
    // The outcome of an abandoned call is unknown: the next process repeats it.
    if (fault.code === "Aborted" || fault.code === "NotPermitted" || stopping.aborted) return { kind: "Interrupted" };
    const nowMs = clock.nowMs();
    this.#memory.wait(nowMs + pauseMsAfter(fault), nowMs);
    for (const clear of due) {
      const record = afterFault(clear, this.#known(run, clear), fault, nowMs);
      const { meta, workload } = clear;
      this.#memory.keep(clear, workload === undefined ? record : { ...record, finish: undefined });
      if (workload === undefined) emitFinish(status, clear, record);
      else {
        const message = `The cache was not cleared after the rollout of ${workload}; wafsync retries. ${fault.message}`;
        // Only a different failure is another event.
        emitChange(run, meta, "rolloutClear", { reason: "CacheClearFailed", message, identity: fault.code });
      }
    }
    await this.#report(run, due);
    return fault.code === "BadApiKey" ? { kind: "Failed", fault } : undefined;
  }

  /** Handled triggers and observed rollouts are saved in the inventory before wafsync acts on them. */
  async #learned(run: World, handledTriggers: readonly HandledTrigger[]): Promise<HookStep | undefined> {
    const { inventory } = run;
    if (sameOr(inventory.handledTriggers, handledTriggers) === inventory.handledTriggers) return undefined;
    this.#learnedIn = run;
    this.#memory.unsavedRollouts = handledTriggers.filter(({ cacheClear }) => isWorkload(cacheClear));
    await run.follow({ ...inventory, handledTriggers });
    return "Again";
  }

  #known({ ports }: World, clear: DeclaredCacheClear): ClearRecord {
    return startedRecord(clear, this.#memory.recordOf(clear, ports.status));
  }

  async #report(run: World, clears: readonly DeclaredCacheClear[]): Promise<void> {
    if (clears.length === 0) return;
    const changed = new Set(clears.map(({ meta }) => meta));
    const { objects } = this.report(await run.facts());
    for (const [meta, after] of objects) if (changed.has(meta)) await writeStatus(run.ports.status, meta, after);
  }
}

/** Why the whole instance can't be reconciled, from the point of view of its cache clears. */
function clearTroubleOf({ result, desired }: Pick<RunFacts, "result" | "desired">): ClearTrouble | undefined {
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

/** Emits an event about how the clear finished on its object, or on the instance. */
function emitFinish(status: StatusPort, clear: DeclaredCacheClear, { finish, attempts }: ClearRecord): void {
  if (finish === undefined) return;
  if (finish.state === "Failed") {
    const message = `The cache was not cleared. ${finish.message}`;
    status.event(clear.meta, { type: "Warning", reason: "CacheClearFailed", message });
    return;
  }
  // The cache was not cleared again.
  if (finish.with === undefined && attempts === 0) return;
  const by = finish.with === undefined ? "" : ` with the call for ${finish.with}`;
  const after = clear.workload === undefined ? "" : ` after the rollout of ${clear.workload}`;
  const message = `The API has started to clear the cache${after}${by}.`;
  status.event(clear.meta, { type: "Normal", reason: "CacheCleared", message });
}

/** Clears that count for this one: those after rollouts, or those of the guest's namespace. */
function intervalOf(clear: DeclaredCacheClear, grant: Grant | undefined, { instance }: Gathered): ClearInterval {
  if (clear.workload !== undefined) return { ms: instance.cacheClear.minIntervalMs, counts: isWorkload };
  const counts = (cacheClear: string): boolean => cacheClear.startsWith(`${clear.meta.namespace}/`);
  return { ms: grant?.cacheClearMinIntervalMs ?? 0, counts };
}

// The status of a WafCacheClear, like that of a Job: `kubectl wait --for=condition=Complete` and kstatus both understand it.
//
//   Complete is True when the cache was cleared; Failed is True when wafsync has given up. With Complete, Ready is True. With
//   Failed, Ready is False and Stalled is True, because only a person can help. Until then, Ready is Unknown.

const messageLengthMax = 1024;

type ClearFinding = Finding<ReasonOf<"Complete">>;

/** What all clears of an instance have in common. */
interface ClearScene {
  readonly instanceSuspended: boolean;
  /** What troubles the whole instance, as a sentence. */
  readonly trouble: string | undefined;
  readonly nowMs: number;
}

/** Returns the complete next status. `known` is the record of the object, for any trigger. */
function cacheClearStatus(
  before: Partial<WafCacheClearStatus>,
  clear: DeclaredCacheClear,
  known: ClearRecord | undefined,
  attachment: Attachment,
  scene: ClearScene,
): Partial<WafCacheClearStatus> {
  const record = currentRecord(clear, known);
  const isAttached = attachment.state === "Allowed";
  // A finished clear needs nothing from its instance.
  const isAccepted = isAttached || record?.finish !== undefined;
  const found = assessClear(clear, record, isAttached, scene);
  const assessment = {
    accepted: isAccepted ? accepted : ({ status: "False", reason: "NotAllowed", message: attachment.message } as const),
    found,
    others: {
      Failed:
        found.reason === "Failed" ? ({ status: "True", reason: "Failed", message: seeReady } as const) : undefined,
    },
  };
  return { ...withFindings(before, clear.meta, "Complete", assessment, scene.nowMs), ...recordPart(record, found) };
}

function recordPart(record: ClearRecord | undefined, finding: ClearFinding): Partial<WafCacheClearStatus> {
  const finish = record?.finish;
  const message = finish === undefined ? (record?.message ?? "") : finding.message;
  const isCleared = finish?.state === "Cleared";
  return {
    startTime: formatTime(record?.startedMs),
    completionTime: isCleared ? formatTime(finish.clearedAtMs) : undefined,
    duration: isCleared ? durationOf(record?.startedMs, finish.clearedAtMs) : undefined,
    attempts: record?.attempts,
    lastAttemptTime: formatTime(record?.lastAttemptMs),
    message: message === "" ? undefined : shortened(message, messageLengthMax),
    lastTrigger: record === undefined || record.trigger === "" ? undefined : record.trigger,
    coalescedWith: isCleared ? finish.with : undefined,
  };
}

function assessClear(
  clear: DeclaredCacheClear,
  record: ClearRecord | undefined,
  isAttached: boolean,
  { instanceSuspended, trouble }: ClearScene,
): ClearFinding {
  const finish = record?.finish;
  if (finish?.state === "Failed") return forPerson("Failed", finish.message);
  if (finish !== undefined) {
    let message = "The API has started to clear the cache.";
    if (finish.with !== undefined) message = `The call for ${finish.with} also cleared the cache for this object.`;
    else if (record?.attempts === 0)
      message = `An object with the same name handled this trigger at ${formatTime(finish.clearedAtMs)}, so the cache was not cleared again.`;
    return { status: "True", reason: "Cleared", message, next: "Settled" };
  }
  if (!isAttached) return forPerson("Pending", "The object is not attached to its instance.");
  if (clear.suspend) return suspended("Suspended by spec.suspend.");
  if (instanceSuspended) return suspended("The instance is suspended.");
  if (trouble !== undefined) return working(trouble);
  if (record === undefined || record.lastAttemptMs === undefined) {
    return working("The clear starts after the WAF has been read.");
  }
  if (record.message !== "") return working(`${record.message} wafsync retries.`);
  return working(`Attempt ${record.attempts} is in progress.`);
}

function suspended(message: string): ClearFinding {
  return { status: "False", reason: "Suspended", message, next: "Paused" };
}

function working(message: string): ClearFinding {
  return { status: "False", reason: "Pending", message, next: "Working" };
}

/** In whole seconds, like the duration of a Job; undefined if the clear never started. */
function durationOf(startedMs: number | undefined, clearedMs: number): string | undefined {
  if (startedMs === undefined) return undefined;
  return formatDuration(Math.round((clearedMs - startedMs) / 1000) * 1000);
}
