// The guarantees about `except`, `aggregate` and capacity, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const simulation = "simulation";
const runs = "test/reconcile/converge/aggregate.test.ts";
const sets = "test/model/aggregate.test.ts";

export const aggregateMutations: readonly Mutation[] = [
  {
    guard: "`except` leaves out every network that it names",
    file: "src/plan/lists/guards.ts",
    from: "without(entry, excepted.inside(entry), piecesMax)",
    to: "without(entry, excepted.inside(entry).slice(0, 1), piecesMax)",
    foundBy: "test/plan/lists/guards.test.ts",
  },
  {
    guard: "`except` leaves out entries inside its networks",
    file: "src/plan/lists/guards.ts",
    from: "else if (excepted.containing(entry) === undefined) {",
    to: "else if (excepted.containing(entry) !== undefined) check(entry);\n    else {",
    foundBy: simulation,
  },
  {
    guard: "`except` makes a limited number of networks of an entry",
    file: "src/plan/lists/guards.ts",
    from: "const piecesMax = 256;",
    to: "const piecesMax = 100_000;",
    foundBy: "test/plan/lists/guards.test.ts",
  },
  {
    guard: "merged networks contain only declared addresses",
    file: "src/model/aggregate.ts",
    from: "if (whole.first !== first || whole.last !== upper.span.last) return false;",
    to: "if (whole.first !== first) return false;",
    foundBy: sets,
  },
  {
    guard: "merged networks are no wider than the guards and the grant allow",
    file: "src/model/aggregate.ts",
    from: "prefixLength !== upper.span.prefixLength || prefixLength <= widest",
    to: "prefixLength !== upper.span.prefixLength",
    foundBy: sets,
  },
  {
    guard: "entries that overlap an entry of the other list are not merged",
    file: "src/plan/lists/aggregation.ts",
    from: "(others.mayOverlap(headOf(entry)) && others.overlaps(entry) !== undefined);",
    to: "(others.mayOverlap(headOf(entry)) && others.overlaps(entry) === null);",
    foundBy: runs,
  },
  {
    guard: "entries that the rule adopts are not merged",
    file: "src/plan/lists/aggregation.ts",
    from: "      adopted.has(entry) ||\n",
    to: "",
    foundBy: runs,
  },
  {
    guard: "entries that expire by themselves are not merged",
    file: "src/plan/lists/aggregation.ts",
    from: "      ends.some((ending) => ending.has(entry)) ||\n",
    to: "",
    foundBy: runs,
  },
  {
    guard: "a removal waits while the API rejects an entry that shares addresses with it",
    file: "src/plan/instance/list-draft.ts",
    from: "waitsFor?.overlaps(entry) !== undefined;",
    to: "waitsFor?.overlaps(entry) === null;",
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
    guard: "the entries that replace a merged one are added before it is removed",
    file: "src/plan/instance/plan.ts",
    from: "orderForRoom([...orderWrites(adds, removals, basis), ...replaced], rooms)",
    to: "orderForRoom([...replaced, ...orderWrites(adds, removals, basis)], rooms)",
    foundBy: runs,
  },
  {
    guard: "the guards count the declared entries that a removal uncovers",
    file: "src/plan/lists/removal-guard.ts",
    from: "entries.reduce((sum, entry) => sum + weightOf(entry), 0)",
    to: "entries.reduce((sum, entry) => sum + Math.min(1, weightOf(entry)), 0)",
    foundBy: runs,
  },
  {
    guard: "a merged Block entry takes precedence over new Allow rules for each of its parts",
    file: "src/plan/lists/aggregation.ts",
    from: "return this.#owned.has(entry) ? [entry, ...around] : around;",
    to: "return this.#owned.has(entry) ? [entry] : [];",
    foundBy: "test/plan/lists/conflicts.test.ts",
  },
  {
    guard: "a merged Block entry that nobody recorded takes precedence, too",
    file: "src/plan/lists/conflicts.ts",
    from: "return isMerged && networksAround(entry).some((network) => shown.has(network));",
    to: "return isMerged && shown.has(entry);",
    foundBy: "test/plan/lists/conflicts.test.ts",
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
