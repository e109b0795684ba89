// Brings one WAF to the state that its users declare, and reports the result in the status of every object:
//
//   gather ──▶ observe ──▶ plan ──▶ record ──▶ apply, one call at a time ──▶ verify ──▶ report
//                           ▲                        │ something newer is declared,
//                           └────────────────────────┘ or an outcome is unknown
//
// Hooks do other work on the same lane in between, such as clearing the cache, before the first call of a plan or between two
// calls. This module does not know where resources are stored, or how the WAF is called.
import { inSlices } from "../../async/time-slices.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Observed } from "../../model/observed.ts";
import type { ObjectName } from "../../model/resource.ts";
import { admitInstance } from "../../plan/access/admit-instance.ts";
import { compileInSlices } from "../../plan/instance/desired.ts";
import { decideDomain } from "../../plan/instance/domain.ts";
import { findDrift } from "../../plan/instance/drift.ts";
import { noteDisputes } from "../../plan/lists/disputes.ts";
import { factsWithoutRead } from "../facts.ts";
import type { RunFacts } from "../facts.ts";
import type { ReconcilePorts } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { resultOfFault } from "../run-result.ts";
import { emitEntryChanges } from "../status/emit-entry-changes.ts";
import { emitDomainMove, emitDrift } from "../status/emit-events.ts";
import { holdDuringArrival } from "./arrival.ts";
import { applyPlan } from "./apply-plan.ts";
import { confirmDeletion } from "./release.ts";
import type { Ending, ReconcileOutcome } from "./finish.ts";
import { finishRun } from "./finish.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import { noteDrift } from "./note-history.ts";
import { observeWaf } from "./observe-waf.ts";
import { completeRelease, decideRelease, givesUp, isReleaseOver, lastFailure, noteReleased } from "./release.ts";
import { OpeningReport, reportFacts } from "./report.ts";
import { Run } from "./run-state.ts";
import { takeOverRecord } from "./take-over.ts";
import type { Declared, View } from "./view.ts";
import { attemptIn } from "./view.ts";

/** How often one run applies the differences that its verification finds, before the instance backs off. */
const roundsMax = 5;

/** Reconciles one instance once, and reports on every object at the end. Never throws because of external failures. */
export async function reconcileInstance(
  name: ObjectName,
  givenPorts: ReconcilePorts,
  memory: InstanceMemory,
): Promise<ReconcileOutcome> {
  const ports = holdDuringArrival(givenPorts, memory);
  memory.hooks ??= ports.newHooks?.();
  // Gather what is declared, and compile it.
  const version = ports.source.version(name);
  const declared = await gather(name, ports, memory, version);
  // Observe, plan, record, apply and verify.
  const opening = new OpeningReport(ports, memory);
  const ending =
    declared === undefined ? ({ kind: "Gone", version } as const) : await work(name, ports, memory, declared, opening);
  // Report.
  await opening.end();
  return finishRun(ports, memory, ending);
}

async function work(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
  gathered: Declared,
  opening: OpeningReport,
): Promise<Ending> {
  let declared = gathered;
  if (isBackingOff(memory, declared, ports.clock.monotonicMs())) return { kind: "BackedOff", declared };
  if (declared.gathered.instance.meta.deleting) {
    const deletion = await confirmDeletion(ports, memory, declared.gathered);
    if (deletion.kind === "Ended") return { kind: "Unread", declared, result: deletion.result };
    if (deletion.kind === "Confirmed")
      return release(name, ports, memory, { ...declared, gathered: deletion.gathered }, opening);
    declared = await compiled(ports, memory, declared.version, deletion.gathered);
  }
  const begun = await begin(name, ports, memory, declared, { opening, followsSource: true });
  if (begun.kind === "Ended") return { kind: "Unread", declared: begun.declared, result: begun.result };
  return { kind: "Ran", run: begun.run, result: await carryOut(begun.run) };
}

/** Reads and plans as a run would, but writes nothing to the WAF. Returns undefined if the instance does not exist. */
export async function previewInstance(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
): Promise<RunFacts | undefined> {
  memory.hooks ??= ports.newHooks?.();
  const declared = await gather(name, ports, memory, ports.source.version(name));
  if (declared === undefined) return undefined;
  const opening = new OpeningReport(ports, memory);
  const begun = await begin(name, ports, memory, declared, { opening, followsSource: true, isPreview: true });
  await opening.end();
  const facts =
    begun.kind === "Begun"
      ? begun.run.facts("Ended", { result: { kind: "Done" } })
      : factsWithoutRead(begun.declared, { phase: "Ended", result: begun.result, nowMs: ports.clock.nowMs() });
  await reportFacts(ports, memory, facts);
  return facts;
}

