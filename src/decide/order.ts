// The order of the writes of a plan.
//
// 1. Origins: few, and all urgent.
// 2. Additions, by rule: higher priority first, then the rule with fewer entries left, so that one urgent address never waits for
// ten thousand. Within a priority, namespaces take turns, one entry each, so that no guest of a shared WAF delays the others.
// Among equal rules, Allow goes before Block. A Block entry that overlaps an Allow entry still to be added waits for it: the
// exception must be in place before the block.
// 3. Removals from the blocklist, then from the allowlist, after everything that replaces them was added. Urgent ones go earlier:
//    see `orderWrites`.
//
// So no address that is blocked (or allowed) both before and after is briefly unblocked in between.
import type { Entry } from "../address/entry.ts";
import { inThousands } from "../model/sentence.ts";
import { narrowestContainers, NetworkIndex } from "../address/ranges.ts";
import type { Operation } from "../model/operation.ts";
import { ruleIdOfOwner, ruleLabel } from "../model/rule-id.ts";
import { type CompiledRule, noteOf } from "./compiled-rule.ts";
import { readOwners, remembering, unknownOwners } from "../model/entry-owners.ts";
import type { OwnedEntry } from "../model/inventory.ts";

export type AddEntry = Extract<Operation, { kind: "AddEntry" }>;

/** One entry to be added, with all rules that declare it: never an empty array. */
export interface WantedAdd {
  readonly list: "blocklist" | "allowlist";
  readonly entry: Entry;
  readonly rules: readonly CompiledRule[];
}

/**
 * Orders additions as described above. Those of a rule follow its order, whatever the order of `adds`.
 * @param urgencyOf the highest priority of the writes that wait for an addition, if it exceeds its own
 */
function orderAdds(adds: readonly WantedAdd[], urgencyOf: (add: WantedAdd) => number): AddEntry[] {
  const combinations = byRules(adds);
  const left = new Map<CompiledRule, number>();
  for (const [rules, { length }] of combinations) {
    for (const rule of rules) left.set(rule, (left.get(rule) ?? 0) + length);
  }
  const rank = rankRules(left);
  const groups = Map.groupBy(combinations, ([rules]) => leading(rules, rank));
  const byPriority = new Map<number, Map<string, AddEntry[]>>();
  const turnsOf = (priority: number, namespace: string): AddEntry[] => {
    const namespaces = byPriority.get(priority) ?? new Map<string, AddEntry[]>();
    byPriority.set(priority, namespaces);
    const turns = namespaces.get(namespace) ?? [];
    namespaces.set(namespace, turns);
    return turns;
  };
  for (const rule of rank.keys()) {
    const { priority, meta } = rule.rule;
    const group = groups.get(rule);
    if (group === undefined) continue;
    const toOperation = operationsFor(rule, left.get(rule) ?? 0);
    const own = turnsOf(priority, meta.namespace);
    for (const add of inOrderOf(
      rule,
      group.map(([, some]) => some),
    )) {
      const urgency = urgencyOf(add);
      (urgency > priority ? turnsOf(urgency, meta.namespace) : own).push(toOperation(add));
    }
  }
  const inOrder = [...byPriority].toSorted(([a], [b]) => b - a);
  return exceptionsFirst(inOrder.flatMap(([, namespaces]) => takingTurns([...namespaces.values()])));
}

/** As the rule lists them. */
function* inOrderOf({ entries }: CompiledRule, group: readonly (readonly WantedAdd[])[]): Generator<WantedAdd, void> {
  const [only = []] = group;
  const [first] = only;
  // A rule is usually new as a whole, or changes in a few entries.
  if (group.length === 1 && first !== undefined && only.length === entries.size) {
    for (const entry of entries) yield { list: first.list, entry, rules: first.rules };
    return;
  }
  const adds = new Map(group.flatMap((some) => some.map((add) => [add.entry, add] as const)));
  for (const entry of entries) {
    const add = adds.get(entry);
    if (add !== undefined) yield add;
  }
}

/** Few combinations of rules declare many entries, and entries of the same rules are nearly always adjacent. */
function byRules(adds: readonly WantedAdd[]): ReadonlyMap<readonly CompiledRule[], readonly WantedAdd[]> {
  const combinations = new Map<readonly CompiledRule[], WantedAdd[]>();
  let last: WantedAdd[] | undefined;
  for (const add of adds) {
    if (last?.[0]?.rules !== add.rules) {
      last = combinations.get(add.rules) ?? [];
      combinations.set(add.rules, last);
    }
    last.push(add);
  }
  return combinations;
}

