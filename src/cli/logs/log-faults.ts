// What a person can do about a call for logs that failed for good.
import type { WafFault, WafFaultCode } from "../../model/waf-result.ts";
import { CommandError } from "../describe-error.ts";

const hints: Readonly<Partial<Record<WafFaultCode, string>>> = {
  BadApiKey: "Check the key in WAFSYNC_API_KEY, the key file or the Secret, and that it belongs to this base URL.",
  MissingApiKey: "Look for a proxy in between that drops the query of requests.",
  NotFound: "The API key is known, but its account has no WAF: use the key of the account that has it.",
  Rejected:
    "The dates were checked by the API's published rules, which may have changed. Try a shorter range that ends yesterday.",
  ContractBroken: "Check that --base-url is the API's address, without /api at its end.",
  Unavailable: "Try again later: with --output FILE, --resume goes on where it ended.",
  TimedOut: "Try again later, with a larger --timeout or a smaller --page-size.",
  RateLimited: "Try again later: with --output FILE, --resume goes on where it ended.",
};

export function logFaultError(fault: WafFault): CommandError {
  const message =
    fault.code === "Rejected" || fault.code === "NotFound"
      ? `the WAF refuses to give logs (${fault.status}): ${fault.message}`
      : fault.message;
  return new CommandError(`the logs can't be read: ${message}`, hints[fault.code]);
}
