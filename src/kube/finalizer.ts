// Adds a finalizer to an object or removes it, with JSON Patches that test the values to change: they never affect another
// object of the same name and never lose the finalizers of other controllers.
import type { ApiServer } from "./api-server.ts";
import type { KubeObject } from "./kube-object.ts";
import type { ResourceType } from "./resource-path.ts";
import { changeObject, type ChangeResult, type JsonPatch, jsonPatchObject } from "./verbs.ts";

/** `object` is the newest known version: after `Done` it has the requested state. */
export type FinalizerResult =
  | ChangeResult<KubeObject>
  /** It is being deleted, so no finalizer can be added. */
  | { readonly kind: "Deleting"; readonly object: KubeObject };

export interface FinalizerTarget {
  readonly type: ResourceType;
  /** As cached. */
  readonly object: KubeObject;
  readonly finalizer: string;
}

const timeoutMs = 10_000;

const path = "/metadata/finalizers";

/**
 * Ensures that the object has the finalizer, or that it does not. Work that needs a cleanup may start only after `Done`; remove the
 * finalizer once the cleanup has succeeded.
 */
export async function setFinalizer(
  api: ApiServer,
  { type, object, finalizer }: FinalizerTarget,
  isWanted: boolean,
): Promise<FinalizerResult> {
  const change = (current: KubeObject) => {
    const { uid, finalizers = [], deletionTimestamp } = current.metadata;
    if (finalizers.includes(finalizer) === isWanted) return { kind: "Done", object: current } as const;
    if (isWanted && deletionTimestamp !== undefined) return { kind: "Deleting", object: current } as const;
    const patch: JsonPatch = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path, value: finalizers.length === 0 ? null : finalizers },
      { op: "add", path, value: isWanted ? [...finalizers, finalizer] : finalizers.filter((one) => one !== finalizer) },
    ];
    return async () => await jsonPatchObject(api, type, object.metadata, patch, { timeoutMs });
  };
  // A failed test is `Invalid`: it is a different object, or another writer changed the list.
  return await changeObject(api, { type, object, change, conflicts: ["Invalid", "Conflict"] }, timeoutMs);
}