/** Takes one item of each queue in turn, until all are empty. */
function takingTurns<T>(queues: readonly (readonly T[])[]): readonly T[] {
  const [only] = queues;
  if (queues.length === 1 && only !== undefined) return only;
  const taken: T[] = [];
  let waiting = queues;
  for (let turn = 0; waiting.length > 0; turn += 1) {
    waiting = waiting.filter(({ length }) => length > turn);
    for (const queue of waiting) taken.push(queue[turn] as T);
  }
  return taken;
}

function rankRules(left: ReadonlyMap<CompiledRule, number>): ReadonlyMap<CompiledRule, number> {
  const sorted = [...left.keys()].toSorted(
    (a, b) =>
      b.rule.priority - a.rule.priority ||
      (left.get(a) ?? 0) - (left.get(b) ?? 0) ||
      (a.list === b.list ? 0 : a.list === "allowlist" ? -1 : 1) ||
      (a.id < b.id ? -1 : 1),
  );
  return new Map(sorted.map((rule, index) => [rule, index]));
}

function leading(rules: readonly CompiledRule[], rank: ReadonlyMap<CompiledRule, number>): CompiledRule {
  return rules.reduce((best, rule) => ((rank.get(rule) ?? 0) < (rank.get(best) ?? 0) ? rule : best));
}

/** Creates the operations for additions of the same first rule. Entries of the same rules share the names and the reason. */
function operationsFor(first: CompiledRule, left: number): (add: WantedAdd) => AddEntry {
  const { priority } = first.rule;
  const counts = `(${inThousands(left)} to add${priority === 0 ? "" : `, priority ${priority}`})`;
  const known = new Map<readonly CompiledRule[], Pick<AddEntry, "rules" | "reason">>();
  return ({ list, entry, rules }) => {
    let shared = known.get(rules);
    if (shared === undefined) {
      const others = rules.flatMap((rule) => (rule === first ? [] : [rule.id]));
      const also = others.length === 0 ? "" : ` and ${others.length} more`;
      shared = { rules: [first.id, ...others], reason: `declared by ${ruleLabel(first.id)}${also} ${counts}` };
      known.set(rules, shared);
    }
    const note = noteOf(first, entry);
    return { kind: "AddEntry", list, entry, ...shared, ...(note !== undefined && { note }) };
  };
}

/** Moves each Allow entry in front of the first Block entry that shares an address with it, and keeps all others in place. */
function exceptionsFirst(ordered: readonly AddEntry[]): AddEntry[] {
  const allows = byEntryOn("allowlist", ordered);
  if (allows.size === 0 || allows.size === ordered.length) return [...ordered];
  const exceptions = exceptionsByBlock(ordered, allows);
  const placed = new Set<AddEntry>();
  for (const operation of ordered) {
    for (const exception of exceptions.get(operation) ?? []) placed.add(exception);
    placed.add(operation);
  }
  return [...placed];
}

/** Networks are nested or disjoint, so two of them overlap if one contains the other. */
function exceptionsByBlock(
  ordered: readonly AddEntry[],
  allows: ReadonlyMap<Entry, AddEntry>,
): ReadonlyMap<AddEntry, ReadonlySet<AddEntry>> {
  const containers = narrowestContainers(ordered.map(({ entry }) => entry));
  const blocks = byEntryOn("blocklist", ordered);
  const exceptions = new Map<AddEntry, Set<AddEntry>>();
  const note = (block: AddEntry | undefined, allow: AddEntry | undefined): void => {
    if (block === undefined || allow === undefined) return;
    const others = exceptions.get(block);
    if (others === undefined) exceptions.set(block, new Set([allow]));
    else others.add(allow);
  };
  for (const operation of ordered) {
    let container = containers.get(operation.entry);
    for (; container !== undefined; container = containers.get(container)) {
      if (operation.list === "allowlist") note(blocks.get(container), operation);
      else note(operation, allows.get(container));
    }
  }
  return exceptions;
}

