// Explains to users why the API server could not read or write an inventory.
import type { ApiFault } from "../../kube/api-result.ts";
import type { SavedInventory } from "../../model/inventory.ts";
import { nameKey, type ObjectName } from "../../model/resource.ts";
import { asSentence } from "../../model/sentence.ts";
import { describeShard } from "./record-shard-store.ts";

export function refused(instance: ObjectName, index: number, fault: ApiFault): SavedInventory {
  const name = describeShard(instance, index);
  // NotFound: another writer deleted the loaded inventory.
  if (fault.code === "Conflict" || fault.code === "AlreadyExists" || fault.code === "NotFound") {
    return { state: "Conflict", problem: `${name} was changed by another writer after wafsync read it.` };
  }
  return { state: "Failed", problem: `${name} could not be written: ${fault.message}` };
}

export function unreachable(instance: ObjectName, fault: ApiFault): string {
  return `The inventory of ${nameKey(instance)} can't be accessed: ${asSentence(fault.message)}`;
}

export function unlisted(instance: ObjectName, fault: ApiFault): string {
  if (fault.code !== "NotFound") return unreachable(instance, fault);
  return `The inventory of ${nameKey(instance)} can't be accessed: the API server does not know the kind WafRecord. Install the CRDs.`;
}
