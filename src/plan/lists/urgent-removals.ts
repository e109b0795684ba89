// Removals that do not wait for all pending additions: lifting an urgent block, by hand or by expiry, takes no longer than setting
// one. Only the blocklist has them, because lifting a block early takes away nobody's access. A removal stays
// behind every addition that shares an address with it, so that nothing is unblocked in between.
import { readOwners, unknownOwners } from "../../model/entry-owners.ts";
import type { Entry } from "../../model/entry.ts";
import { headOf } from "../../model/entry-head.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import type { OwnedEntry } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { AddEntry } from "./order.ts";

export type RemoveEntry = Extract<Operation, { kind: "RemoveEntry" }>;

/** Further ones wait for the additions: comparing each with those that overlap any must not take long. */
const urgentMax = 200;

export interface UrgencyBasis {
  readonly rules: readonly CompiledRule[];
  /** What is recorded of the blocklist. */
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
}

/** The additions, and among them the removals from the blocklist that are as urgent; all others follow. */
export function orderWrites(
  adds: readonly AddEntry[],
  removals: readonly RemoveEntry[],
  { rules, owned }: UrgencyBasis,
): readonly (AddEntry | RemoveEntry)[] {
  const priorityOf = prioritiesOf(rules);
  if (priorityOf === undefined || adds.length === 0 || removals.length === 0) return [...adds, ...removals];
  const urgent = urgentOf(removals, { rules, owned });
  if (urgent.length === 0) return [...adds, ...removals];
  const addPriorities = adds.map(({ rules: [first = ""] }) => priorityOf([first]));
  const overlapping = overlappingAny(adds, urgent);
  const before = new Map<number, RemoveEntry[]>();
  for (const { removal, priority } of urgent) {
    const lessUrgent = addPriorities.findIndex((one) => one < priority);
    const index = Math.max(
      lessUrgent === -1 ? adds.length : lessUrgent,
      1 + lastOverlapping(adds, overlapping, removal.entry),
    );
    before.set(index, [...(before.get(index) ?? []), removal]);
  }
  const placed = new Set(urgent.map(({ removal }) => removal));
  const rest = removals.filter((removal) => !placed.has(removal));
  return [
    ...adds.flatMap((add, index) => [...(before.get(index) ?? []), add]),
    ...(before.get(adds.length) ?? []),
    ...rest,
  ];
}

/**
 * The priority of the most urgent removal that waits for an addition, because both share addresses: what has to be added before a
 * block can be lifted is as urgent as lifting it.
 */
export function urgencyAmong(
  removals: readonly RemoveEntry[],
  basis: UrgencyBasis,
): (add: Pick<AddEntry, "list" | "entry">) => number {
  const urgent = removals.length === 0 ? [] : urgentOf(removals, basis);
  if (urgent.length === 0) return () => 0;
  const priorities = new Map(urgent.map(({ removal, priority }) => [removal.entry, priority]));
  const index = new NetworkIndex(priorities.keys());
  return ({ list, entry }) => {
    const removed = list === "blocklist" ? index.containing(entry) : undefined;
    return removed === undefined ? 0 : (priorities.get(removed) ?? 0);
  };
}

interface Urgent {
  readonly removal: RemoveEntry;
  readonly priority: number;
}

/** Undefined if no rule has a priority. */
function prioritiesOf(rules: UrgencyBasis["rules"]): ((names: readonly string[]) => number) | undefined {
  const priorities = new Map(
    rules.flatMap(({ id, rule: { priority } }) => (priority > 0 ? [[id, priority] as const] : [])),
  );
  if (priorities.size === 0) return undefined;
  return (names) => Math.max(0, ...names.map((name) => priorities.get(name) ?? 0));
}

/** The first of the removals from the blocklist that belong to a rule with a priority. */
function urgentOf(removals: readonly RemoveEntry[], { rules, owned }: UrgencyBasis): readonly Urgent[] {
  const priorityOf = prioritiesOf(rules);
  if (priorityOf === undefined) return [];
  return removals
    .flatMap((removal): readonly Urgent[] => {
      if (removal.list !== "blocklist") return [];
      const owners = readOwners(owned.get(removal.entry)?.owners ?? unknownOwners);
      const priority = priorityOf(owners.map(({ name }) => name));
      return priority > 0 ? [{ removal, priority }] : [];
    })
    .slice(0, urgentMax);
}

/** The places of the additions to the blocklist that may share an address with any of the removals: mostly none of them do. */
function overlappingAny(adds: readonly AddEntry[], urgent: readonly Urgent[]): readonly number[] {
  const near = new NetworkIndex(urgent.map(({ removal }) => removal.entry));
  return adds.flatMap(({ list, entry }, place) =>
    list === "blocklist" && near.mayOverlap(headOf(entry)) ? [place] : [],
  );
}

/** The last of these places whose addition shares an address with the entry; -1 if none does. */
function lastOverlapping(adds: readonly AddEntry[], places: readonly number[], entry: Entry): number {
  const index = new NetworkIndex([entry]);
  return (
    places.findLast((place) => {
      const add = adds[place];
      return add !== undefined && index.overlaps(add.entry) !== undefined;
    }) ?? -1
  );
}
