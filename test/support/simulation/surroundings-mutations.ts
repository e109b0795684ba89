// The promises about clocks, disks, folders and other processes, and the smallest change of the source that breaks each.
import type { Mutation } from "./mutations.ts";

const stateTest = "test/source/directory/state-directory.test.ts";
const clockTest = "test/reconcile/converge/clock-jumps.test.ts";

export const surroundingsMutations: readonly Mutation[] = [
  {
    guard: "removals of a deletion stop once the entries are to stay",
    file: "src/reconcile/converge/run-state.ts",
    from: 'gathered === undefined || wantsRemoval(gathered) ? undefined : { kind: "Outdated" };',
    to: "undefined;",
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "a deletion uses the policy that the API server has, not that of a stale cache",
    file: "src/reconcile/converge/confirm-deletion.ts",
    from: 'meta.deleting) return { kind: "Confirmed", gathered };',
    to: 'meta.deleting) return { kind: "Confirmed", gathered: cached };',
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "a clock that is set back delays no retry",
    file: "src/reconcile/converge/run.ts",
    from: "isBackingOff(memory, declared, ports.clock.monotonicMs())",
    to: "isBackingOff(memory, declared, ports.clock.nowMs())",
    foundBy: clockTest,
  },
  {
    guard: "a clock that is set back keeps no confirmation alive",
    file: "src/reconcile/converge/run-state.ts",
    from: "undefined : this.ports.clock.monotonicMs();",
    to: "undefined : this.ports.clock.nowMs();",
    foundBy: clockTest,
  },
  {
    guard: "a clock that is set back prolongs no refusal",
    file: "src/plan/lists/refusals.ts",
    from: "return nowMs < refusal.refusedAtMs || nowMs >= refusalEndsAtMs(refusal);",
    to: "return nowMs >= refusalEndsAtMs(refusal);",
    foundBy: "test/plan/lists/memory-of-faults.test.ts",
  },
  {
    guard: "a date to retry after is compared with the clock of the server",
    file: "src/net/retry-after.ts",
    from: "parseHttpDate(normalized(date), nowMs) ?? nowMs",
    to: "nowMs",
    foundBy: "test/net/retry-after.test.ts",
  },
  {
    guard: "a state directory is used only while the process holds its lock",
    file: "src/source/directory/process-lock.ts",
    from: 'if (names.includes(own)) return "Held";',
    to: 'return "Held";',
    foundBy: stateTest,
  },
  {
    guard: "a state directory that is deleted while it is used comes back with the inventories",
    file: "src/source/directory/folder-claim.ts",
    from: "await this.#restore();",
    to: "",
    foundBy: stateTest,
  },
  {
    guard: "a state directory is no declaration, by whatever path it is named",
    file: "src/source/directory/list-files.ts",
    from: "visited: await identitiesOf(skip),",
    to: "visited: new Set(),",
    foundBy: "test/source/directory/read-directory.test.ts",
  },
  {
    guard: "log rows that were handed on too often are reported",
    file: "src/plan/logs/tally.ts",
    from: "return this.#handedOn.left;",
    to: "return 0;",
    foundBy: "test/plan/logs/day-reading.test.ts",
  },
];
