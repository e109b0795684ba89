// Brings one WAF to the state that its users declare, and says on every object what came of it:
//
//   gather ──▶ observe ──▶ plan ──▶ record ──▶ apply, one call at a time ──▶ verify ──▶ report
//                           ▲                        │ something newer is declared,
//                           └────────────────────────┘ or an outcome is unknown
//
// The cache is cleared along the way, before the first call of a plan or between two; a failure there stops nothing else.
// Nothing here knows where resources live, or how the WAF is spoken to.
import { upwardBackOffDelayMs } from "../../async/back-off.ts";
import { requestedAtAnnotation } from "../../api/kinds.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { ObjectName } from "../../model/resource.ts";
import { compileDesired } from "../../plan/instance/desired.ts";
import { applyPlan, confirm, readAgain } from "./apply-plan.ts";
import type { Declared } from "./begin-pass.ts";
import { beginPass } from "./begin-pass.ts";
import type { ClearLook } from "../cache-clear/advance-clears.ts";
import { earliest, lookAtEnd, removeOutlived } from "../cache-clear/advance-clears.ts";
import type { RunFacts } from "../facts.ts";
import { factsOf } from "../facts.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { Pass } from "./run-state.ts";
import { forgetsWhatIsThere, record } from "./run-state.ts";
import type { RunResult } from "../run-result.ts";
import type { ReconcilePorts } from "../ports.ts";
import { releaseInstance } from "./release.ts";
import { reportFacts } from "./report.ts";
import { endProgress, reportProgress } from "./progress-reporter.ts";
import { tellOutcome } from "../status/emit-events.ts";

/** How often one pass applies what its verification still finds, before it backs off. */
const roundsMax = 5;
const retryBaseMs = 1_000;
const retryMsMax = 300_000;

/** What became of a pass, and when to come back without being asked. */
export interface ReconcileOutcome {
  readonly end: RunResult;
  /** The facts as they were reported; undefined where there was nothing to report on. */
  readonly facts: RunFacts | undefined;
  readonly wakeAtMs: number | undefined;
  /** Cache clears that are neither finished nor suspended. */
  readonly pendingClears: number;
  /** Of the source: what the pass has taken into account. */
  readonly version: number;
}

/** Runs one pass over one instance. Never throws for anything that the world does; reports on every object at its end. */
export async function reconcileInstance(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
): Promise<ReconcileOutcome> {
  const version = ports.source.version(name);
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) {
    return { end: { kind: "Gone" }, facts: undefined, wakeAtMs: undefined, pendingClears: 0, version };
  }
  const desired = compileDesired(gathered, ports.clock.nowMs());
  const declared = { version, gathered, desired };
  if (isBackingOff(memory, gathered, ports.clock.nowMs())) return reportBackOff(ports, memory, declared);
  if (gathered.instance.meta.deleting) {
    const { end, known } = await releaseInstance(name, ports, memory, declared, runPass);
    return finish(ports, memory, end, known);
  }
  const begun = await beginPass(name, ports, memory, declared);
  if ("end" in begun) return finish(ports, memory, begun, declared);
  return finish(ports, memory, await runPass(begun), begun);
}

/** What a pass would do, without doing any of it: the reads of a pass, and its plan. Undefined if there is no such instance. */
export async function previewInstance(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
): Promise<RunFacts | undefined> {
  const version = ports.source.version(name);
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) return undefined;
  const desired = compileDesired(gathered, ports.clock.nowMs());
  const begun = await beginPass(name, ports, memory, { version, gathered, desired });
  const nowMs = ports.clock.nowMs();
  const facts =
    "end" in begun
      ? factsOf({ gathered, desired, phase: "Ended", end: begun, nowMs })
      : factsOf({ ...begun, phase: "Ended", end: { kind: "Done" }, pass: begun, nowMs });
  await reportFacts(ports, memory, facts);
  return facts;
}

/** After a failure the WAF is left alone for a while, whatever changes; unless the instance or its key did. */
function isBackingOff({ backOff }: InstanceMemory, gathered: Gathered, nowMs: number): boolean {
  return backOff !== undefined && nowMs < backOff.untilMs && backOff.attempted === attemptOf(gathered);
}

/** Names all that an attempt depends on besides the WAF itself. */
function attemptOf({ instance, key }: Gathered): string {
  const { meta, baseUrl, expectedDomain = "" } = instance;
  const asked = meta.annotations[requestedAtAnnotation] ?? "";
  const known = key.state === "Present" ? key.key.fingerprint() : "";
  return [meta.uid, meta.generation, baseUrl, expectedDomain, asked, known].join(" ");
}

