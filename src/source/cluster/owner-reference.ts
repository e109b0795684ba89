// What ties objects of ours to the instance that they belong to.
import { apiGroup, apiVersion } from "../../api/kinds.ts";
import type { ObjectName } from "../../model/resource.ts";

/** Keeps an inventory readable until its instance was released, whoever deletes it before: a cascade, a namespace's end. */
export const inventoryFinalizer = `${apiGroup}/keep-inventory`;

/** The garbage collector deletes the dependent when the instance is gone. Never blocks the deletion of the instance. */
export function ownerReferenceOf({ name }: ObjectName, uid: string): object {
  return { apiVersion, kind: "WafInstance", name, uid, controller: true, blockOwnerDeletion: false };
}
