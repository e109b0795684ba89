// Performs the operations of a plan, one call at a time. Before each call, it checks for a newer declared state, so that one
// urgent address never waits for ten thousand others. Before the first removal, it reads the declared state from its source.
import { backOffDelayMs } from "../../async/back-off.ts";
import type { OwnedOrigin } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import type { WafFault, WafResult, WriteAccepted } from "../../model/waf-result.ts";
import { writesOf } from "../facts.ts";
import type { CallOptions, WafPort } from "../ports.ts";
import type { RunResult } from "../run-result.ts";
import { noteWrite } from "./instance-memory.ts";
import { noteAccepted, noteRefusals, noteUnknown } from "./note-history.ts";
import { releaseEndsMs } from "./release.ts";
import type { Run } from "./run-state.ts";
import type { OriginOperation } from "./write-ledger.ts";
import { isRemoval } from "./write-ledger.ts";

/** The maximum number of consecutive writes with an unknown outcome before the whole instance backs off. */
const unknownMax = 3;
/** The maximum number of consecutive rate-limited calls before the whole instance backs off. */
const rateLimitedMax = 10;
/** The number of refused writes after which the list is read to find out why they were refused. */
const refusedMax = 20;
/** Waits longer than this are reported in status. */
const reportedWaitMs = 2_000;
/** A run plans again whenever the declared state changes, but not endlessly. */
const stepsMax = 1_000_000;

interface Streak {
  unknown: number;
  rateLimited: number;
}

/** Performs all operations of the run's plan, and of every newer plan that replaces it. Returns undefined when none is left. */
export async function applyPlan(run: Run): Promise<RunResult | undefined> {
  const streak: Streak = { unknown: 0, rateLimited: 0 };
  for (let step = 0; step < stepsMax; step += 1) {
    if (run.ports.stopping.aborted) return { kind: "Interrupted" };
    // Look for a newer declared state.
    if (run.needsRefresh()) {
      const ended = (await run.refresh()) ?? (await run.record());
      if (ended !== undefined) return ended;
    }
    // Let others use the lane, for example to clear the cache.
    const stopped = await run.memory.hooks?.beforeWrite(run);
    if (stopped !== undefined) return stopped;
    const { operation } = run;
    // Removals on hold, or what can't be read, may belong to an incomplete change: they are reported when the change is complete.
    const isOdd = run.plan.held !== undefined || run.plan.kept.length > 0;
    if (operation === undefined && !(run.isUnsettled && isOdd)) return undefined;
    // Confirm the declared state before a removal, and before the first write of this process.
    if (operation === undefined || !run.isConfirmedFor(operation)) {
      const beforeRemovals = operation === undefined || isRemoval(operation);
      const ended = (await run.confirm({ beforeRemovals })) ?? (await run.record());
      if (ended !== undefined) return ended;
      continue;
    }
    // Find out why additions were refused before a removal that may rely on them.
    if (isRemoval(operation) && run.ledger.refusedCount > 0) {
      const ended = await run.readAgain();
      if (ended !== undefined) return ended;
      continue;
    }
    // Call the WAF.
    const ended = await applyOperation(run, operation, streak);
    if (ended !== undefined) return ended;
    await reportProgress(run);
    // Yield to waiting instances. First, record which writes were refused: the next turn would start with them again.
    if (isTurnOver(run)) {
      const ended = run.ledger.refusedCount > 0 ? await run.readAgain() : undefined;
      return ended ?? { kind: "Yielded" };
    }
  }
  return { kind: "Unsettled" };
}

function isTurnOver({ ledger, left, ports, beganMs }: Run): boolean {
  const elapsedMs = ports.clock.monotonicMs() - beganMs;
  return left > 0 && ports.isTurnOver?.({ writes: writesOf(ledger.done), elapsedMs }) === true;
}

async function applyOperation(run: Run, operation: Operation, streak: Streak): Promise<RunResult | undefined> {
  const result = await performOperation(run.waf, operation, { signal: run.ports.abandon });
  if (result.ok) {
    streak.unknown = 0;
    streak.rateLimited = 0;
    return accepted(run, operation, result.value);
  }
  run.afterwards.catchUp();
  const { fault } = result;
  switch (fault.code) {
    case "Rejected":
      return refused(run, operation, fault.message);
    case "RateLimited":
      // The request was sent and may have taken effect, so a later refusal may be the consequence of our own write.
      run.ledger.unknown(operation);
      streak.rateLimited += 1;
      if (streak.rateLimited > rateLimitedMax || isTooLong(run, fault)) return { kind: "Failed", fault };
      return waitAsAsked(run, fault, streak.rateLimited);
    case "OutcomeUnknown":
    case "TimedOut":
    case "ContractBroken":
      run.ledger.unknown(operation);
      noteUnknown(run.ports, run.name, operation, run.view, fault);
      if (run.ports.stopping.aborted) return { kind: "Interrupted" };
      streak.unknown += 1;
      if (streak.unknown > unknownMax || isOriginOperation(operation)) return { kind: "Failed", fault };
      return run.readAgain();
    case "Aborted":
    case "NotPermitted":
      return { kind: "Interrupted" };
    case "BadApiKey":
    case "MissingApiKey":
    case "NotFound":
    case "TooLarge":
    case "Unavailable":
      return { kind: "Failed", fault };
  }
}

