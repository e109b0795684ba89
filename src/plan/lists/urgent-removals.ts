// Removals that do not wait for everything that is still to be added: whoever lifts an urgent block, or lets it expire, waits no
// longer than whoever sets one. Only the blocklist has them: lifting a block early takes no access from anybody. A removal stays
// behind every addition that shares an address with it, so that nothing is unblocked in between.
import { readOwners, unknownOwners } from "../../model/entry-owners.ts";
import type { Entry } from "../../model/entry.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import type { OwnedEntry } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { AddEntry } from "./order.ts";

export type RemoveEntry = Extract<Operation, { kind: "RemoveEntry" }>;

/** Further ones wait for the additions: comparing each with all of these must not take long. */
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
  const priorities = new Map(
    rules.flatMap(({ id, rule: { priority } }) => (priority > 0 ? [[id, priority] as const] : [])),
  );
  if (priorities.size === 0 || adds.length === 0 || removals.length === 0) return [...adds, ...removals];
  const priorityOf = (names: readonly string[]): number =>
    Math.max(0, ...names.map((name) => priorities.get(name) ?? 0));
  const addPriorities = adds.map(({ rules: [first = ""] }) => priorityOf([first]));
  const before = new Map<number, RemoveEntry[]>();
  const placed = new Set<RemoveEntry>();
  for (const removal of removals) {
    if (removal.list !== "blocklist" || placed.size >= urgentMax) continue;
    const owners = readOwners(owned.get(removal.entry)?.owners ?? unknownOwners);
    const priority = priorityOf(owners.map(({ name }) => name));
    if (priority <= 0) continue;
    const index = placeAmong(adds, addPriorities, removal.entry, priority);
    before.set(index, [...(before.get(index) ?? []), removal]);
    placed.add(removal);
  }
  const rest = removals.filter((removal) => !placed.has(removal));
  return [
    ...adds.flatMap((add, index) => [...(before.get(index) ?? []), add]),
    ...(before.get(adds.length) ?? []),
    ...rest,
  ];
}

/** In front of the first addition that is less urgent, but behind all that overlap. */
function placeAmong(adds: readonly AddEntry[], priorities: readonly number[], entry: Entry, priority: number): number {
  const lessUrgent = priorities.findIndex((one) => one < priority);
  const index = new NetworkIndex([entry]);
  const lastOverlapping = adds.findLastIndex(
    (add) => add.list === "blocklist" && index.overlaps(add.entry) !== undefined,
  );
  return Math.max(lessUrgent === -1 ? adds.length : lessUrgent, lastOverlapping + 1);
}
