// Removals that do not wait for all pending additions: lifting an urgent block, manually or by expiry, takes no longer than setting
// one. This applies only to the blocklist, because lifting a block early takes access away from no one. A removal stays
// behind every addition that shares an address with it, so that nothing is unblocked in between.
import { readOwners, remembering, unknownOwners } from "../model/entry-owners.ts";
import type { Entry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { OwnedEntry } from "../model/inventory.ts";
import { ruleIdOfOwner } from "../model/rule-id.ts";
import type { Operation } from "../model/operation.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { AddEntry } from "./order.ts";

export type RemoveEntry = Extract<Operation, { kind: "RemoveEntry" }>;

/** Further removals wait for the additions, because comparing all of them with overlapping additions would take too long. */
const urgentMax = 200;

export interface UrgencyBasis {
  readonly rules: readonly CompiledRule[];
  /** The record of the blocklist. */
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
}

/** The additions, interleaved with equally urgent removals from the blocklist; all other removals follow. */
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
 * The priority of the most urgent removal that waits for an addition because they share addresses: an addition that must precede
 * lifting a block is as urgent as lifting it.
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
  const priorityOfOwners = remembering((owners) =>
    priorityOf(readOwners(owners).flatMap((owner) => ruleIdOfOwner(owner) ?? [])),
  );
  return removals
    .flatMap((removal): readonly Urgent[] => {
      if (removal.list !== "blocklist") return [];
      const priority = priorityOfOwners(owned.get(removal.entry)?.owners ?? unknownOwners);
      return priority > 0 ? [{ removal, priority }] : [];
    })
    .slice(0, urgentMax);
}

/** The positions of additions to the blocklist that may share an address with any of the removals: usually there are none. */
function overlappingAny(adds: readonly AddEntry[], urgent: readonly Urgent[]): readonly number[] {
  const near = new NetworkIndex(urgent.map(({ removal }) => removal.entry));
  return adds.flatMap(({ list, entry }, place) =>
    list === "blocklist" && near.overlaps(entry) !== undefined ? [place] : [],
  );
}

/** The last of these positions whose addition shares an address with the entry; -1 if there is none. */
function lastOverlapping(adds: readonly AddEntry[], places: readonly number[], entry: Entry): number {
  const index = new NetworkIndex([entry]);
  return (
    places.findLast((place) => {
      const add = adds[place];
      return add !== undefined && index.overlaps(add.entry) !== undefined;
    }) ?? -1
  );
}
