// The annotation `wafsync.dev/continues: <namespace>/<name>` on a renamed or moved instance: it takes over the record of the named instance.
import { type ObjectName, type ResourceMeta, isNameOfNamespace, isNameOfObject, nameKey } from "./resource.ts";

export const continuesAnnotation = "wafsync.dev/continues";

export type Continues =
  | { readonly state: "None" }
  | { readonly state: "Named"; readonly former: ObjectName }
  | { readonly state: "Invalid"; readonly message: string };

/** The instance that this one continues. */
export function continuesOf(meta: ResourceMeta): Continues {
  const text = meta.annotations[continuesAnnotation];
  if (text === undefined) return { state: "None" };
  const [namespace = "", name = "", ...more] = text.split("/");
  if (more.length > 0 || !isNameOfNamespace(namespace) || !isNameOfObject(name)) {
    const message = `The annotation ${continuesAnnotation} must name the former instance as <namespace>/<name>, for example ${continuesAnnotation}: ${meta.namespace}/${meta.name}.`;
    return { state: "Invalid", message };
  }
  const former = { namespace, name };
  if (nameKey(former) !== nameKey(meta)) return { state: "Named", former };
  return { state: "Invalid", message: `The annotation ${continuesAnnotation} names the instance itself: remove it.` };
}

/** The instance with the same key that continues this one; undefined if there is none. */
export function continuedBy(meta: ResourceMeta, sameKey: readonly ResourceMeta[]): ResourceMeta | undefined {
  return sameKey.find((peer) => {
    const continues = peer.deleting ? undefined : continuesOf(peer);
    return continues?.state === "Named" && nameKey(continues.former) === nameKey(meta);
  });
}
