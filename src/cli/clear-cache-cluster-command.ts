// `wafsync clear-cache --instance`: clears the cache of an instance in a cluster once, through its operator.
import packageJson from "../../package.json" with { type: "json" };
import type { ClearObjectOutcome } from "../app/clear-cache-object.ts";
import { clearThroughObject } from "../app/clear-cache-object.ts";
import { realClock } from "../async/clock.ts";
import type { ApiFault } from "../kube/api-result.ts";
import { createApiServer } from "../kube/api-server.ts";
import { kubeConfigCredentials } from "../kube/credentials.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { CommandError } from "./describe-error.ts";
import { parseInstanceName } from "./instance-name.ts";
import { readKubeConfig } from "./read-kube-config.ts";
import type { ClusterOptions } from "./read-kube-config.ts";
import { withStopSignals } from "./stop-signals.ts";
import { terminalOn } from "./terminal.ts";

export interface ClearCacheClusterOptions extends ClusterOptions {
  readonly instance: string;
  readonly namespace?: string;
  readonly trigger?: string;
  readonly wait: boolean;
  readonly ttl: number;
  readonly retries: number;
  readonly timeout: number;
  readonly output: "table" | "json";
}

const triggerLengthMax = 253;

/** @returns 0 if cleared, already handled, or created without `--wait`; 2 if not; 130 if it was stopped. */
export async function runClearCacheInCluster(options: ClearCacheClusterOptions): Promise<number> {
  const { trigger = "", output } = options;
  if (trigger.length > triggerLengthMax)
    throw new CommandError(`the trigger has more than ${triggerLengthMax} characters`);
  const { kubeConfig, contextNamespace } = readKubeConfig(options);
  const instance = { namespace: options.namespace ?? contextNamespace, ...parseInstanceName(options.instance) };
  const credentials = kubeConfigCredentials(kubeConfig);
  const api = createApiServer({ credentials, clock: realClock, userAgent: `wafsync/${packageJson.version}` });
  const request = {
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
    onMessage: (message: string) => terminalOn(process.stderr).line(message),
  };
  const outcome = await withStopSignals(async ({ stop }) => await clearThroughObject({ ...request, stop }));
  api.close();
  const isDone = outcome.state === "Cleared" || outcome.state === "Created" || outcome.state === "AlreadyHandled";
  const text = output === "json" ? JSON.stringify(outcome) : describeOutcome(outcome, instance, options);
  const stream = isDone || output === "json" ? process.stdout : process.stderr;
  terminalOn(stream).line(text);
  if (outcome.state === "Stopped") return 130;
  return isDone ? 0 : 2;
}

function describeOutcome(
  outcome: ClearObjectOutcome,
  instance: ObjectName,
  { namespace, trigger = "" }: ClearCacheClusterOptions,
): string {
  const object = outcome.object === undefined ? "" : `WafCacheClear ${outcome.object}`;
  switch (outcome.state) {
    case "Created":
      return `${object} was created; add --wait to wait for its result.`;
    case "Cleared":
      return `The cache of WafInstance ${nameKey(instance)} is cleared (${object}, ${outcome.reason}). ${outcome.message}`;
    case "AlreadyHandled":
      return `The cache of WafInstance ${nameKey(instance)} was already cleared for trigger ${JSON.stringify(trigger)} (${object}): nothing was done.`;
    case "NoInstance":
      return `error: no cache was cleared: there is no WafInstance ${nameKey(instance)}\n  Nothing was created. "kubectl get wafinstances -A" lists the cluster's instances.`;
    case "Failed":
      return `error: the cache was not cleared (${object}, ${outcome.reason}): ${outcome.message}`;
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
