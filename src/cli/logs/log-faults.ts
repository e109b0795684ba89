// Turns a permanently failed call for logs into an error that says what users can do.
import type { WafFault, WafFaultCode } from "../../model/waf-result.ts";
import { CommandError } from "../describe-error.ts";
import type { DeclaredKey } from "../key-hint.ts";
import { keyHint, removedQuery } from "../key-hint.ts";

const hints: Readonly<Partial<Record<WafFaultCode, string>>> = {
  BadApiKey: "Check the key in WAFSYNC_API_KEY or the key file, and that it belongs to this base URL.",
  MissingApiKey: removedQuery,
  NotFound: "The API key is valid, but its account has no WAF: use the key of the account that has the WAF.",
  Rejected:
    "wafsync checked the dates by the API's published rules, which may have changed. Try a shorter range that ends yesterday.",
  ContractBroken: "Check that --base-url is the address of the API, without /api at the end.",
  TooLarge: "Set a smaller --page-size.",
  Unavailable: "Try again later: with --out FILE, --resume continues where the download stopped.",
  TimedOut: "Try again later, with a larger --timeout or a smaller --page-size.",
  RateLimited: "Try again later: with --out FILE, --resume continues where the download stopped.",
};

/** @param declared the instance that declares the WAF; undefined if options do */
export function logFaultError(fault: WafFault, declared: DeclaredKey | undefined): CommandError {
  const message =
    fault.code === "Rejected" || fault.code === "NotFound"
      ? `the WAF refuses to return logs (${fault.status}): ${fault.message}`
      : fault.message;
  const hint = (declared === undefined ? undefined : keyHint(fault, declared)) ?? hints[fault.code];
  return new CommandError(`cannot read the logs: ${message}`, hint);
}