function byEntryOn(list: AddEntry["list"], operations: readonly AddEntry[]): ReadonlyMap<Entry, AddEntry> {
  const found = new Map<Entry, AddEntry>();
  for (const operation of operations) if (operation.list === list) found.set(operation.entry, operation);
  return found;
}

export type RemoveEntry = Extract<Operation, { kind: "RemoveEntry" }>;
export type EntryWrite = AddEntry | RemoveEntry;

/** Further removals wait for the additions, because comparing all of them with overlapping additions would take too long. */
const urgentMax = 200;

/** A removal from the blocklist of an entry that a rule with a priority last declared. */
interface Urgent {
  readonly removal: RemoveEntry;
  readonly priority: number;
}

/**
 * The additions, interleaved with equally urgent removals from the blocklist; all other removals follow. Lifting an urgent block, manually
 * or by expiry, takes no longer than setting one. This applies only to the blocklist, because lifting a block early takes access away
 * from no one. A removal stays behind every addition that shares an address with it, so that nothing is unblocked in between.
 * @param owned the record of the blocklist
 */
export function orderWrites(
  wanted: readonly WantedAdd[],
  removals: readonly RemoveEntry[],
  rules: readonly CompiledRule[],
  owned: ReadonlyMap<Entry, OwnedEntry>,
): readonly EntryWrite[] {
  const priorities = new Map(
    rules.flatMap(({ id, rule: { priority } }) => (priority > 0 ? [[id, priority] as const] : [])),
  );
  const urgent = wanted.length === 0 || priorities.size === 0 ? [] : urgentOf(removals, priorities, owned);
  const adds = orderAdds(wanted, urgencyAmong(urgent));
  if (urgent.length === 0) return [...adds, ...removals];
  const addPriorities = adds.map(({ rules: [first = ""] }) => priorities.get(first) ?? 0);
  const near = new NetworkIndex(urgent.map(({ removal }) => removal.entry));
  // Usually, there are none.
  const overlapping = [...adds.entries()].filter(
    ([, { list, entry }]) => list === "blocklist" && near.overlaps(entry) !== undefined,
  );
  const before = new Map<number, RemoveEntry[]>();
  for (const { removal, priority } of urgent) {
    const lessUrgent = addPriorities.findIndex((one) => one < priority);
    const index = new NetworkIndex([removal.entry]);
    const [last] = overlapping.findLast(([, { entry }]) => index.overlaps(entry) !== undefined) ?? [-1];
    const place = Math.max(lessUrgent === -1 ? adds.length : lessUrgent, 1 + last);
    before.set(place, [...(before.get(place) ?? []), removal]);
  }
  const placed = new Set(urgent.map(({ removal }) => removal));
  return [
    ...adds.flatMap((add, place) => [...(before.get(place) ?? []), add]),
    ...(before.get(adds.length) ?? []),
    ...removals.filter((removal) => !placed.has(removal)),
  ];
}

/**
 * The priority of the most urgent removal that waits for an addition because they share addresses: an addition that must precede
 * lifting a block is as urgent as lifting it.
 */
function urgencyAmong(urgent: readonly Urgent[]): (add: WantedAdd) => number {
  if (urgent.length === 0) return () => 0;
  const priorities = new Map(urgent.map(({ removal, priority }) => [removal.entry, priority]));
  const index = new NetworkIndex(priorities.keys());
  return ({ list, entry }) => {
    const removed = list === "blocklist" ? index.containing(entry) : undefined;
    return removed === undefined ? 0 : (priorities.get(removed) ?? 0);
  };
}

/** @param priorities of the rules that have one */
function urgentOf(
  removals: readonly RemoveEntry[],
  priorities: ReadonlyMap<string, number>,
  owned: ReadonlyMap<Entry, OwnedEntry>,
): readonly Urgent[] {
  const priorityOf = remembering((owners) =>
    Math.max(0, ...readOwners(owners).map((owner) => priorities.get(ruleIdOfOwner(owner) ?? "") ?? 0)),
  );
  return removals
    .flatMap((removal): readonly Urgent[] => {
      if (removal.list !== "blocklist") return [];
      const priority = priorityOf(owned.get(removal.entry)?.owners ?? unknownOwners);
      return priority > 0 ? [{ removal, priority }] : [];
    })
    .slice(0, urgentMax);
}
