// Deletes an object of wafsync's kinds, such as an expired cache clear.
import type { ApiFault } from "../../kube/api-result.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { deleteObject } from "../../kube/verbs.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import { typeOfKind } from "./cluster-object.ts";

const deleteTimeoutMs = 10_000;

/** Deletes it only if it is still the same object. Returns why it could not be deleted; undefined if it was deleted or replaced. */
export async function removeObject(
  api: ApiServer,
  { kind, namespace, name, uid }: ResourceMeta,
): Promise<ApiFault | undefined> {
  const options = { preconditions: { uid }, timeoutMs: deleteTimeoutMs };
  const deleted = await deleteObject(api, typeOfKind(kind), { namespace, name }, options);
  if (deleted.ok || deleted.fault.code === "NotFound" || deleted.fault.code === "Conflict") return undefined;
  return deleted.fault;
}
