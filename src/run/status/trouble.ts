// The problem that prevents the sync of a whole instance: one finding, which the instance and all attached objects show.
import type { WafFault } from "../../model/waf-result.ts";
import type { SyncedReason } from "../../kinds/reasons.ts";
import type { SyncedFinding } from "./conditions.ts";
import type { RunFacts } from "../facts.ts";
import type { Blocker } from "../run-result.ts";

/** The finding that overrides everything else, or undefined if the WAF can be reconciled. */
export function troubleOf(facts: Pick<RunFacts, "result" | "desired">): SyncedFinding | undefined {
  const { result } = facts;
  if (result?.kind === "Failed") return faultFinding(result.fault);
  if (result?.kind === "Blocked") return blockerFinding(result.blocker, result.message);
  if (result?.kind === "Unsettled") {
    const cause = "The lists keep changing while they are written: another writer is active.";
    return { status: "False", reason: "Contested", message: `${cause} wafsync retries.`, cause, next: "Retrying" };
  }
  const fault = facts.desired.instanceFaults[0];
  if (fault !== undefined) {
    const message = `A guard of the instance can't be read, so wafsync writes nothing. ${fault}`;
    return { status: "False", reason: "Blocked", message, next: "Person" };
  }
  return undefined;
}

const faultReasons: Readonly<Record<WafFault["code"], SyncedReason>> = {
  BadApiKey: "BadApiKey",
  MissingApiKey: "BadApiKey",
  Rejected: "ApiUnavailable",
  NotFound: "ApiUnavailable",
  RateLimited: "ApiUnavailable",
  Unavailable: "ApiUnavailable",
  TimedOut: "ApiUnavailable",
  OutcomeUnknown: "ApiUnavailable",
  ContractBroken: "ApiUnavailable",
  TooLarge: "ApiUnavailable",
  Aborted: "ApiUnavailable",
  NotPermitted: "ApiUnavailable",
};

function faultFinding(fault: WafFault): SyncedFinding {
  const reason = faultReasons[fault.code];
  if (reason === "BadApiKey") {
    const message = `${fault.message} Store the correct key in the Secret that spec.apiKeySecretRef names; wafsync reads it again before each attempt.`;
    return { status: "False", reason, message, quotesApi: true, next: "Person" };
  }
  const message = `${fault.message} wafsync retries.`;
  if (fault.code === "TooLarge") return { status: "False", reason, message, next: "Person" };
  return { status: "False", reason, message, cause: fault.message, quotesApi: true, next: "Retrying" };
}

function blockerFinding(blocker: Blocker, message: string): SyncedFinding {
  switch (blocker) {
    case "InventoryConflict":
    case "InventoryUnwritable":
    case "Unconfirmed":
      return {
        status: "False",
        reason: "Blocked",
        message: `${message} wafsync retries.`,
        cause: message,
        next: "Retrying",
      };
    case "MissingApiKey":
      return { status: "False", reason: "BadApiKey", message, next: "Person" };
    case "DuplicateKey":
    case "BaseUrlNotAllowed":
    case "InventoryUnreadable":
    case "DomainChanged":
    case "Continued":
    case "NotContinued":
      return { status: "False", reason: "Blocked", message, next: "Person" };
  }
}

/** The rate of the run and the remaining time, in words; empty until they are known. */
export function paceInWords(facts: RunFacts): string {
  const waiting = waitingInWords(facts);
  const { pace } = facts;
  if (pace?.perSecond === undefined || pace.left === 0) return waiting;
  const perSecond = pace.perSecond >= 10 ? Math.round(pace.perSecond) : Number(pace.perSecond.toPrecision(2));
  return ` ${perSecond} calls per second, about ${durationInWords(pace.left / pace.perSecond)} left.${waiting}`;
}

/** Why the run is currently waiting; empty if it is not. */
export function waitingInWords({ waiting }: RunFacts): string {
  return waiting === undefined ? "" : ` Waiting: ${waiting}.`;
}

/** `45 s`, `3 min 20 s` or `2 h 5 min`. */
export function durationInWords(seconds: number): string {
  const whole = Math.max(1, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return whole % 60 === 0 ? `${minutes} min` : `${minutes} min ${whole % 60} s`;
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
