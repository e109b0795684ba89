// The guarantees about forwarded logs, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const run = "src/reconcile/logs/forward-run.ts";

export const logMutations: readonly Mutation[] = [
  {
    guard: "log rows that arrive late are forwarded",
    file: "src/plan/logs/cursor.ts",
    from: "const open = Math.min(this.#nextDay, today - lookbackDays, ...this.#marks.keys());",
    to: "const open = today + 0 * lookbackDays;",
    foundBy: "simulation",
  },
  {
    guard: "log rows count as forwarded only after the output has accepted them",
    file: run,
    from: "if (problem !== undefined) {\n        cursor.giveBack(day, entries.slice(start));",
    to: "if (problem !== undefined) {",
    foundBy: "simulation",
  },
  {
    guard: "log rows that are recorded as forwarded are not forwarded again",
    file: run,
    from: "memory.cursor = known?.cursor ?? new LogCursor(",
    to: "memory.cursor = new LogCursor(",
    foundBy: "simulation",
  },
];
