// The finalizer of WafInstance: added before the first write to its WAF, and removed once its entries were removed or
// deliberately kept.
import { instanceFinalizer } from "../../api/kinds.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { finalizerApi } from "../../kube/object-apis.ts";
import { addFinalizer, type FinalizerResult, removeFinalizer } from "../../kube/finalizer.ts";
import type { KubeObject } from "../../kube/kube-object.ts";
import { nameKey, type ObjectName, type ResourceRef } from "../../model/resource.ts";
import { type ClusterObject, typeOfKind } from "./cluster-object.ts";

export type FinalizerOutcome =
  | { readonly state: "Done" }
  /** The instance no longer exists. */
  | { readonly state: "Gone" }
  /** It is being deleted, so no finalizer can be added. */
  | { readonly state: "Deleting" }
  | { readonly state: "Failed"; readonly problem: string };

export interface InstanceFinalizers {
  /** Adds it; sends no request if the instance already has it. The WAF may be written to only after `Done`. Never rejects. */
  ensureFinalizer(instance: ObjectName): Promise<FinalizerOutcome>;
  /** Removes it, so that the instance can be deleted. Never rejects. */
  releaseFinalizer(instance: ObjectName): Promise<FinalizerOutcome>;
  /** Whether the instance has it, as last seen. */
  hasFinalizer(instance: ObjectName): boolean;
}

export function createInstanceFinalizers(options: {
  readonly api: ApiServer;
  /** The object as the watch last saw it. */
  readonly objectOf: (ref: ResourceRef) => ClusterObject | undefined;
  /** Called with the object that the server returned. */
  readonly onReturned?: (object: KubeObject) => void;
}): InstanceFinalizers {
  const requests = finalizerApi(options.api);
  const find = ({ namespace, name }: ObjectName): ClusterObject | undefined =>
    options.objectOf({ kind: "WafInstance", namespace, name });
  const settle = async (act: typeof addFinalizer, instance: ObjectName): Promise<FinalizerOutcome> => {
    const object = find(instance);
    if (object === undefined) return { state: "Gone" };
    const target = { type: typeOfKind("WafInstance"), object, finalizer: instanceFinalizer };
    const result = await act(requests, target);
    if (result.kind === "Done") options.onReturned?.(result.object);
    return outcomeOf(result, instance);
  };
  return {
    ensureFinalizer: async (instance) => await settle(addFinalizer, instance),
    releaseFinalizer: async (instance) => await settle(removeFinalizer, instance),
    hasFinalizer: (instance) => find(instance)?.metadata.finalizers?.includes(instanceFinalizer) === true,
  };
}

function outcomeOf(result: FinalizerResult, instance: ObjectName): FinalizerOutcome {
  switch (result.kind) {
    case "Done":
    case "Gone":
    case "Deleting":
      return { state: result.kind };
    case "Failed":
      return {
        state: "Failed",
        problem: `The finalizer of WafInstance ${nameKey(instance)} could not be changed: ${result.fault.message}`,
      };
  }
}
