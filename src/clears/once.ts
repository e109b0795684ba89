// Clears the cache of one WAF once, without an operator: for pipelines.
import type { Clock } from "../async/clock.ts";
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { WafFault } from "../model/waf-result.ts";
import type { WafClient } from "../waf/client.ts";

const retryBaseMs = 1_000;
const retryMsMax = 30_000;

export interface ClearOptions {
  readonly waf: Pick<WafClient, "readOrigins" | "clearCache">;
  readonly expectedDomain: string | undefined;
  /** Attempts after the first. */
  readonly retries: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  /** `stop`: no further call; `abandon`: a call in flight is given up. */
  readonly stopping: { readonly stop: AbortSignal; readonly abandon: AbortSignal };
  /** Called before each wait. */
  readonly onRetry: (fault: WafFault, delayMs: number) => void;
}

export type ClearOutcome =
  | { readonly state: "Cleared"; readonly domain: string; readonly message: string; readonly attempts: number }
  | { readonly state: "WrongDomain"; readonly domain: string; readonly attempts: number }
  | { readonly state: "Failed"; readonly fault: WafFault; readonly attempts: number }
  | { readonly state: "Stopped"; readonly attempts: number };

/** Clears the cache and retries after transient failures: a second clear does no harm, but a missing one does. */
export async function clearCacheOnce(options: ClearOptions): Promise<ClearOutcome> {
  const { clock, random, retries, stopping } = options;
  const deadlineMs = clock.monotonicMs() + options.timeoutMs;
  for (let attempts = 1; ; attempts += 1) {
    const outcome = await attempt(options, attempts);
    if (outcome.state !== "Failed") return outcome;
    if (stopping.stop.aborted) return { state: "Stopped", attempts };
    const { fault } = outcome;
    const backOffMs = upwardBackOffDelayMs({ attempt: attempts, baseMs: retryBaseMs, maxMs: retryMsMax, random });
    const delayMs = Math.max(backOffMs, fault.retryAfterMs ?? 0);
    if (!isTransient(fault) || attempts > retries || clock.monotonicMs() + delayMs >= deadlineMs) return outcome;
    options.onRetry(fault, delayMs);
    await clock.sleep(delayMs, stopping.stop);
    if (stopping.stop.aborted) return { state: "Stopped", attempts };
  }
}

async function attempt(options: ClearOptions, attempts: number): Promise<ClearOutcome> {
  const { waf, expectedDomain, stopping } = options;
  const signal = stopping.abandon;
  if (expectedDomain !== undefined) {
    const read = await waf.readOrigins({ signal });
    if (!read.ok) return { state: "Failed", fault: read.fault, attempts };
    const { domain } = read.value;
    if (domain.toLowerCase() !== expectedDomain.toLowerCase()) return { state: "WrongDomain", domain, attempts };
  }
  const cleared = await waf.clearCache({ signal });
  if (!cleared.ok) return { state: "Failed", fault: cleared.fault, attempts };
  return { state: "Cleared", ...cleared.value, attempts };
}

function isTransient({ code }: WafFault): boolean {
  return code === "RateLimited" || code === "Unavailable" || code === "TimedOut" || code === "OutcomeUnknown";
}
