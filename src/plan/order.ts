// In which order a plan's writes are done.
//
// 1. Origins: few, and each matters at once.
// 2. Additions, by rule: higher priority first, then the rule with fewer entries left, so that one urgent address never
//    waits for ten thousand. Of equal rules, Allow goes before Block. A Block entry that overlaps an Allow entry still
//    to be added waits for it: the exception must stand before the block does.
// 3. Removals from the blocklist, then from the allowlist, when everything that replaces them is there.
//
// So no address loses the protection or the access that it has both before and after.
import type { Entry } from "../model/entry.ts";
import { NetworkIndex } from "../model/entry-set.ts";
import type { Operation } from "../model/operation.ts";
import type { CompiledRule } from "./compiled-rule.ts";

export type AddEntry = Extract<Operation, { kind: "AddEntry" }>;

/** One entry to be added, with everybody who wants it: never an empty array. */
export interface WantedAdd {
  readonly list: "blocklist" | "allowlist";
  readonly entry: Entry;
  readonly rules: readonly CompiledRule[];
}

/** Orders additions as described above. Deterministic: equal input in any order gives equal output. */
export function orderAdds(adds: readonly WantedAdd[]): AddEntry[] {
  const left = new Map<CompiledRule, number>();
  for (const { rules } of adds) for (const rule of rules) left.set(rule, (left.get(rule) ?? 0) + 1);
  const rank = rankRules(left);
  const groups = new Map<CompiledRule, WantedAdd[]>();
  for (const add of adds) {
    const first = leading(add.rules, rank);
    const group = groups.get(first);
    if (group === undefined) groups.set(first, [add]);
    else group.push(add);
  }
  const ordered: AddEntry[] = [];
  for (const rule of rank.keys()) {
    const group = groups.get(rule) ?? [];
    for (const add of group.toSorted(byEntry)) ordered.push(toOperation(add, rule, left.get(rule) ?? 0));
  }
  return exceptionsFirst(ordered);
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

function byEntry(a: WantedAdd, b: WantedAdd): number {
  if (a.entry === b.entry) return 0;
  return a.entry < b.entry ? -1 : 1;
}

function toOperation({ list, entry, rules }: WantedAdd, first: CompiledRule, left: number): AddEntry {
  const others = rules.filter((rule) => rule !== first);
  const also = others.length === 0 ? "" : ` and ${others.length} more`;
  const priority = first.rule.priority === 0 ? "" : `, priority ${first.rule.priority}`;
  return {
    kind: "AddEntry",
    list,
    entry,
    rules: [first.id, ...others.map(({ id }) => id)],
    reason: `wanted by WafIpRule ${first.id}${also} (${left} to add${priority})`,
  };
}

/**
 * Puts each Allow entry in front of the first Block entry that it may be an exception to. Networks are nested or
 * disjoint, so two that overlap lie inside the same widest one.
 */
function exceptionsFirst(ordered: readonly AddEntry[]): AddEntry[] {
  const allows = ordered.filter(({ list }) => list === "allowlist");
  if (allows.length === 0 || allows.length === ordered.length) return [...ordered];
  const index = new NetworkIndex(ordered.map(({ entry }) => entry));
  const exceptions = new Map<Entry | undefined, AddEntry[]>();
  for (const allow of allows) {
    const widest = index.containing(allow.entry);
    const others = exceptions.get(widest);
    if (others === undefined) exceptions.set(widest, [allow]);
    else others.push(allow);
  }
  const placed = new Set<AddEntry>();
  for (const operation of ordered) {
    if (operation.list === "blocklist") {
      for (const exception of exceptions.get(index.containing(operation.entry)) ?? []) placed.add(exception);
    }
    placed.add(operation);
  }
  return [...placed];
}
