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

/** Ensures that the object has the finalizer. Work that needs a cleanup may start only after `Done`. */
export async function addFinalizer(api: ApiServer, target: FinalizerTarget): Promise<FinalizerResult> {
  return await settle(api, target, (finalizers, object) => {
    if (finalizers.includes(target.finalizer)) return { kind: "Done", object };
    if (object.metadata.deletionTimestamp !== undefined) return { kind: "Deleting", object };
    return [...finalizers, target.finalizer];
  });
}

/** Ensures that the object does not have the finalizer: call it once the cleanup has succeeded. */
export async function removeFinalizer(api: ApiServer, target: FinalizerTarget): Promise<FinalizerResult> {
  return await settle(api, target, (finalizers, object) => {
    if (!finalizers.includes(target.finalizer)) return { kind: "Done", object };
    return finalizers.filter((one) => one !== target.finalizer);
  });
}

const path = "/metadata/finalizers";

/** @param decide returns the list to set */
async function settle(
  api: ApiServer,
  { type, object }: FinalizerTarget,
  decide: (finalizers: readonly string[], object: KubeObject) => FinalizerResult | readonly string[],
): Promise<FinalizerResult> {
  const change = (current: KubeObject) => {
    const { uid, finalizers = [] } = current.metadata;
    const decision = decide(finalizers, current);
    if ("kind" in decision) return decision;
    const patch: JsonPatch = [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "test", path, value: finalizers.length === 0 ? null : finalizers },
      { op: "add", path, value: decision },
    ];
    return async () => await jsonPatchObject(api, type, object.metadata, patch, { timeoutMs });
  };
  // A failed test is `Invalid`: it is a different object, or another writer changed the list.
  return await changeObject(api, { type, object, change, conflicts: ["Invalid", "Conflict"] }, timeoutMs);
}
