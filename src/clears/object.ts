// Clears the cache of an instance through the operator: creates a WafCacheClear and waits for its result. Only the operator
// has the API key, and its calls with one key stay sequential. The command needs the permissions to create and get the objects.
// With the permission to get the WafInstance, it first checks that the instance exists.
//
// With a trigger, the name of the object is derived from it, so that another command with the same trigger finds the same
// object. An object that failed is kept, and the next attempt creates another one with a number appended to its name.
import { hexDigest } from "../model/hex-digest.ts";
import { backOffDelayMs } from "../async/back-off.ts";
import type { Clock } from "../async/clock.ts";
import type { Condition } from "../kinds/conditions.ts";
import { findCondition } from "../kinds/conditions.ts";
import { apiVersion } from "../kinds/kinds.ts";
import type { ApiFault, ApiResult } from "../kube/api-result.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { KubeObject } from "../kube/kube-object.ts";
import { createObject, getObject } from "../kube/verbs.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import { typeOfKind } from "../source/cluster/cluster-object.ts";

const requestTimeoutMs = 10_000;
const pollMs = 1_000;
const retryBaseMs = 500;
const retryMsMax = 10_000;
/** The maximum number of failed objects for one trigger. */
const objectsMax = 10;
const hashLength = 10;

const type = typeOfKind("WafCacheClear");
const instanceType = typeOfKind("WafInstance");

export interface ClearObjectOptions {
  readonly api: ApiServer;
  readonly instance: ObjectName;
  /** The namespace of the object. */
  readonly namespace: string;
  readonly trigger: string | undefined;
  readonly backoffLimit: number;
  readonly deadlineMs: number;
  readonly ttlAfterFinishedMs: number;
  /** If false, the command ends as soon as the object exists. */
  readonly waits: boolean;
  readonly clock: Clock;
  readonly random: () => number;
  readonly stop: AbortSignal;
  /** Called whenever the status of the object has changed. */
  readonly onMessage: (message: string) => void;
}

interface Outcome {
  /** `namespace/name` of the object; undefined if there is none. */
  readonly object: string | undefined;
  readonly message: string;
}

export type ClearObjectOutcome =
  | (Outcome & { readonly state: "Created" | "Stopped" | "TimedOut" })
  | (Outcome & { readonly state: "Cleared" | "Failed"; readonly attempts: number })
  /** The trigger was handled before: nothing was done. */
  | (Outcome & { readonly state: "AlreadyHandled"; readonly attempts: number })
  /** There is no such instance: nothing was created. */
  | (Outcome & { readonly state: "NoInstance" })
  /** The API server refused the request or was unreachable. */
  | (Outcome & { readonly state: "NotCreated"; readonly fault: ApiFault });

interface ClearObject extends KubeObject {
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly Condition[];
    readonly attempts?: number;
    readonly coalescedWith?: string;
  };
}

/** Never rejects because of a failure in the cluster. */
export async function clearThroughObject(options: ClearObjectOptions): Promise<ClearObjectOutcome> {
  const giveUpMs = options.clock.monotonicMs() + options.deadlineMs;
  const missing = await missingInstance(options, giveUpMs);
  if (missing !== undefined) return missing;
  for (let number = 1; number <= objectsMax; number += 1) {
    const found = await createOrFind(options, number, giveUpMs);
    if (!found.ok) return { state: "NotCreated", object: undefined, message: found.fault.message, fault: found.fault };
    const { object, isNew } = found.value;
    // Without a trigger, every object is new, so only an object with a trigger can already be finished.
    const before = isNew ? undefined : outcomeOf(object);
    if (before?.state === "Failed") continue;
    if (before?.state === "Cleared") return alreadyHandled(before);
    return options.waits ? await waitFor(options, object, giveUpMs) : created(object, isNew);
  }
  const message = `All ${objectsMax} objects for this trigger failed: see their status, delete them, or use another trigger.`;
  return { state: "Failed", object: undefined, message, attempts: 0 };
}

/** An object for an instance that does not exist would wait, and clear the cache as soon as the instance is created. */
async function missingInstance(options: ClearObjectOptions, giveUpMs: number): Promise<ClearObjectOutcome | undefined> {
  const { api, instance } = options;
  const read = await tryUntil(options, giveUpMs, async () => {
    return await getObject<KubeObject>(api, instanceType, instance, { timeoutMs: requestTimeoutMs });
  });
  // If this command may not read the instance, the operator reports on the object that the instance does not exist.
  if (read.ok || read.fault.code !== "NotFound") return undefined;
  return { state: "NoInstance", object: undefined, message: `There is no WafInstance ${nameKey(instance)}.` };
}

function alreadyHandled({ object, message, attempts }: Outcome & { readonly attempts: number }): ClearObjectOutcome {
  return { state: "AlreadyHandled", object, message, attempts };
}

function created(object: ClearObject, isNew: boolean): ClearObjectOutcome {
  const message = isNew ? "It was created." : "It exists already.";
  return outcomeOf(object) ?? { state: "Created", object: keyOf(object), message };
}

