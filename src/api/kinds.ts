// The names of the custom resources, as API server, kubectl and users spell them.
import type { ResourceKind } from "../model/resource.ts";

export const apiGroup = "wafsync.dev";
export const apiVersionName = "v1alpha1";
/** What stands in `apiVersion` of every document. */
export const apiVersion = `${apiGroup}/${apiVersionName}`;
/** `kubectl get wafsync` lists all kinds that users declare. */
export const category = "wafsync";

/** The kind that wafsync itself writes: what it must remember. Users declare none, and no folder holds any. */
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
  WafRecord: { kind: "WafRecord", plural: "wafrecords", singular: "wafrecord", shortName: "wafrec" },
};

/** Asks for a reconcile now: any new value does. `status.lastHandledRequest` repeats the value that was heard. */
export const requestedAtAnnotation = `${apiGroup}/requested-at`;
/**
 * On a ConfigMap, with the value `true`: a change of it is seen at once, and not within half a minute.
 * @public A published name: manifests and the operator use it.
 */
export const watchLabel = `${apiGroup}/watch`;
/**
 * Only instances have it: their entries are removed, or left on purpose, before they go.
 * @public A published name: manifests and the operator use it.
 */
export const instanceFinalizer = `${apiGroup}/release-entries`;
