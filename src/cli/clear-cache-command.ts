// `wafsync clear-cache`: clears the cache of one WAF once, with retries, for pipelines without a cluster.
import { clearCacheOnce, type ClearOutcome } from "../clears/once.ts";
import { realClock } from "../async/clock.ts";
import type { WafFault } from "../model/waf-result.ts";
import type { ClearCacheOptions } from "./commands/waf-commands.ts";
import { withBaseUrl } from "./targets/open-target.ts";

const requestTimeoutMs = 10_000;

/** @returns 0 if cleared, 2 if not; 130 if it was stopped. */
export async function runClearCache(options: ClearCacheOptions): Promise<number> {
  const how = { command: "wafsync clear-cache", requestTimeoutMs, writes: true };
  return await withBaseUrl(options, how, async (waf, { out, notes, stopping }) => {
    const outcome = await clearCacheOnce({
      waf,
      expectedDomain: options.expectedDomain,
      retries: options.retries,
      timeoutMs: options.timeout * 1000,
      clock: realClock,
      random: Math.random,
      stopping: stopping(),
      onRetry: ({ message }, delayMs) => notes.line(`${message} Retrying in ${Math.ceil(delayMs / 1000)} s.`),
    });
    const isJson = options.output === "json";
    const terminal = outcome.state === "Cleared" || isJson ? out : notes;
    terminal.line(isJson ? JSON.stringify(outcome) : describeClear(outcome, options));
    if (outcome.state === "Stopped") return 130;
    return outcome.state === "Cleared" ? 0 : 2;
  });
}

function keyHint({ code }: WafFault): string {
  if (code !== "BadApiKey" && code !== "MissingApiKey") return "";
  return "\n  Put a valid key into the environment variable WAFSYNC_API_KEY, or into the file that --key-file names.";
}

function describeClear(outcome: ClearOutcome, { expectedDomain }: ClearCacheOptions): string {
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
