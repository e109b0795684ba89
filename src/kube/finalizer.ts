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

/** The patch that adds a finalizer, if the object and its list of finalizers have not changed. */
export function addFinalizerPatch({ metadata: { uid, finalizers } }: KubeObject, finalizer: string): JsonPatch {
  const sameObject = { op: "test", path: "/metadata/uid", value: uid } as const;
  const old = finalizers ?? [];
  const path = "/metadata/finalizers";
  if (old.length === 0) {
    return [sameObject, { op: "test", path, value: null }, { op: "add", path, value: [finalizer] }];
  }
  return [sameObject, { op: "test", path, value: old }, { op: "add", path: `${path}/-`, value: finalizer }];
}

/** The patch that removes a finalizer, if the list has not changed; undefined if it is not in the list. */
export function removeFinalizerPatch(
  { metadata: { uid, finalizers } }: KubeObject,
  finalizer: string,
): JsonPatch | undefined {
  const index = (finalizers ?? []).indexOf(finalizer);
  if (index < 0) return undefined;
  const path = "/metadata/finalizers";
  return [
    { op: "test", path: "/metadata/uid", value: uid },
    { op: "test", path, value: finalizers },
    { op: "remove", path: `${path}/${index}` },
  ];
}

/** Ensures that the object has the finalizer. Work that needs a cleanup may start only after `Done`. */
export async function addFinalizer(api: ApiServer, target: FinalizerTarget): Promise<FinalizerResult> {
  return settle(api, target, (object) => {
    if (object.metadata.finalizers?.includes(target.finalizer) === true) return { kind: "Done", object };
    if (object.metadata.deletionTimestamp !== undefined) return { kind: "Deleting", object };
    return addFinalizerPatch(object, target.finalizer);
  });
}

/** Ensures that the object does not have the finalizer: call it once the cleanup has succeeded. */
export async function removeFinalizer(api: ApiServer, target: FinalizerTarget): Promise<FinalizerResult> {
  return settle(api, target, (object) => removeFinalizerPatch(object, target.finalizer) ?? { kind: "Done", object });
}

async function settle(
  api: ApiServer,
  { type, object }: FinalizerTarget,
  decide: (object: KubeObject) => FinalizerResult | JsonPatch,
): Promise<FinalizerResult> {
  const { namespace, name } = object.metadata;
  const address = namespace === undefined ? { name } : { namespace, name };
  const change = (current: KubeObject) => {
    const decision = decide(current);
    if ("kind" in decision) return decision;
    return async () => await jsonPatchObject(api, type, address, decision, { timeoutMs });
  };
  // A failed test is `Invalid`: it is a different object, or another writer changed the list.
  return await changeObject(api, { type, object, change, conflicts: ["Invalid", "Conflict"] }, timeoutMs);
}
