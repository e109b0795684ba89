// Decides how to continue after a failed call for logs. A scroll ID that may have been used is never used again: the API may already
// be at the next page, and a page would be missing. The day is then read again from its start.
import type { WafFault } from "../../model/waf-result.ts";

export interface LogFailure {
  readonly fault: WafFault;
  readonly stage: "Query" | "Scroll";
  /** Consecutive failures of calls and readings, including this one. */
  readonly failures: number;
  /** Whether a page already succeeded: then the failure is probably transient. */
  readonly hasWorked: boolean;
}

export type LogRetry = "SamePage" | "SameDay" | "Fail";

/** The maximum number of consecutive failures. With backoff, this takes a few minutes. */
export const logFailuresMax = 20;
/** Before the first success, a wrong address is more likely than a transient error. */
const firstFailuresMax = 5;

export function retryOfLogs({ fault, stage, failures, hasWorked }: LogFailure): LogRetry {
  if (failures >= (hasWorked ? logFailuresMax : firstFailuresMax)) return "Fail";
  switch (fault.code) {
    case "RateLimited":
      return "SamePage";
    case "Unavailable":
    case "TimedOut":
      return stage === "Query" ? "SamePage" : "SameDay";
    case "Rejected":
      return stage === "Scroll" ? "SameDay" : "Fail";
    case "ContractBroken":
      // A redirect, or a 404 from a different server: the URL is wrong.
      return hasWorked || fault.status === undefined || fault.status === 200 ? "SameDay" : "Fail";
    case "TooLarge":
    case "BadApiKey":
    case "MissingApiKey":
    case "NotFound":
    case "Aborted":
    case "NotPermitted":
    case "OutcomeUnknown":
      return "Fail";
  }
}
