// Ties objects that wafsync creates to the instance that they belong to.
import { apiGroup, apiVersion } from "../../api/kinds.ts";
import type { ObjectName } from "../../model/resource.ts";

/** Keeps an inventory readable until its instance is released, even if a cascade or a namespace deletion deletes it. */
export const inventoryFinalizer = `${apiGroup}/keep-inventory`;

/** Makes the garbage collector delete the dependent after the instance. Never blocks the deletion of the instance. */
export function ownerReferenceOf({ name }: ObjectName, uid: string): object {
  return { apiVersion, kind: "WafInstance", name, uid, controller: true, blockOwnerDeletion: false };
}
