// Applies a plan, one call at a time. Before each call it looks for a newer declared state, so that an urgent rule goes
// ahead of the rest of a long one, and a cache clear need not wait for it at all; before removals, the declared state is
// read once more where it lives.
import type { Operation } from "../../model/operation.ts";
import type { WafFault } from "../../model/waf-result.ts";
import { backOffDelayMs } from "../../async/back-off.ts";
import { clearDueCaches } from "./clear-caches.ts";
import { observeList } from "./observe-waf.ts";
import type { Pass } from "./run-state.ts";
import type { RunResult } from "../run-result.ts";
import { isOutdated, movedDomain, recompile, record, refresh, replan, sameWaf } from "./run-state.ts";
import { performOperation } from "./perform-operation.ts";
import { settleAccepted, settleRead, settleRefused, settleUnknown } from "./write-ledger.ts";

/** Writes in a row whose outcome stayed unknown before the whole instance backs off. */
const unknownMax = 3;
/** Times in a row that the API may ask to wait before the whole instance backs off. */
const rateLimitedMax = 10;
/** Refused writes that may pile up before the list is read to learn what they mean. */
const refusedMax = 20;
/** A confirmation of the declared state older than this is read again. */
const confirmedForMs = 30_000;
/** A wait that is longer than this is told while it lasts. */
const saysWaitingAfterMs = 2_000;
/** Plans may be made anew as often as the declared state changes, but not for ever within one pass. */
const stepsMax = 1_000_000;

interface Streak {
  unknown: number;
  rateLimited: number;
}

/** Does all operations of the pass's plan, and of every newer plan that takes its place. Undefined when none is left. */
export async function applyPlan(pass: Pass, onProgress: () => Promise<void>): Promise<RunResult | undefined> {
  const streak: Streak = { unknown: 0, rateLimited: 0 };
  for (let step = 0; step < stepsMax; step += 1) {
    if (pass.ports.stopping.aborted) return { kind: "Interrupted" };
    if (isOutdated(pass)) {
      const ended = (await refresh(pass)) ?? (await record(pass));
      if (ended !== undefined) return ended;
    }
    const cleared = await clearDueCaches(pass);
    if (cleared !== undefined) return cleared;
    const operation = pass.plan.operations[pass.next];
    if (operation === undefined) return undefined;
    if (isRemoval(operation) && !isConfirmed(pass)) {
      const ended = (await confirm(pass)) ?? (await record(pass));
      if (ended !== undefined) return ended;
      continue;
    }
    pass.next += 1;
    const { plan } = pass;
    const ended = await applyOperation(pass, operation, streak, onProgress);
    if (ended === "Again") {
      if (pass.plan === plan) pass.next -= 1;
    } else if (ended !== undefined) return ended;
    else pass.ports.observer.operationDone?.(pass.name, operation, pass.plan.operations.length - pass.next);
    await onProgress();
  }
  return { kind: "Unsettled" };
}

async function applyOperation(
  pass: Pass,
  operation: Operation,
  streak: Streak,
  onProgress: () => Promise<void>,
): Promise<RunResult | "Again" | undefined> {
  const result = await performOperation(pass.waf, operation, { signal: pass.ports.abandon });
  if (result.ok) {
    streak.unknown = 0;
    streak.rateLimited = 0;
    settleAccepted(pass, operation, result.value);
    return movedDomain(pass, result.value.domain) ?? afterOrigin(pass, operation);
  }
  const { fault } = result;
  switch (fault.code) {
    case "Rejected":
      settleRefused(pass, operation, fault.message);
      if (pass.refused.size >= refusedMax) return readAgain(pass);
      return afterOrigin(pass, operation);
    case "RateLimited":
      // It was sent: if the API says next time that it is done already, it was this call that did it.
      settleUnknown(pass, operation);
      streak.rateLimited += 1;
      if (streak.rateLimited > rateLimitedMax) return { kind: "Failed", fault };
      return waitAsTold(pass, fault, streak.rateLimited, onProgress);
    case "OutcomeUnknown":
    case "TimedOut":
    case "ContractBroken":
      settleUnknown(pass, operation);
      if (pass.ports.stopping.aborted) return { kind: "Interrupted" };
      streak.unknown += 1;
      if (streak.unknown > unknownMax || isOriginOperation(operation)) return { kind: "Failed", fault };
      return readAgain(pass);
    case "Aborted":
    case "NotPermitted":
      return { kind: "Interrupted" };
    case "BadApiKey":
    case "MissingApiKey":
    case "NotFound":
    case "Unavailable":
      return { kind: "Failed", fault };
  }
}

/** Writes of origins change the inventory, which the next operation may depend on. */
async function afterOrigin(pass: Pass, operation: Operation): Promise<RunResult | undefined> {
  if (!isOriginOperation(operation)) return undefined;
  replan(pass);
  return record(pass);
}

/** Reads the lists whose state is in doubt, and plans again from what they show. */
export async function readAgain(pass: Pass): Promise<RunResult | undefined> {
  for (const list of pass.unread) {
    const read = await observeList(pass.waf, list, pass.desired, { signal: pass.ports.abandon });
    if (!read.ok) return read.fault.code === "Aborted" ? { kind: "Interrupted" } : { kind: "Failed", fault: read.fault };
    pass.observed = { ...pass.observed, lists: { ...pass.observed.lists, [list]: read.value } };
    settleRead(pass, list);
  }
  replan(pass);
  return record(pass);
}

async function waitAsTold(
  pass: Pass,
  fault: WafFault,
  attempt: number,
  onProgress: () => Promise<void>,
): Promise<"Again" | RunResult> {
  const delayMs =
    fault.retryAfterMs ?? backOffDelayMs({ attempt, baseMs: 1_000, maxMs: 60_000, random: pass.ports.random });
  pass.waiting = `the API asked to slow down, going on in ${Math.ceil(delayMs / 1000)} s`;
  pass.ports.observer.waiting?.(pass.name, pass.waiting, delayMs);
  // Progress that was reported just now is not reported again at once, but a long wait must not go unsaid.
  const unsaidMs = Math.min(delayMs, saysWaitingAfterMs);
  await pass.ports.clock.sleep(unsaidMs, pass.ports.stopping);
  await onProgress();
  await pass.ports.clock.sleep(delayMs - unsaidMs, pass.ports.stopping);
  pass.waiting = undefined;
  return pass.ports.stopping.aborted ? { kind: "Interrupted" } : "Again";
}

function isConfirmed(pass: Pass): boolean {
  return pass.confirmedMs !== undefined && pass.ports.clock.nowMs() - pass.confirmedMs < confirmedForMs;
}

/** Reads the declared state where it lives. If that fails, no removal is planned. */
export async function confirm(pass: Pass): Promise<RunResult | undefined> {
  const confirmed = await pass.ports.source.confirm(pass.name);
  pass.confirmedMs = pass.ports.clock.nowMs();
  if (confirmed.state === "Read") {
    if (confirmed.gathered === undefined) return { kind: "Gone" };
    if (!sameWaf(confirmed.gathered, pass.gathered)) return { kind: "Outdated" };
    pass.gathered = confirmed.gathered;
  } else {
    const brokenSources = [...pass.gathered.brokenSources, confirmed.problem];
    pass.gathered = { ...pass.gathered, brokenSources };
  }
  recompile(pass);
  return undefined;
}

function isRemoval(operation: Operation): boolean {
  return operation.kind === "RemoveEntry" || operation.kind === "RemoveOrigin";
}

function isOriginOperation(operation: Operation): boolean {
  return operation.kind === "AddOrigin" || operation.kind === "RemoveOrigin";
}
