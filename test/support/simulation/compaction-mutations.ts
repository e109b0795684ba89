// The guarantees about compaction and capacity, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const simulation = "simulation";
const runs = "test/reconcile/converge/compaction.test.ts";
const entries = "test/plan/lists/compact-entries.test.ts";

export const compactionMutations: readonly Mutation[] = [
  {
    guard: "a covered entry is removed only if the covering entry stays on the list",
    file: "src/plan/instance/list-draft.ts",
    from: "return covers.every((cover) => cover !== undefined && target.has(cover)) ? covers[0] : undefined;",
    to: "return covers[0] ?? entry;",
    foundBy: "test/reconcile/converge/compaction.test.ts",
  },
  {
    guard: "a removal waits while the API rejects a declared entry inside the removed entry",
    file: "src/plan/instance/list-draft.ts",
    from: "waitsFor !== undefined && waitsFor.inside(entry).length > 0;",
    to: "waitsFor !== undefined && waitsFor.inside(entry).length < 0;",
    foundBy: runs,
  },
  {
    guard: "removals wait until the reason for a rejected addition is known",
    file: "src/reconcile/converge/apply-plan.ts",
    from: "if (isRemoval(operation) && run.ledger.refusedCount > 0) {",
    to: "if (isRemoval(operation) && run.ledger.refusedCount < 0) {",
    foundBy: runs,
  },
  {
    guard: "the entries that a rejected merged entry replaces are sent immediately",
    file: "src/reconcile/converge/apply-plan.ts",
    from: "ledger.refusedCount >= refusedMax || standsForOthers",
    to: "ledger.refusedCount >= refusedMax",
    foundBy: runs,
  },
  {
    guard: "no entry relies on an entry of another namespace",
    file: "src/plan/lists/compact-list.ts",
    from: 'return rule.deletionPolicy === "Retain" ? id : rule.meta.namespace;',
    to: 'return rule.deletionPolicy === "Retain" ? id : "";',
    foundBy: runs,
  },
  {
    guard: "a rule that retains its entries relies on no other rule",
    file: "src/plan/lists/compact-list.ts",
    from: 'return rule.deletionPolicy === "Retain" ? id : rule.meta.namespace;',
    to: "return id === null ? id : rule.meta.namespace;",
    foundBy: runs,
  },
  {
    guard: "an entry relies only on an entry with the same or a later expiry and the same or a higher priority",
    file: "src/plan/lists/compact-entries.ts",
    from: "if (endsAtMs >= terms.endsAtMs && priority >= terms.priority) return container;",
    to: "if (endsAtMs >= 0 || priority >= terms.priority) return container;",
    foundBy: entries,
  },
  {
    guard: "entries are not compacted across an entry of the other list",
    file: "src/plan/lists/compact-entries.ts",
    from: "if (this.#networks.isOther(container)) return undefined;",
    to: "if (this.#networks.isOther(container)) continue;",
    foundBy: entries,
  },
  {
    guard: "merged networks contain only declared addresses",
    file: "src/model/packed-networks.ts",
    from: "this.#sharesBits(lower, upper, length - 1)",
    to: "this.#sharesBits(lower, upper, length - 2)",
    foundBy: entries,
  },
  {
    guard: "the entries that a merged entry replaced are added before it is removed",
    file: "src/plan/instance/plan.ts",
    from: "orderForRoom([...orderWrites(adds, removals, basis), ...replaced], rooms)",
    to: "orderForRoom([...replaced, ...orderWrites(adds, removals, basis)], rooms)",
    foundBy: simulation,
  },
  {
    guard: "the guards count the entries that a merged entry replaces",
    file: "src/plan/lists/removal-guard.ts",
    from: "entries.reduce((sum, entry) => sum + weightOf(entry), 0)",
    to: "entries.reduce((sum, entry) => sum + Math.min(1, weightOf(entry)), 0)",
    foundBy: runs,
  },
  {
    guard: "a merged Block entry takes precedence over new Allow rules for each of its parts",
    file: "src/plan/lists/managed-parts.ts",
    from: "return owned.has(entry) ? [entry, ...covers] : covers;",
    to: "return owned.has(entry) ? [entry, ...covers] : noEntries;",
    foundBy: runs,
  },
  {
    guard: "`maxEntries` leaves out entries with a lower priority",
    file: "src/plan/lists/capacity.ts",
    from: "b.priority - a.priority ||",
    to: "a.priority - b.priority ||",
    foundBy: runs,
  },
  {
    guard: "no more entries than `maxEntries` are sent",
    file: "src/plan/lists/capacity.ts",
    from: "if (target.size <= room) return nothingLeftOut;",
    to: "if (target.size >= 0) return nothingLeftOut;",
    foundBy: runs,
  },
];
