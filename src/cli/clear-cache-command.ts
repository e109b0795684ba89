// `wafsync clear-cache`: clears the cache of one WAF once, with retries, for pipelines without a cluster.
import { clearCacheOnce } from "../clears/once.ts";
import { realClock } from "../async/clock.ts";
import { counted } from "../model/texts.ts";
import type { ClearCacheOptions } from "./commands/waf-commands.ts";
import { CommandError } from "./describe-error.ts";
import { withBaseUrl, givenKeyHint } from "./targets/open-target.ts";

/** @returns 0 if cleared; 130 if it was stopped. @throws CommandError if it was not cleared */
export async function runClearCache(options: ClearCacheOptions): Promise<number> {
  const how = { command: "wafsync clear-cache", requestTimeoutMs: 10_000, writes: true };
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
    const { attempts } = outcome;
    switch (outcome.state) {
      case "Cleared": {
        const tried = attempts === 1 ? "" : ` (attempt ${attempts})`;
        out.line(`The WAF has started to clear the cache of ${outcome.domain}${tried}.`);
        return 0;
      }
      case "Stopped":
        notes.line("error: stopped before the cache was cleared");
        return 130;
      case "WrongDomain":
        throw new CommandError(
          `the API key belongs to ${outcome.domain}, not to ${options.expectedDomain}: nothing was cleared`,
        );
      case "Failed":
        throw new CommandError(
          `the cache was not cleared (${counted(attempts, "attempt", "attempts")}): ${outcome.fault.message}`,
          givenKeyHint(outcome.fault),
        );
    }
  });
}
