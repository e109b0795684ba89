// `wafsync clear-cache`: clears the cache of one WAF once, with retries, for pipelines.
import { realClock } from "../async/clock.ts";
import { baseUrlObjection } from "../app/base-url-policy.ts";
import type { ClearOutcome } from "../app/clear-cache-once.ts";
import { clearCacheOnce } from "../app/clear-cache-once.ts";
import type { WafFault } from "../model/waf-result.ts";
import { CommandError, redactError } from "./describe-error.ts";
import { processLocks } from "./process-locks.ts";
import { readApiKey } from "./read-api-key.ts";
import { withStopSignals } from "./stop-signals.ts";
import { terminalOn } from "./terminal.ts";

export interface ClearCacheOptions {
  readonly baseUrl: string;
  readonly keyFile?: string;
  readonly expectedDomain?: string;
  readonly retries: number;
  readonly timeout: number;
  readonly allowInsecureHttp: boolean;
  readonly output: "table" | "json";
}

/** @returns 0 if cleared, 2 if not, 130 if it was stopped. */
export async function runClearCache(options: ClearCacheOptions): Promise<number> {
  const { allowInsecureHttp } = options;
  const policy = { allowInsecureHttp, allowedBaseUrls: undefined, allowPrivateNetworks: true };
  const objection = baseUrlObjection(policy, options.baseUrl);
  if (objection !== undefined) throw new CommandError(objection.replace("spec.baseUrl", "--base-url"));
  const key = await readApiKey(options.keyFile);
  const request = {
    baseUrl: options.baseUrl,
    key,
    expectedDomain: options.expectedDomain,
    retries: options.retries,
    timeoutMs: options.timeout * 1000,
    clock: realClock,
    locks: processLocks("wafsync clear-cache"),
    random: Math.random,
    onRetry: (fault: WafFault, delayMs: number) => {
      terminalOn(process.stderr).line(`${key.redact(fault.message)} Retrying in ${Math.ceil(delayMs / 1000)} s.`);
    },
  };
  const outcome = await withStopSignals(async (stopping) => await clearCacheOnce({ ...request, stopping })).catch(
    (error: unknown) => {
      throw redactError(error, (text) => key.redact(text));
    },
  );
  const text = options.output === "json" ? JSON.stringify(outcome) : describeOutcome(outcome, options);
  const stream = outcome.state === "Cleared" || options.output === "json" ? process.stdout : process.stderr;
  terminalOn(stream).line(key.redact(text));
  if (outcome.state === "Stopped") return 130;
  return outcome.state === "Cleared" ? 0 : 2;
}

function keyHint({ code }: WafFault): string {
  if (code !== "BadApiKey" && code !== "MissingApiKey") return "";
  return "\n  Put a valid key into the environment variable WAFSYNC_API_KEY, or into the file that --key-file names.";
}

function describeOutcome(outcome: ClearOutcome, { expectedDomain }: ClearCacheOptions): string {
  switch (outcome.state) {
    case "Cleared":
      return `The WAF has started to clear the cache of ${outcome.domain}${outcome.attempts === 1 ? "" : ` (attempt ${outcome.attempts})`}.`;
    case "WrongDomain":
      return `error: the API key belongs to ${outcome.domain}, not to ${expectedDomain ?? ""}: nothing was cleared`;
    case "Failed":
      return `error: the cache was not cleared (${outcome.attempts === 1 ? "1 attempt" : `${outcome.attempts} attempts`}): ${outcome.fault.message}${keyHint(outcome.fault)}`;
    case "Stopped":
      return "error: stopped before the cache was cleared";
  }
}
