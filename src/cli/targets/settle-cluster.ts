// Writes the rules of a command to a cluster, and waits until the operator reports the result. To delete a rule, it first lets
// the rule expire, and deletes it when the status reports that its entries are removed.
import { formatTime } from "../../api/conditions.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiFault, ApiResult } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { createObject, deleteObject, getObject, mergePatchObject } from "../../kube/verbs.ts";
import { unblockedAtMs } from "../../model/declared.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { typeOfKind } from "../../source/cluster/cluster-object.ts";
import type { CommandRule } from "../command-rule.ts";
import { createdByAnnotation, ruleDocument } from "../command-rule.ts";
import { CommandError } from "../describe-error.ts";
import type { ChangeOutcome, Reported, RuleChanges, WaitOptions } from "./rule-changes.ts";
import { progressOf } from "./rule-changes.ts";

const pollMs = 500;
/** The reason for a wait is printed only after this time, because most changes are done by then. */
const quietMs = 2_000;
const timeoutMs = 10_000;
const fieldManager = { fieldManager: "wafsync-block" };
const type = typeOfKind("WafIpRule");

interface RuleObject extends KubeObject {
  readonly status?: Reported;
}

export async function changeInCluster(
  api: ApiServer,
  { put, remove }: RuleChanges,
  wait: WaitOptions | undefined,
): Promise<ChangeOutcome> {
  const watched: RuleObject[] = [];
  for (const rule of put) watched.push(await putRule(api, rule));
  for (const { meta } of remove) {
    if (wait === undefined) await deleteRule(api, meta);
    else watched.push(...(await expireRule(api, meta)));
  }
  if (wait === undefined) return { state: "NotWaited", message: "", isFollowed: true };
  const outcome = await waitForAll(api, watched, wait);
  // Pending removals do not need the rule.
  for (const { meta } of remove) await deleteRule(api, meta);
  return outcome;
}

async function putRule(api: ApiServer, rule: CommandRule): Promise<RuleObject> {
  const { namespace } = rule;
  const body = ruleDocument(rule);
  const options = { timeoutMs, query: fieldManager };
  const created = await createObject<RuleObject>(api, type, namespace, body, options);
  if (created.ok) return created.value;
  if (created.fault.code !== "AlreadyExists") throw refused("create", rule, created.fault);
  const found = await getObject<RuleObject>(api, type, rule, { timeoutMs });
  if (!found.ok) throw refused("get", rule, found.fault);
  if (found.value.metadata.annotations?.[createdByAnnotation] === undefined) {
    throw new CommandError(
      `WafIpRule ${nameKey(rule)} already exists, but was not written by a wafsync command`,
      "Edit the rule directly.",
    );
  }
  const { spec } = body;
  // Fields that only the earlier command set are removed.
  const patch = { spec: { ...spec, expiresAt: spec.expiresAt ?? null, description: spec.description ?? null } };
  const patched = await mergePatchObject<RuleObject>(api, type, rule, patch, options);
  if (!patched.ok) throw refused("patch", rule, patched.fault);
  return patched.value;
}

async function expireRule(api: ApiServer, { namespace, name }: ObjectName): Promise<RuleObject[]> {
  const body = { spec: { expiresAt: formatTime(unblockedAtMs) } };
  const options = { timeoutMs, query: fieldManager };
  const patched = await mergePatchObject<RuleObject>(api, type, { namespace, name }, body, options);
  if (patched.ok) return [patched.value];
  if (patched.fault.code === "NotFound") return [];
  throw refused("patch", { namespace, name }, patched.fault);
}

/** @throws CommandError if the rule can't be deleted */
export async function deleteRule(api: ApiServer, { namespace, name }: ObjectName): Promise<void> {
  const deleted = await deleteObject(api, type, { namespace, name }, { timeoutMs });
  if (!deleted.ok && deleted.fault.code !== "NotFound") throw refused("delete", { namespace, name }, deleted.fault);
}

async function waitForAll(api: ApiServer, rules: readonly RuleObject[], wait: WaitOptions): Promise<ChangeOutcome> {
  const startMs = realClock.monotonicMs();
  const giveUpMs = startMs + wait.timeoutMs;
  const printed = new Set<string>();
  for (const rule of rules) {
    for (let seen = rule; ;) {
      const { state, message } = progressOf(seen.status, rule.metadata.generation ?? 0);
      if (state === "Settled") break;
      if (state === "Left") return { state, message, isFollowed: true };
      if (wait.stop.aborted) return { state: "Stopped", message, isFollowed: true };
      if (realClock.monotonicMs() >= giveUpMs) return { state: "TimedOut", message, isFollowed: true };
      if (realClock.monotonicMs() - startMs >= quietMs) {
        if (!printed.has(message)) wait.onMessage(message);
        printed.add(message);
      }
      await realClock.sleep(pollMs, wait.stop);
      const read: ApiResult<RuleObject> = await getObject(api, type, addressOf(rule), { timeoutMs });
      if (read.ok) seen = read.value;
      else if (read.fault.code === "NotFound") break;
      else if (read.fault.code === "Forbidden") throw refused("get", addressOf(rule), read.fault);
    }
  }
  return { state: "Settled", message: "", isFollowed: true };
}

function addressOf({ metadata: { namespace = "", name } }: RuleObject): ObjectName {
  return { namespace, name };
}

function refused(verb: string, name: ObjectName, { code, message }: ApiFault): CommandError {
  if (code === "Forbidden") {
    return new CommandError(
      `you are not allowed to ${verb} wafiprules in namespace ${name.namespace}`,
      "Ask for this permission, or use -n with a namespace in which you can write rules and that has access to the instance.",
    );
  }
  if (code === "NotFound") {
    return new CommandError(
      `WafIpRule ${nameKey(name)} cannot be written: namespace ${name.namespace} does not exist, or the wafsync CRDs are not installed`,
    );
  }
  return new CommandError(`WafIpRule ${nameKey(name)} cannot be written: ${message}`);
}
