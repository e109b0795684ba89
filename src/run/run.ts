// Brings one WAF to the state that its users declare, and reports the result in the status of every object:
//
//   gather ──▶ open ──▶ plan ──▶ save the record ──▶ call, one operation at a time ──▶ read again ──▶ report
//                        ▲                            │ something newer is declared,
//                        └────────────────────────────┘ or an outcome is unknown
//
// Everything that a run learns changes its `World`, which then has another plan. Hooks do other work on the same lane in between,
// such as clearing the cache. This module does not know where resources are stored, or how the WAF is called.
import type { Operation } from "../model/operation.ts";
import type { ObjectName } from "../model/resource.ts";
import type { RunFacts, RunResult } from "./facts.ts";
import type { ReconcilePorts, RunHooks } from "./ports.ts";
import { call } from "./call.ts";
import { finishRun, type ReconcileOutcome, type InstanceMemory } from "./report.ts";
import { inMemory } from "./preview.ts";
import { endRelease, openRelease } from "./release.ts";
import { emitChanges } from "./status/events.ts";
import { takeOverRecord } from "./take-over.ts";
import { World } from "./world.ts";
import { isRemoval } from "./write-ledger.ts";

/** How often one run verifies its writes and applies the differences. */
const roundsMax = 5;

/** Reconciles one instance once, and reports on every object at the end. Never throws because of external failures. */
export async function reconcileInstance(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
): Promise<ReconcileOutcome> {
  const version = ports.source.version(name);
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) {
    return { result: { kind: "Gone" }, facts: undefined, wakeAtMs: undefined, pendingClears: 0, version };
  }
  const world = new World(name, ports, memory, version, gathered);
  const deferred = resultOfBackOff(world);
  let result: RunResult;
  try {
    result = deferred ?? (await open(world)) ?? (await converge(world, memory.hooks));
  } finally {
    await world.reports.end();
  }
  emitChanges(world);
  return await finishRun(world, await endRelease(world, result), deferred !== undefined);
}

/** During the backoff after a failure, a run does not call the WAF unless something that an attempt depends on has changed. */
function resultOfBackOff({ memory: { backOff }, ports, attempt }: World): RunResult | undefined {
  const isBackingOff = backOff !== undefined && ports.clock.monotonicMs() < backOff.untilMs;
  return isBackingOff && backOff.attempted === attempt ? backOff.result : undefined;
}

/** Everything before the first write. Returns a result if the run ends with it. */
async function open(world: World): Promise<RunResult | undefined> {
  return (
    (await openRelease(world)) ??
    world.admit() ??
    (await takeOverRecord(world)) ??
    (await world.load()) ??
    (await world.look())
  );
}

/** Saves, calls and verifies, until a verification finds nothing left to do. */
async function converge(world: World, hooks: RunHooks | undefined): Promise<RunResult> {
  for (;;) {
    if (world.ports.stopping.aborted) return { kind: "Interrupted" };
    const ended = world.isUnsaved ? await world.record() : await nextStep(world, hooks);
    if (ended !== undefined) return ended;
  }
}

/** The next step of a plan whose record is saved. Returns a result if the run ends with it. */
async function nextStep(world: World, hooks: RunHooks | undefined): Promise<RunResult | undefined> {
  const { ledger, counted, operation: next, plan } = world;
  counted.saves = 0;
  if (world.needsRefresh) return await world.refresh();
  const asked = await hooks?.beforeWrite(world);
  if (asked !== undefined) return asked === "Again" ? undefined : asked;
  // Removals on hold, or what can't be read, may belong to an incomplete change: they are reported when the change is complete.
  const isIncomplete = world.isUnsettled && (plan.held !== undefined || plan.kept.length > 0);
  if (next === undefined && !isIncomplete) {
    if (ledger.unread.length === 0) return { kind: "Done" };
    counted.verifications += 1;
    return await world.readAgain();
  }
  if (counted.verifications === roundsMax) return world.outpaced;
  const beforeRemovals = next === undefined || isRemoval(next);
  const isOver = isTurnOver(world);
  // Why writes were refused matters for removals that rely on them, and for the next turn, which would start with them again.
  if (ledger.refusedCount > 0 && (beforeRemovals || isOver)) return await world.readAgain();
  // Yield to waiting instances.
  if (isOver) return { kind: "Yielded" };
  // A fresh read comes before removals, and before the first write of this process.
  if (next === undefined || !world.isConfirmedFor(next)) return await world.confirm({ beforeRemovals });
  if (!world.permits(next)) return { kind: "Interrupted" };
  return await call(world, next);
}

function isTurnOver({ counted, ledger, left, ports, beganMs }: World): boolean {
  if (counted.calls === 0 || left === 0) return false;
  const { added, removed } = ledger.done;
  const elapsedMs = ports.clock.monotonicMs() - beganMs;
  return ports.isTurnOver?.({ writes: added + removed, elapsedMs }) === true;
}

/**
 * What a run would do now: the same run, but saves and calls change only memory. The facts are those before its first write, with all
 * operations up to its end. Returns undefined if the instance does not exist.
 */
export async function previewInstance(
  name: ObjectName,
  givenPorts: ReconcilePorts,
  memory: InstanceMemory,
): Promise<RunFacts | undefined> {
  const operations: Operation[] = [];
  const ports = inMemory(givenPorts, operations);
  const gathered = await ports.source.gather(name);
  if (gathered === undefined) return undefined;
  const world = new World(name, ports, memory, 0, gathered);
  const stopped = await open(world);
  const facts = await world.lastFacts(stopped ?? { kind: "Done" });
  if (stopped === undefined) await converge(world, undefined);
  return { ...facts, plan: facts.plan && { ...facts.plan, operations } };
}