async function gather(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
  version: number,
): Promise<Declared | undefined> {
  const gathered = await ports.source.gather(name);
  return gathered === undefined ? undefined : await compiled(ports, memory, version, gathered);
}

async function compiled(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  version: number,
  gathered: Gathered,
): Promise<Declared> {
  const compiling = compileInSlices(gathered, ports.clock.nowMs(), memory.record, memory.lastObserved);
  return { version, gathered, desired: await inSlices(ports.clock, compiling) };
}

/** A run for an instance that is being deleted: it declares nothing, and its finalizer is removed at the end. */
async function release(
  name: ObjectName,
  ports: ReconcilePorts,
  memory: InstanceMemory,
  declared: Declared,
  opening: OpeningReport,
): Promise<Ending> {
  const { meta } = declared.gathered.instance;
  const decided = await decideRelease(ports, memory, declared);
  if (decided.kind === "Wait") return { kind: "Unread", declared, result: decided.result };
  if (decided.kind === "Leave") {
    return { kind: "Unread", declared, result: await completeRelease(ports, meta, decided.stored, decided) };
  }
  const last = lastFailure(memory, declared, ports.clock.monotonicMs());
  if (last !== undefined) {
    const left = { why: last, keepsRecord: decided.keepsRecord, isWanted: false };
    return { kind: "Unread", declared, result: await completeRelease(ports, meta, decided.stored, left) };
  }
  const begun = await begin(name, ports, memory, decided.nothing, { opening, followsSource: false });
  const result = begun.kind === "Ended" ? begun.result : await carryOut(begun.run);
  if (begun.kind === "Begun") {
    emitEntryChanges(ports.status, declared, begun.run.ledger.changes());
    noteReleased(memory, begun.run, ports.clock.monotonicMs());
  }
  // A stale read can lack an entry that is still on the list. To avoid orphans, the record drops entries only after a second read.
  if (begun.kind === "Begun" && begun.run.plan.lookAgainMs !== undefined)
    return { kind: "Ran", run: begun.run, result };
  const why = givesUp(result, isReleaseOver(memory, ports.clock.monotonicMs()));
  if (why === undefined) return { kind: "Unread", declared, result };
  const inventory = begun.kind === "Begun" && result.kind === "Done" ? begun.run.view.inventory : decided.stored;
  const gone = await completeRelease(ports, meta, inventory, {
    why,
    keepsRecord: decided.keepsRecord,
    isWanted: false,
  });
  return { kind: "Unread", declared, result: gone };
}

type Begun =
  | { readonly kind: "Begun"; readonly run: Run }
  | { readonly kind: "Ended"; readonly result: RunResult; readonly declared: Declared };

interface BeginOptions {
  readonly opening: OpeningReport;
  readonly followsSource: boolean;
  readonly isPreview?: boolean;
}

