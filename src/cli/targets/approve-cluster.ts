// Reads the removals on hold that the operator reports, and approves them with an annotation on the instance.
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { getObject, mergePatchObject } from "../../kube/verbs.ts";
import { approvalAnnotation } from "../../model/approval-annotation.ts";
import type { ObjectName } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { typeOfKind } from "../../source/cluster/cluster-object.ts";
import { CommandError } from "../describe-error.ts";
import { onHoldIn } from "./reported-status.ts";
import type { OnHold } from "./target.ts";

const timeoutMs = 10_000;
const query = { fieldManager: "wafsync-approve" };
const type = typeOfKind("WafInstance");

interface InstanceObject extends KubeObject {
  readonly status?: unknown;
}

export async function readHolds(api: ApiServer, instance: ObjectName): Promise<OnHold> {
  const read = await getObject<InstanceObject>(api, type, instance, { timeoutMs });
  if (!read.ok) throw refused("get", instance, read.fault);
  return onHoldIn(read.value.status);
}

export async function approveInCluster(api: ApiServer, instance: ObjectName, hash: string): Promise<string> {
  const body = { metadata: { annotations: { [approvalAnnotation]: hash } } };
  const patched = await mergePatchObject(api, type, instance, body, { timeoutMs, query });
  if (!patched.ok) throw refused("patch", instance, patched.fault);
  return `WafInstance ${nameKey(instance)}`;
}

function refused(verb: string, instance: ObjectName, { code, message }: ApiFault): CommandError {
  if (code === "NotFound") return new CommandError(`there is no WafInstance ${nameKey(instance)}`);
  if (code !== "Forbidden") return new CommandError(`WafInstance ${nameKey(instance)}: ${message}`);
  return new CommandError(
    `you are not allowed to ${verb} wafinstances in namespace ${instance.namespace}`,
    "Ask for this permission, or ask the owner of the instance to approve.",
  );
}
