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

export interface KindNames {
  readonly kind: ServedKind;
  readonly plural: string;
  readonly singular: string;
  readonly shortName: string;
}

export const kinds: Readonly<Record<ServedKind, KindNames>> = {
  WafInstance: { kind: "WafInstance", plural: "wafinstances", singular: "wafinstance", shortName: "wafi" },
  WafIpRule: { kind: "WafIpRule", plural: "wafiprules", singular: "wafiprule", shortName: "wafip" },
  WafOrigin: { kind: "WafOrigin", plural: "waforigins", singular: "waforigin", shortName: "wafo" },
  WafCacheClear: { kind: "WafCacheClear", plural: "wafcacheclears", singular: "wafcacheclear", shortName: "wafcc" },
  WafFeed: { kind: "WafFeed", plural: "waffeeds", singular: "waffeed", shortName: "waffd" },
  WafAutoBlock: { kind: "WafAutoBlock", plural: "wafautoblocks", singular: "wafautoblock", shortName: "wafab" },
  WafRecord: { kind: "WafRecord", plural: "wafrecords", singular: "wafrecord", shortName: "wafrec" },
};

/** Requests a reconcile run: any new value triggers one. `status.lastHandledRequest` repeats the last value that wafsync handled. */
export const requestedAtAnnotation = `${apiGroup}/requested-at`;
/**
 * Only instances have this finalizer: wafsync removes or retains their entries before they are deleted.
 * @public A published name: manifests and the operator use it.
 */
export const instanceFinalizer = `${apiGroup}/release-entries`;
