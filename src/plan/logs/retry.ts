// What to do about a failed call for logs. A scroll id that may have been used is never used again: the API may have gone on to the
// next page, and a page would be missing. Then the day is begun again.
import type { WafFault } from "../../model/waf-result.ts";

export interface LogFailure {
  readonly fault: WafFault;
  readonly stage: "Query" | "Scroll";
  /** Calls and readings that failed in a row, this one included. */
  readonly failures: number;
  /** Whether a page already succeeded: then the failure is probably transient. */
  readonly hasWorked: boolean;
}

export type LogRetry = "SamePage" | "SameDay" | "Fail";

/** Failures in a row. With growing pauses this is a few minutes. */
export const logFailuresMax = 20;
/** Before anything worked, a wrong address is more likely than a passing trouble. */
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