async function reportBackOff(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  { version, gathered, desired }: Declared,
): Promise<ReconcileOutcome> {
  const end: RunResult = memory.backOff?.end ?? { kind: "Unsettled" };
  const nowMs = ports.clock.nowMs();
  const facts = factsOf({ gathered, desired, phase: "Ended", end, nowMs, retryAtMs: memory.backOff?.untilMs });
  const clears = lookAtEnd(ports, memory, facts);
  await reportFacts(ports, memory, facts);
  await removeOutlived(ports, clears);
  return { end, facts, ...wakeAt(memory.backOff?.untilMs, clears), version };
}

async function runPass(pass: Pass): Promise<RunResult> {
  // Nothing is recorded yet, which is how an instance looks that was just released: an old picture must not begin it anew.
  // Nor must it make us forget what a rule or origin retains that only this picture lacks.
  const gone = pass.revision === "" || forgetsWhatIsThere(pass) ? await confirm(pass) : undefined;
  if (gone !== undefined) return gone;
  try {
    return await applyAndVerify(pass);
  } finally {
    await endProgress(pass);
  }
}

/** Applies and verifies, until a verification finds nothing left to do. */
async function applyAndVerify(pass: Pass): Promise<RunResult> {
  for (let round = 0; round < roundsMax; round += 1) {
    const ended = (await record(pass)) ?? (await applyPlan(pass, () => reportProgress(pass)));
    if (ended !== undefined) return ended;
    if (pass.unread.size === 0) return { kind: "Done" };
    const verified = await readAgain(pass);
    if (verified !== undefined) return verified;
    if (pass.plan.operations.length === 0) return { kind: "Done" };
  }
  return { kind: "Unsettled" };
}

async function finish(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  end: RunResult,
  known: Pass | Declared,
): Promise<ReconcileOutcome> {
  const nowMs = ports.clock.nowMs();
  const pass = "plan" in known ? known : undefined;
  if (pass !== undefined) rememberLists(pass, end, nowMs);
  memory.failures = result.kind === "Failed" || result.kind === "Unsettled" ? memory.failures + 1 : 0;
  if (result.kind === "Failed") ports.observer.failed?.(known.gathered.instance.meta, result.fault);
  const wakeAtMs = wakeTime(end, known, memory, ports);
  memory.backOff =
    wakeAtMs !== undefined && (result.kind === "Failed" || result.kind === "Unsettled")
      ? { untilMs: wakeAtMs, end, attempted: attemptOf(known.gathered) }
      : undefined;
  const facts = factsOf({ ...known, phase: "Ended", end, pass, nowMs, retryAtMs: wakeAtMs });
  if (result.kind === "Interrupted" || result.kind === "Gone" || result.kind === "Outdated") {
    return { end, facts, wakeAtMs, pendingClears: 0, version: known.version };
  }
  const clears = lookAtEnd(ports, memory, facts);
  tellOutcome(ports.status, memory, facts);
  await reportFacts(ports, memory, facts);
  await removeOutlived(ports, clears);
  return { end, facts, ...wakeAt(wakeAtMs, clears), version: known.version };
}

/** Cache clears have times of their own: a retry, a deadline, the end of a time to live. */
function wakeAt(wakeAtMs: number | undefined, { due, waiting, nextMs }: ClearLook) {
  return { wakeAtMs: earliest(wakeAtMs, nextMs), pendingClears: due.length + waiting.length };
}

function rememberLists(pass: Pass, end: RunResult, nowMs: number): void {
  const { memory } = pass;
  memory.lastObserved = pass.observed;
  // A list whose last writes are not confirmed says nothing about drift.
  const { domain, lists } = pass.observed;
  memory.lastSeen = pass.unread.size === 0 ? { domain, lists, removed: memory.removed } : undefined;
  if (result.kind === "Done") memory.lastSyncMs = nowMs;
}

/** When to run again without being asked: the next expiry or resync, or a back-off after a failure. */
function wakeTime(
  end: RunResult,
  { gathered, desired }: Pick<Pass, "gathered" | "desired">,
  memory: InstanceMemory,
  ports: ReconcilePorts,
): number | undefined {
  const nowMs = ports.clock.nowMs();
  const resyncMs = nowMs + gathered.instance.resyncIntervalMs;
  switch (result.kind) {
    case "Done":
      return Math.min(resyncMs, desired.nextExpiryMs ?? resyncMs);
    case "Blocked":
      if (result.blocker === "InventoryConflict" || result.blocker === "InventoryUnwritable") return nowMs + 2 * retryBaseMs;
      return Math.min(resyncMs, nowMs + retryMsMax);
    case "Failed":
    case "Unsettled": {
      const options = { baseMs: retryBaseMs, maxMs: retryMsMax, attempt: memory.failures, random: ports.random };
      const toldMs = result.kind === "Failed" ? (result.fault.retryAfterMs ?? 0) : 0;
      return nowMs + Math.max(upwardBackOffDelayMs(options), toldMs);
    }
    case "Outdated":
      return nowMs;
    case "Interrupted":
    case "Gone":
      return undefined;
  }
}
