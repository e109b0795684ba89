// Makes the call for one operation of a plan, and changes the world by the API's answer.
import { backOffDelayMs } from "../async/back-off.ts";
import type { Inventory } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import type { WafFault, WafResult, WriteAccepted, CallOptions, WafPort } from "../model/waf-result.ts";
import type { ObjectEvent } from "./ports.ts";
import { resultOfFault, type RunResult } from "./facts.ts";
import { releaseEndsMs } from "./release.ts";
import type { World } from "./world.ts";
import { isOriginOperation, type OriginOperation } from "./write-ledger.ts";

/** The maximum number of consecutive writes with an unknown outcome before the whole instance backs off. */
const unknownMax = 3;
/** The maximum number of consecutive rate-limited calls before the whole instance backs off. */
const rateLimitedMax = 10;
/** The number of refused writes after which the list is read to find out why they were refused. */
const refusedMax = 20;
/** Waits longer than this are reported in status. */
const reportedWaitMs = 2_000;

/** Returns a result if the run ends with the answer. */
export async function call(world: World, operation: Operation): Promise<RunResult | undefined> {
  world.counted.calls += 1;
  const answer = await send(world.waf, operation, { signal: world.ports.abandon });
  const ended = answer.ok
    ? await accepted(world, operation, answer.value)
    : await failed(world, operation, answer.fault);
  if (ended === undefined) await world.reports.progress();
  return ended;
}

/** The only place where an operation of a plan becomes a call of the WAF. */
async function send(waf: WafPort, operation: Operation, options: CallOptions): Promise<WafResult<WriteAccepted>> {
  switch (operation.kind) {
    case "AddEntry":
      return await waf.addEntry(operation.list, operation.entry, options);
    case "RemoveEntry":
      return await waf.removeEntry(operation.list, operation.spelling, options);
    case "AddOrigin":
      return await waf.addOrigin(operation.host, operation.type, options);
    case "RemoveOrigin":
      return await waf.removeOrigin(operation.host, options);
  }
}

async function accepted(world: World, operation: Operation, { domain }: WriteAccepted): Promise<RunResult | undefined> {
  const { counted, ledger, memory, ports, name } = world;
  const nowMs = ports.clock.nowMs();
  counted.unknown = 0;
  counted.rateLimited = 0;
  world.advance();
  // An observer may stop the run before its next call.
  ports.observer.operationDone?.(name, operation, world.left);
  world.happened({ kind: "Accepted", operation });
  const inventory = ledger.accepted(operation);
  if (operation.kind === "AddEntry") for (const id of operation.rules) memory.ruleChangedMs.set(id, nowMs);
  if (isOriginOperation(operation)) {
    const did = operation.kind === "AddOrigin" ? "Added" : "Removed";
    emit(world, "Normal", `Origin${did}`, `${did} origin ${operation.host}.`);
  }
  return world.movedTo(domain) ?? (await world.follow(inventory));
}

async function failed(world: World, operation: Operation, fault: WafFault): Promise<RunResult | undefined> {
  const { counted, ledger, ports } = world;
  switch (fault.code) {
    case "Rejected":
      return await refused(world, operation, fault.message);
    case "RateLimited":
      // The request was sent and may have taken effect, so a later refusal may be the consequence of our own write.
      ledger.unknown(operation);
      counted.rateLimited += 1;
      if (counted.rateLimited > rateLimitedMax || isTooLong(world, fault)) return { kind: "Failed", fault };
      return await waitAsAsked(world, fault);
    case "OutcomeUnknown":
    case "TimedOut":
    case "ContractBroken":
      ledger.unknown(operation);
      world.happened({ kind: "Unknown", operation, problem: fault.message });
      if (ports.stopping.aborted) return { kind: "Interrupted" };
      counted.unknown += 1;
      if (counted.unknown > unknownMax || isOriginOperation(operation)) return { kind: "Failed", fault };
      return await world.readAgain();
    default:
      return resultOfFault(fault);
  }
}

async function refused(world: World, operation: Operation, words: string): Promise<RunResult | undefined> {
  const { ledger } = world;
  world.advance();
  const inventory = ledger.refused(operation, words);
  // No read can verify the refusal of an origin, so verify at least that the same WAF sent it.
  if (isOriginOperation(operation)) {
    world.doubtDomain();
    emitOriginRefused(world, operation, words, inventory);
  }
  return ledger.refusedCount >= refusedMax ? await world.readAgain() : await world.follow(inventory);
}

/** An origin that an interrupted call added can't be distinguished from one that already existed, perhaps with another type. */
function emitOriginRefused(
  world: World,
  { kind, host, type }: OriginOperation,
  words: string,
  { origins }: Inventory,
): void {
  const check = "Origins can't be read back, so check the WAF's own console.";
  if (kind === "RemoveOrigin") {
    const message = `The API refused to remove origin ${host} (${words}): wafsync counts it as removed. ${check}`;
    emit(world, "Warning", "OriginRemovalRefused", message);
    return;
  }
  const { unconfirmed, manner } = origins.get(host) ?? {};
  if (unconfirmed === undefined) return;
  const why = manner === "Adopted" ? "its WafOrigin adopts it" : "an interrupted call may have added the origin before";
  const message = `The API refused to add origin ${host} (${words}), but ${why}: wafsync counts it as added with type ${type}. ${check}`;
  emit(world, "Warning", "AddedUnconfirmed", message);
}

function emit({ ports, gathered }: World, type: ObjectEvent["type"], reason: string, message: string): void {
  ports.status.event(gathered.instance.meta, { type, reason, message });
}

/** Whether the API asks for a longer wait than the time that a deletion has. */
function isTooLong({ memory, ports }: World, { retryAfterMs = 0 }: WafFault): boolean {
  const endsMs = releaseEndsMs(memory);
  return endsMs !== undefined && ports.clock.monotonicMs() + retryAfterMs > endsMs;
}

async function waitAsAsked(world: World, fault: WafFault): Promise<RunResult | undefined> {
  const { clock, observer, random, stopping } = world.ports;
  const attempt = world.counted.rateLimited;
  const delayMs = fault.retryAfterMs ?? backOffDelayMs({ attempt, baseMs: 1_000, maxMs: 60_000, random });
  const why = "the API limits the rate of requests";
  world.reports.waiting = `${why}, resuming in ${Math.ceil(delayMs / 1000)} s`;
  observer.waiting?.(world.name, why, delayMs);
  // Progress may just have been reported, so a short wait is not reported, but a long one is.
  const unreportedMs = Math.min(delayMs, reportedWaitMs);
  await clock.sleep(unreportedMs, stopping);
  await world.reports.progress();
  await clock.sleep(delayMs - unreportedMs, stopping);
  world.reports.waiting = undefined;
  return stopping.aborted ? { kind: "Interrupted" } : undefined;
}
