// Makes the call for one operation of a plan, and changes the world by the API's answer.
import { backOffDelayMs } from "../async/back-off.ts";
import type { Inventory, OwnedOrigin } from "../model/inventory.ts";
import type { Operation } from "../model/operation.ts";
import type { WafFault, WafResult, WriteAccepted } from "../model/waf-result.ts";
import type { CallOptions, ObjectEvent, WafPort } from "./ports.ts";
import type { RunResult } from "./run-result.ts";
import { noteWrite } from "./instance-memory.ts";
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
  const ended = await answered(
    world,
    operation,
    await performOperation(world.waf, operation, { signal: world.ports.abandon }),
  );
  if (ended === undefined) await reportProgress(world);
  return ended;
}

async function answered(
  world: World,
  operation: Operation,
  result: WafResult<WriteAccepted>,
): Promise<RunResult | undefined> {
  const { counted, ledger, ports } = world;
  if (result.ok) {
    counted.unknown = 0;
    counted.rateLimited = 0;
    return await accepted(world, operation, result.value);
  }
  const { fault } = result;
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

async function accepted(world: World, operation: Operation, { domain }: WriteAccepted): Promise<RunResult | undefined> {
  const { ledger, memory, ports, name } = world;
  const nowMs = ports.clock.nowMs();
  world.advance();
  // An observer may stop the run before its next call.
  ports.observer.operationDone?.(name, operation, world.left);
  world.happened({ kind: "Accepted", operation });
  const inventory = ledger.accepted(operation, world.inventory, nowMs);
  noteWrite(memory, operation, nowMs);
  if (operation.kind === "RemoveOrigin") {
    emit(world, { type: "Normal", reason: "OriginRemoved", message: `Removed origin ${operation.host}.` });
  }
  return world.movedTo(domain) ?? (await follow(world, operation, inventory));
}

async function refused(world: World, operation: Operation, message: string): Promise<RunResult | undefined> {
  const { ledger, ports } = world;
  world.advance();
  const inventory = ledger.refused(operation, message, world, ports.clock.nowMs());
  // No read can verify the refusal of an origin, so verify at least that the same WAF sent it.
  if (isOriginOperation(operation)) world.doubtDomain();
  if (operation.kind === "RemoveOrigin") emitOriginRemovalRefused(world, operation, message);
  if (operation.kind === "AddOrigin") emitOriginUnconfirmed(world, operation, inventory.origins.get(operation.host));
  if (ledger.refusedCount >= refusedMax) return await world.readAgain();
  return await follow(world, operation, inventory);
}

/** Writes of origins change the inventory, which the next operation may depend on. For entries, the plan has assumed the answer. */
async function follow(world: World, operation: Operation, inventory: Inventory): Promise<undefined> {
  if (isOriginOperation(operation)) await world.learn({ inventory });
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
  world.progress.waiting = `${why}, resuming in ${Math.ceil(delayMs / 1000)} s`;
  observer.waiting?.(world.name, why, delayMs);
  // Progress may just have been reported, so a short wait is not reported, but a long one is.
  const unreportedMs = Math.min(delayMs, reportedWaitMs);
  await clock.sleep(unreportedMs, stopping);
  await reportProgress(world);
  await clock.sleep(delayMs - unreportedMs, stopping);
  world.progress.waiting = undefined;
  return stopping.aborted ? { kind: "Interrupted" } : undefined;
}

async function reportProgress(world: World): Promise<void> {
  await world.progress.report(() => world.facts("Applying"));
}

/** The only place where an operation of a plan becomes a call of the WAF. */
async function performOperation(
  waf: WafPort,
  operation: Operation,
  options: CallOptions,
): Promise<WafResult<WriteAccepted>> {
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

function emit({ ports, gathered }: World, event: ObjectEvent): void {
  ports.status.event(gathered.instance.meta, event);
}

/** An origin that an interrupted call added can't be distinguished from one that already existed, perhaps with another type. */
function emitOriginUnconfirmed(world: World, { host, type }: OriginOperation, record: OwnedOrigin | undefined): void {
  if (record?.unconfirmed === undefined) return;
  const why =
    record.manner === "Adopted" ? "its WafOrigin adopts it" : "an interrupted call may have added the origin before";
  const message = `The API refused to add origin ${host} (${record.unconfirmed}), but ${why}: wafsync counts it as added with type ${type}. Origins can't be read back, so check the WAF's own console.`;
  emit(world, { type: "Warning", reason: "AddedUnconfirmed", message });
}

function emitOriginRemovalRefused(world: World, { host }: OriginOperation, answer: string): void {
  const message = `The API refused to remove origin ${host} (${answer}). wafsync counts it as removed; origins can't be read back, so check the WAF's own console if in doubt.`;
  emit(world, { type: "Warning", reason: "OriginRemovalRefused", message });
}