async function createOrFind(
  options: ClearObjectOptions,
  number: number,
  giveUpMs: number,
): Promise<ApiResult<{ readonly object: ClearObject; readonly isNew: boolean }>> {
  const { api, namespace } = options;
  const body = bodyOf(options, number);
  const result = await tryUntil(options, giveUpMs, async () => {
    const written = await createObject<ClearObject>(api, type, namespace, body, { timeoutMs: requestTimeoutMs });
    if (written.ok) return { ...written, value: { object: written.value, isNew: true } };
    if (written.fault.code !== "AlreadyExists") return written;
    const { name = "" } = body.metadata;
    const read = await getObject<ClearObject>(api, type, { namespace, name }, { timeoutMs: requestTimeoutMs });
    return read.ok ? { ...read, value: { object: read.value, isNew: false } } : read;
  });
  return result;
}

function bodyOf(options: ClearObjectOptions, number: number) {
  const { instance, namespace, trigger } = options;
  const prefix = `${instance.name}-clear-`;
  const suffix = number === 1 ? "" : `-${number}`;
  const named =
    trigger === undefined
      ? { generateName: prefix, name: undefined }
      : { name: `${prefix}${hashOf(instance, trigger)}${suffix}` };
  return {
    apiVersion,
    kind: "WafCacheClear",
    metadata: { namespace, ...named },
    spec: {
      instanceRef: instance.namespace === namespace ? { name: instance.name } : instance,
      ...(trigger === undefined ? {} : { trigger }),
      backoffLimit: options.backoffLimit,
      activeDeadlineSeconds: Math.ceil(options.deadlineMs / 1000),
      ttlSecondsAfterFinished: Math.ceil(options.ttlAfterFinishedMs / 1000),
    },
  };
}

function hashOf(instance: ObjectName, trigger: string): string {
  return hexDigest(`${nameKey(instance)} ${trigger}`, hashLength);
}

async function waitFor(
  options: ClearObjectOptions,
  object: ClearObject,
  giveUpMs: number,
): Promise<ClearObjectOutcome> {
  const { api, namespace, clock, stop } = options;
  const { name } = object.metadata;
  let reported = "";
  for (let seen: ClearObject = object; ;) {
    const outcome = outcomeOf(seen);
    if (outcome !== undefined) return outcome;
    const message = messageOf(seen);
    if (message !== reported) options.onMessage(message);
    reported = message;
    if (stop.aborted) return { state: "Stopped", object: keyOf(object), message };
    if (clock.monotonicMs() >= giveUpMs) return { state: "TimedOut", object: keyOf(object), message };
    await clock.sleep(pollMs, stop);
    const read = await getObject<ClearObject>(api, type, { namespace, name }, { timeoutMs: requestTimeoutMs });
    if (read.ok) seen = read.value;
    else if (!isTransient(read.fault)) {
      const { fault } = read;
      const why = fault.code === "NotFound" ? "It was deleted before it finished." : fault.message;
      return { state: "NotCreated", object: keyOf(object), message: why, fault };
    }
  }
}

async function tryUntil<T>(
  { clock, random, stop, onMessage }: ClearObjectOptions,
  giveUpMs: number,
  attempt: () => Promise<ApiResult<T>>,
): Promise<ApiResult<T>> {
  for (let attempts = 1; ; attempts += 1) {
    const result = await attempt();
    if (result.ok || stop.aborted || !isTransient(result.fault)) return result;
    const backOffMs = backOffDelayMs({ attempt: attempts, baseMs: retryBaseMs, maxMs: retryMsMax, random });
    const delayMs = Math.max(backOffMs, result.fault.retryAfterMs ?? 0);
    if (clock.monotonicMs() + delayMs >= giveUpMs) return result;
    onMessage(`${result.fault.message}. wafsync retries.`);
    await clock.sleep(delayMs, stop);
  }
}

/** A create request with an unknown outcome is retried: a trigger finds its own object, and a second clear does no harm. */
function isTransient({ code }: ApiFault): boolean {
  return code === "Unavailable" || code === "TimedOut" || code === "TooManyRequests";
}

/** The outcome of the object's clear; undefined while it is in progress. */
function outcomeOf(object: ClearObject): ClearObjectOutcome | undefined {
  const { conditions = [], attempts = 0, coalescedWith } = object.status ?? {};
  const complete = findCondition(conditions, "Complete");
  const failed = findCondition(conditions, "Failed");
  const over = failed?.status === "True" ? failed : complete;
  if (over?.status !== "True") return undefined;
  const outcome = { object: keyOf(object), message: messageOf(object), attempts };
  if (over === failed) return { state: "Failed", ...outcome };
  return attempts === 0 && coalescedWith === undefined ? alreadyHandled(outcome) : { state: "Cleared", ...outcome };
}

function messageOf({ status }: ClearObject): string {
  const ready = findCondition(status?.conditions ?? [], "Ready");
  return ready?.message ?? "No operator has picked it up yet.";
}

function keyOf({ metadata: { namespace = "", name } }: ClearObject): string {
  return nameKey({ namespace, name });
}
