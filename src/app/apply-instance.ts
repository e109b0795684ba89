// Brings one instance to its declared state and returns: retries transient failures, and waits for pending cache clears.
import type { ObjectName } from "../model/resource.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import { reconcileInstance } from "../reconcile/converge/run.ts";
import type { ReconcileObserver, ReconcilePorts } from "../reconcile/ports.ts";
import type { SeenKeeper } from "./seen-keeper.ts";

/** Gives up on an instance after this many failed runs in a row. */
const failuresMax = 6;
/** Also gives up after this many runs for a pending cache clear. Usually, the deadline of the clear ends the wait earlier. */
const clearRunsMax = 50;

interface ApplyParts {
  readonly ports: ReconcilePorts;
  readonly observer: ReconcileObserver;
  readonly stopping: AbortSignal;
  readonly seen: SeenKeeper;
}

/** @returns the outcome of the last run */
export async function applyInstance(instance: ObjectName, parts: ApplyParts): Promise<ReconcileOutcome> {
  const { ports, observer, stopping, seen } = parts;
  const { clock } = ports;
  const memory = seen.memoryOf(instance);
  for (let failures = 0, clearRuns = 0; ;) {
    const outcome = await reconcileInstance(instance, ports, memory);
    seen.note(instance, outcome);
    const { result, wakeAtMs, pendingClears } = outcome;
    const isForClears = result.kind === "Done" && pendingClears > 0;
    failures = hasFailedTransiently(outcome) ? failures + 1 : 0;
    clearRuns += isForClears ? 1 : 0;
    const runsAgain = isForClears ? clearRuns < clearRunsMax : failures > 0 && failures < failuresMax;
    if (!runsAgain || wakeAtMs === undefined) return outcome;
    const delayMs = Math.max(0, wakeAtMs - clock.nowMs());
    const why = isForClears
      ? `${pendingClears === 1 ? "1 cache clear is" : `${pendingClears} cache clears are`} pending`
      : `${result.kind === "Failed" ? result.fault.message : "the lists keep changing"} (attempt ${failures} of ${failuresMax})`;
    observer.waiting?.(instance, why, delayMs);
    await clock.sleep(delayMs, stopping);
    if (stopping.aborted) return outcome;
  }
}

/** Whether the next run can succeed without a change. It can't after an invalid API key, for example. */
function hasFailedTransiently({ result }: ReconcileOutcome): boolean {
  if (result.kind === "Unsettled" || result.kind === "Outdated") return true;
  if (result.kind !== "Failed") return false;
  const { code } = result.fault;
  return !["BadApiKey", "MissingApiKey", "NotFound", "ContractBroken", "TooLarge"].includes(code);
}
