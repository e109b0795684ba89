// `wafsync clear-cache`: clears the cache of one WAF once, for pipelines: through the operator of a cluster, or by a direct call with
// retries.
import type { ClearObjectOutcome } from "../clears/object.ts";
import type { ClearOutcome } from "../clears/once.ts";
import { realClock } from "../async/clock.ts";
import type { ApiFault } from "../kube/api-result.ts";
import { type ObjectName, nameKey } from "../model/resource.ts";
import type { WafFault } from "../model/waf-result.ts";
import type { ClearCacheOptions } from "./commands/waf-commands.ts";
import { CommandError } from "./describe-error.ts";
import { type Session, withSession } from "./session.ts";
import { withBaseUrl } from "./targets/open-target.ts";
import { parseInstanceName } from "./targets/target-options.ts";

const triggerLengthMax = 253;
const requestTimeoutMs = 10_000;

/** @returns 0 if cleared, already handled, or created without `--wait`; 2 if not; 130 if it was stopped. */
export async function runClearCache(options: ClearCacheOptions): Promise<number> {
  const { instance, baseUrl, trigger, namespace } = options;
  if (instance !== undefined) return await clearInCluster(instance, options);
  if (baseUrl === undefined) {
    throw new CommandError(
      "no cache specified",
      "Set --instance NAMESPACE/NAME for an instance in a cluster, or --base-url URL for a WAF without one.",
    );
  }
  if (trigger !== undefined || namespace !== undefined) {
    throw new CommandError("--trigger and --namespace need --instance: without a cluster, triggers are not recorded");
  }
  const how = { command: "wafsync clear-cache", requestTimeoutMs, writes: true };
  return await withBaseUrl({ ...options, baseUrl }, how, async (waf, session) => {
    const { clearCacheOnce } = await import("../clears/once.ts");
    const outcome = await clearCacheOnce({
      waf,
      expectedDomain: options.expectedDomain,
      retries: options.retries,
      timeoutMs: options.timeout * 1000,
      clock: realClock,
      random: Math.random,
      stopping: session.stopping(),
      onRetry: ({ message }, delayMs) => session.notes.line(`${message} Retrying in ${Math.ceil(delayMs / 1000)} s.`),
    });
    const isDone = outcome.state === "Cleared";
    return finish(outcome, { isDone, text: describeClear(outcome, options) }, options, session);
  });
}

/** Prints the outcome, and returns the exit code. */
function finish(
  outcome: ClearOutcome | ClearObjectOutcome,
  { isDone, text }: { readonly isDone: boolean; readonly text: string },
  { output }: ClearCacheOptions,
  { out, notes }: Session,
): number {
  (isDone || output === "json" ? out : notes).line(output === "json" ? JSON.stringify(outcome) : text);
  if (outcome.state === "Stopped") return 130;
  return isDone ? 0 : 2;
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

/** Clears the cache through the operator of the instance. */
async function clearInCluster(name: string, options: ClearCacheOptions): Promise<number> {
  const { trigger = "" } = options;
  if (trigger.length > triggerLengthMax)
    throw new CommandError(`the trigger has more than ${triggerLengthMax} characters`);
  return await withSession(async (session) => {
    const { openCluster } = await import("./targets/cluster-target.ts");
    const { api, namespace } = openCluster(options, session);
    const instance = { namespace: namespace ?? "default", ...parseInstanceName(name) };
    const { clearThroughObject } = await import("../clears/object.ts");
    const outcome = await clearThroughObject({
      api,
      instance,
      namespace: options.namespace ?? instance.namespace,
      // An empty string, such as an unset variable in a script, is not a trigger.
      trigger: trigger === "" ? undefined : trigger,
      backoffLimit: options.retries,
      deadlineMs: options.timeout * 1000,
      ttlAfterFinishedMs: options.ttl * 1000,
      waits: options.wait,
      clock: realClock,
      random: Math.random,
      stop: session.stopping().stop,
      onMessage: (message) => session.notes.line(message),
    });
    const isDone = outcome.state === "Cleared" || outcome.state === "Created" || outcome.state === "AlreadyHandled";
    return finish(outcome, { isDone, text: describeObject(outcome, instance, options) }, options, session);
  });
}

function describeObject(
  outcome: ClearObjectOutcome,
  instance: ObjectName,
  { namespace, trigger = "" }: ClearCacheOptions,
): string {
  const object = outcome.object === undefined ? "" : `WafCacheClear ${outcome.object}`;
  switch (outcome.state) {
    case "Created":
      return `${object} was created; add --wait to wait for its result.`;
    case "Cleared":
      return `The cache of WafInstance ${nameKey(instance)} is cleared (${object}). ${outcome.message}`;
    case "AlreadyHandled":
      return `The cache of WafInstance ${nameKey(instance)} was already cleared for trigger ${JSON.stringify(trigger)} (${object}): nothing was done.`;
    case "NoInstance":
      return `error: no cache was cleared: there is no WafInstance ${nameKey(instance)}\n  Nothing was created. "kubectl get wafinstances -A" lists the cluster's instances.`;
    case "Failed":
      return `error: the cache was not cleared (${object}): ${outcome.message}`;
    case "TimedOut":
      return `error: ${object} did not finish within the timeout: ${outcome.message}`;
    case "Stopped":
      return `error: stopped waiting for ${object}; the operator continues`;
    case "NotCreated": {
      const what = outcome.object === undefined ? "the WafCacheClear was not created" : `cannot follow ${object}`;
      return `error: ${what}: ${outcome.message}${hintOf(outcome.fault, namespace ?? instance.namespace)}`;
    }
  }
}

function hintOf({ code }: ApiFault, namespace: string): string {
  if (code === "Forbidden")
    return `\n  This command needs permission to create and get wafcacheclears in namespace ${namespace}.`;
  if (code === "NotFound")
    return `\n  Check that namespace ${namespace} exists and that the wafsync CRDs are installed.`;
  return "";
}