/** Everything before the first write. */
async function begin(
  name: ObjectName,
  givenPorts: ReconcilePorts,
  memory: InstanceMemory,
  gathered: Declared,
  { opening, followsSource, isPreview = false }: BeginOptions,
): Promise<Begun> {
  let ports = givenPorts;
  const startedMs = ports.clock.nowMs();
  const beganMs = ports.clock.monotonicMs();
  let declared = gathered;
  const { instance } = declared.gathered;
  const ended = (result: RunResult): Begun => ({ kind: "Ended", result, declared });
  /** The record and the lists decide conflicts, and what is remembered: then the desired state is compiled again. */
  const compiledFor = async (
    before: Declared,
    record: Inventory,
    observed: Observed | undefined,
  ): Promise<Declared> => {
    memory.record = before.desired.dependsOnManaged ? record : undefined;
    if (memory.record === undefined) return before;
    const compiling = compileInSlices(before.gathered, startedMs, record, observed);
    return { ...before, desired: await inSlices(ports.clock, compiling) };
  };
  // Check that the WAF may be called at all.
  const admission = admitInstance(declared.gathered, ports.baseUrlObjection);
  if (admission.kind === "Blocked") return ended(admission);
  memory.key = { key: admission.key, baseUrl: instance.baseUrl, uid: instance.meta.uid };
  // Take over the record of the instance that this one continues, if any.
  if (followsSource) {
    const taken = await takeOverRecord(ports, memory, declared, { key: admission.key, isPreview });
    if (taken.kind === "Ended") return ended(taken.result);
    ports = taken.ports;
  }
  // Load the inventory, and make sure that the instance can't disappear without its entries.
  const stored = await ports.inventory.load(name);
  if (stored.state === "Unreachable") return ended(blocked("InventoryUnwritable", stored.problem));
  if (stored.state === "Unreadable") return ended(blocked("InventoryUnreadable", stored.problem));
  declared = await compiledFor(declared, stored.inventory, memory.lastObserved);
  const problem = followsSource ? await ports.lifecycle.ensureFinalizer(instance.meta) : undefined;
  if (problem !== undefined) return ended(blocked("InventoryUnwritable", problem));
  opening.begin(factsWithoutRead(declared, { phase: "Started", nowMs: startedMs }));
  // Observe the WAF, and make sure that it is the right one.
  const waf = ports.openWaf(instance, admission.key);
  const read = await observeWaf(waf, { desired: declared.desired, last: memory.lastObserved }, ports.clock, {
    signal: ports.abandon,
  });
  await opening.begun();
  if (!read.ok) return ended(resultOfFault(read.fault));
  const domain = decideDomain(instance, stored.inventory, read.value.domain, admission.key);
  if (domain.state === "Changed") return ended(blocked("DomainChanged", domain.message));
  emitDomainMove(ports.status, memory.emitted, instance.meta, domain.told);
  declared = await compiledFor(declared, domain.inventory, read.value);
  // Plan, with drift taken into account.
  // An inventory that was restored from a backup is older than the status. A missing one is not, and neither matters in a deletion.
  const reported = ports.status.read(instance.meta)?.["inventoryVersion"];
  const reportedVersion = followsSource && typeof reported === "number" ? reported : 0;
  const isMissing = stored.revision === "" && reportedVersion > 0;
  const inventory = isMissing ? { ...domain.inventory, version: reportedVersion } : domain.inventory;
  const view = withDrift(ports, memory, { ...declared, observed: read.value, inventory, reportedVersion });
  const run = await Run.begin({ name, ports, memory, waf, startedMs, beganMs, view, stored, followsSource });
  ports.observer.planned?.(name, run.plan);
  return { kind: "Begun", run };
}

function blocked(blocker: Extract<RunResult, { kind: "Blocked" }>["blocker"], message: string): RunResult {
  return { kind: "Blocked", blocker, message };
}

function withDrift(ports: ReconcilePorts, { lastSeen }: InstanceMemory, view: Omit<View, "drift">): View {
  const { status, clock } = ports;
  const { gathered, desired, observed, inventory } = view;
  const drift = findDrift(desired, observed, lastSeen);
  emitDrift(status, gathered.instance.meta, drift);
  noteDrift(ports, gathered.instance.meta, drift, desired);
  const disputes = noteDisputes(inventory.disputes, drift, clock.nowMs());
  return { ...view, drift, inventory: disputes === inventory.disputes ? inventory : { ...inventory, disputes } };
}

/** Records, applies and verifies, until a verification finds nothing left to do. */
async function carryOut(run: Run): Promise<RunResult> {
  try {
    // Confirm first what a stale cache could get wrong.
    const ended = run.needsConfirmation() ? await run.confirm() : undefined;
    if (ended !== undefined) return ended;
    for (let round = 0; round < roundsMax; round += 1) {
      // Record what is about to be managed, and apply.
      const stopped = (await run.record()) ?? (await applyPlan(run));
      if (stopped !== undefined) return stopped;
      if (run.ledger.unread.size === 0) return { kind: "Done" };
      // Verify with one more read.
      const unverified = await run.readAgain();
      if (unverified !== undefined) return unverified;
      if (run.left === 0) return { kind: "Done" };
    }
    return { kind: "Unsettled" };
  } finally {
    run.afterwards.catchUp();
    await run.progress.end();
  }
}

/** During the backoff after a failure, a run does not call the WAF unless something that an attempt depends on has changed. */
function isBackingOff({ backOff }: InstanceMemory, { gathered }: Declared, monotonicMs: number): boolean {
  return backOff !== undefined && monotonicMs < backOff.untilMs && backOff.attempted === attemptIn(gathered);
}
