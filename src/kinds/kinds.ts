// The names of the custom resources, as the API server, kubectl and users write them.
import type { ResourceKind } from "../model/resource.ts";

export const apiGroup = "wafsync.dev";
export const apiVersionName = "v1alpha1";
/** The `apiVersion` of every document. */
export const apiVersion = `${apiGroup}/${apiVersionName}`;
/** `kubectl get wafsync` lists all kinds that users declare. */
export const category = "wafsync";

/** The kind in which wafsync stores its records. Users never declare one, and a directory never contains one. */
export const recordKind = "WafRecord";
/** Every kind that has a CRD. */
export type ServedKind = ResourceKind | typeof recordKind;

/** The name in URLs and permissions: `wafiprules`. */
export function pluralOf(kind: ServedKind): string {
  return `${kind.toLowerCase()}s`;
}

/** Requests a reconcile run: any new value triggers one. `status.lastHandledRequest` repeats the last value that wafsync handled. */
export const requestedAtAnnotation = `${apiGroup}/requested-at`;
/**
 * Only instances have this finalizer: wafsync removes or retains their entries before they are deleted.
 * @public A published name: manifests and the operator use it.
 */
export const instanceFinalizer = `${apiGroup}/release-entries`;
