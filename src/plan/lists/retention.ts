// `deletionPolicy: Retain` of rules. A record names all rules that retain its entry. When one of them is deleted, its entries become
// unmanaged, even if other rules declare them: otherwise, they would be removed together with the last of these.
import type { OwnedEntry } from "../../model/inventory.ts";
import { splitRetainers } from "../../model/rule-id.ts";
import type { CompiledRule } from "./compiled-rule.ts";

/** The retaining rules among these, as in a record; undefined if there are none. */
export function retainersIn(rules: readonly CompiledRule[]): OwnedEntry["retainedBy"] {
  return joined(rules.flatMap(({ id, rule }) => (rule.deletionPolicy === "Retain" ? [id] : [])));
}

export function joinRetainers(all: Iterable<OwnedEntry["retainedBy"]>): OwnedEntry["retainedBy"] {
  return joined([...all].flatMap(splitRetainers));
}

/** The retaining rules that were deleted. */
export function goneRetainers(
  { retainedBy }: Pick<OwnedEntry, "retainedBy">,
  existingRules: ReadonlySet<string>,
): OwnedEntry["retainedBy"] {
  return retainedBy === undefined
    ? undefined
    : joined(splitRetainers(retainedBy).filter((id) => !existingRules.has(id)));
}

/** Whether a deleted rule retains the entry. One that can't be read may still exist. */
export function isRetained(
  { retainedBy }: Pick<OwnedEntry, "retainedBy">,
  existingRules: ReadonlySet<string>,
  unknownRules: ReadonlySet<string>,
): boolean {
  return splitRetainers(retainedBy).some((id) => !existingRules.has(id) && !unknownRules.has(id));
}

function joined(ids: readonly string[]): OwnedEntry["retainedBy"] {
  return ids.length === 0 ? undefined : [...new Set(ids)].toSorted().join(",");
}