async function accepted(run: Run, operation: Operation, { domain }: WriteAccepted): Promise<RunResult | undefined> {
  const { ledger, memory, ports, view } = run;
  const nowMs = ports.clock.nowMs();
  run.advance();
  // An observer may stop the run before its next call.
  ports.observer.operationDone?.(run.name, operation, run.left);
  run.afterwards.later(() => noteAccepted(ports, run.name, operation, view, nowMs));
  const inventory = ledger.accepted(operation, view.inventory, nowMs);
  noteWrite(memory, operation, nowMs);
  if (operation.kind === "RemoveOrigin") emitOriginRemoved(run, operation);
  return run.domain.movedFrom(run.view.observed, domain) ?? (await follow(run, operation, inventory));
}

async function refused(run: Run, operation: Operation, message: string): Promise<RunResult | undefined> {
  const { ledger, ports, view } = run;
  run.advance();
  const inventory = ledger.refused(operation, message, view, ports.clock.nowMs());
  noteRefusals(ports, run.name, view.inventory, inventory);
  // No read can verify the refusal of an origin, so verify at least that the same WAF sent it.
  if (isOriginOperation(operation)) run.domain.doubt();
  if (operation.kind === "RemoveOrigin") emitOriginRemovalRefused(run, operation, message);
  if (operation.kind === "AddOrigin") emitOriginUnconfirmed(run, operation, inventory.origins.get(operation.host));
  if (ledger.refusedCount >= refusedMax) return run.readAgain();
  return follow(run, operation, inventory);
}

/** Writes of origins change the inventory, which the next operation may depend on. */
async function follow(
  run: Run,
  operation: Operation,
  inventory: Run["view"]["inventory"],
): Promise<RunResult | undefined> {
  if (!isOriginOperation(operation)) return undefined;
  await run.see({ inventory });
  return run.record();
}

/** Whether the API asks for a longer wait than the time that a deletion has. */
function isTooLong({ memory, ports }: Run, { retryAfterMs = 0 }: WafFault): boolean {
  const endsMs = releaseEndsMs(memory);
  return endsMs !== undefined && ports.clock.monotonicMs() + retryAfterMs > endsMs;
}

async function waitAsAsked(run: Run, fault: WafFault, attempt: number): Promise<RunResult | undefined> {
  const { clock, observer, random, stopping } = run.ports;
  const delayMs = fault.retryAfterMs ?? backOffDelayMs({ attempt, baseMs: 1_000, maxMs: 60_000, random });
  const why = "the API limits the rate of requests";
  run.progress.waiting = `${why}, resuming in ${Math.ceil(delayMs / 1000)} s`;
  observer.waiting?.(run.name, why, delayMs);
  // Progress may just have been reported, so a short wait is not reported, but a long one is.
  const unreportedMs = Math.min(delayMs, reportedWaitMs);
  await clock.sleep(unreportedMs, stopping);
  await reportProgress(run);
  await clock.sleep(delayMs - unreportedMs, stopping);
  run.progress.waiting = undefined;
  return stopping.aborted ? { kind: "Interrupted" } : undefined;
}

async function reportProgress(run: Run): Promise<void> {
  await run.progress.report(() => run.facts("Applying"));
}

/** The only place where an operation of a plan becomes a call of the WAF. */
function performOperation(waf: WafPort, operation: Operation, options: CallOptions): Promise<WafResult<WriteAccepted>> {
  switch (operation.kind) {
    case "AddEntry":
      return waf.addEntry(operation.list, operation.entry, options);
    case "RemoveEntry":
      return waf.removeEntry(operation.list, operation.spelling, options);
    case "AddOrigin":
      return waf.addOrigin(operation.host, operation.type, options);
    case "RemoveOrigin":
      return waf.removeOrigin(operation.host, options);
  }
}

function emitOriginRemoved(run: Run, { host }: OriginOperation): void {
  const { ports, view } = run;
  const message = `Removed origin ${host}.`;
  ports.status.event(view.gathered.instance.meta, { type: "Normal", reason: "OriginRemoved", message });
}

/** An origin that an interrupted call added can't be distinguished from one that already existed, perhaps with another type. */
function emitOriginUnconfirmed(run: Run, { host, type }: OriginOperation, record: OwnedOrigin | undefined): void {
  if (record?.unconfirmed === undefined) return;
  const { ports, view } = run;
  const why =
    record.manner === "Adopted" ? "its WafOrigin adopts it" : "an interrupted call may have added the origin before";
  const message = `The API refused to add origin ${host} (${record.unconfirmed}), but ${why}: wafsync counts it as added with type ${type}. Origins can't be read back, so check the WAF's own console.`;
  ports.status.event(view.gathered.instance.meta, { type: "Warning", reason: "AddedUnconfirmed", message });
}

function emitOriginRemovalRefused(run: Run, { host }: OriginOperation, answer: string): void {
  const { ports, view } = run;
  const message = `The API refused to remove origin ${host} (${answer}). wafsync counts it as removed; origins can't be read back, so check the WAF's own console if in doubt.`;
  ports.status.event(view.gathered.instance.meta, { type: "Warning", reason: "OriginRemovalRefused", message });
}

function isOriginOperation(operation: Operation): operation is OriginOperation {
  return operation.kind === "AddOrigin" || operation.kind === "RemoveOrigin";
}
