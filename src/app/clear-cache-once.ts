// Clears the cache of one WAF once, without an operator: for pipelines.
import type { Clock } from "../async/clock.ts";
import { upwardBackOffDelayMs } from "../async/back-off.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { WafFault } from "../model/waf-result.ts";
import { createWafClient } from "../waf/client.ts";
import type { KeyLocks } from "../waf/key-lock.ts";
import type { WafClient } from "../waf/client.ts";
import { LaneRegistry } from "../waf/lane-registry.ts";
import type { Stopping } from "./stopping.ts";

const requestTimeoutMs = 10_000;
const retryBaseMs = 1_000;
const retryMsMax = 30_000;

export interface ClearOptions {
  readonly baseUrl: string;
  readonly key: ApiKey;
  readonly expectedDomain: string | undefined;
  /** Attempts after the first. */
  readonly retries: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Coordinates with other processes on this machine that use the same API key. */
  readonly locks?: KeyLocks | undefined;
  readonly random: () => number;
  readonly stopping: Stopping;
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
  const { clock, stopping, baseUrl, key } = options;
  const registry = new LaneRegistry({ clock, locks: options.locks });
  const lane = registry.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
  const permit = () =>
    stopping.stop.aborted
      ? ({ permitted: false, reason: "wafsync is stopping." } as const)
      : ({ permitted: true } as const);
  const client = createWafClient({ baseUrl, key, requestTimeoutMs, lane, permit, clock });
  try {
    return await attemptUntilDone(options, client);
  } finally {
    await registry.close();
  }
}

async function attemptUntilDone(options: ClearOptions, client: WafClient): Promise<ClearOutcome> {
  const { clock, random, retries, stopping } = options;
  const deadlineMs = clock.monotonicMs() + options.timeoutMs;
  for (let attempts = 1; ; attempts += 1) {
    const outcome = await attempt(options, client, attempts);
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

async function attempt(options: ClearOptions, client: WafClient, attempts: number): Promise<ClearOutcome> {
  const { expectedDomain, stopping } = options;
  const signal = stopping.abandon;
  if (expectedDomain !== undefined) {
    const read = await client.readOrigins({ signal });
    if (!read.ok) return { state: "Failed", fault: read.fault, attempts };
    const { domain } = read.value;
    if (domain.toLowerCase() !== expectedDomain.toLowerCase()) return { state: "WrongDomain", domain, attempts };
  }
  const cleared = await client.clearCache({ signal });
  if (!cleared.ok) return { state: "Failed", fault: cleared.fault, attempts };
  return { state: "Cleared", ...cleared.value, attempts };
}

function isTransient({ code }: WafFault): boolean {
  return code === "RateLimited" || code === "Unavailable" || code === "TimedOut" || code === "OutcomeUnknown";
}
