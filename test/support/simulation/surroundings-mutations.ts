// The guarantees about clocks, disks, folders and other processes, each with the smallest source change that breaks it.
import type { Mutation } from "./mutations.ts";

const stateTest = "test/source/directory/state-directory.test.ts";
const clockTest = "test/reconcile/converge/clock-jumps.test.ts";

export const surroundingsMutations: readonly Mutation[] = [
  {
    guard: "a deletion stops removing entries if they should stay",
    file: "src/reconcile/converge/run-state.ts",
    from: 'gathered === undefined || wantsRemoval(gathered) ? undefined : { kind: "Outdated" };',
    to: "undefined;",
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "a deletion uses the policy from the API server, not from a stale cache",
    file: "src/reconcile/converge/confirm-deletion.ts",
    from: 'meta.deleting) return { kind: "Confirmed", gathered };',
    to: 'meta.deleting) return { kind: "Confirmed", gathered: cached };',
    foundBy: "test/reconcile/converge/release.test.ts",
  },
  {
    guard: "setting the clock back delays no retry",
    file: "src/reconcile/converge/run.ts",
    from: "isBackingOff(memory, declared, ports.clock.monotonicMs())",
    to: "isBackingOff(memory, declared, ports.clock.nowMs())",
    foundBy: clockTest,
  },
  {
    guard: "setting the clock back does not extend a confirmation",
    file: "src/reconcile/converge/run-state.ts",
    from: "undefined : this.ports.clock.monotonicMs();",
    to: "undefined : this.ports.clock.nowMs();",
    foundBy: clockTest,
  },
  {
    guard: "setting the clock back does not delay the retry of a rejected entry",
    file: "src/plan/lists/refusals.ts",
    from: "return nowMs < refusal.refusedAtMs || nowMs >= refusalEndsAtMs(refusal);",
    to: "return nowMs >= refusalEndsAtMs(refusal);",
    foundBy: "test/plan/lists/memory-of-faults.test.ts",
  },
  {
    guard: "a date in `Retry-After` is compared with the server's clock",
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
    guard: "a state directory that is deleted during use is restored with its inventories",
    file: "src/source/directory/folder-claim.ts",
    from: "await this.#restore();",
    to: "",
    foundBy: stateTest,
  },
  {
    guard: "a state directory is never read as declarations, however its path is spelled",
    file: "src/source/directory/list-files.ts",
    from: "visited: await identitiesOf(skip),",
    to: "visited: new Set(),",
    foundBy: "test/source/directory/read-directory.test.ts",
  },
  {
    guard: "log rows that were forwarded too often are reported",
    file: "src/plan/logs/day-reading.ts",
    from: "broken, brokenCount, surplus: this.#surplus() }",
    to: "broken, brokenCount, surplus: 0 * this.#surplus() }",
    foundBy: "test/plan/logs/day-reading.test.ts",
  },
  {
    guard: "setting the clock back does not delay the complete read of CrowdSec's decisions",
    file: "src/feed/crowdsec/crowdsec-source.ts",
    from: "const nowMs = this.#options.clock.monotonicMs();",
    to: "const nowMs = this.#options.clock.monotonicMs() + Math.min(0, this.#options.clock.nowMs() - this.#startedAtMs);",
    foundBy: "test/feed/crowdsec/crowdsec-source.test.ts",
  },
  {
    guard: "a file that can't be flushed to the disk does not replace the former one",
    file: "src/source/directory/atomic-file.ts",
    from: "await file.sync();",
    to: "await file.sync().catch(() => undefined);",
    foundBy: stateTest,
  },
  {
    guard: "a status is not read through a link",
    file: "src/source/directory/state-directory.ts",
    from: "refuseLinksSync(this.#partsOf(file));",
    to: "refuseLinksSync([]);",
    foundBy: "test/source/directory/status-files.test.ts",
  },
  {
    guard: "no file above its limit is read from the state directory",
    file: "src/source/directory/state-directory.ts",
    from: "if (stats.size > bytesMax)",
    to: "if (stats.size < 0)",
    foundBy: "test/source/directory/status-files.test.ts",
  },
  {
    guard: "a `WafAutoBlock` whose instance is missing keeps its entries",
    file: "src/source/directory/unattached.ts",
    from: "of [...snapshot.rules, ...snapshot.origins, ...snapshot.autoBlocks]) {",
    to: "of [...snapshot.rules, ...snapshot.origins]) {",
    foundBy: "test/source/directory/directory-source.test.ts",
  },
  {
    guard: "removals that were not confirmed are not counted",
    file: "src/reconcile/converge/run-state.ts",
    from: "const countsRemovals = this.#confirmedMs !== undefined;",
    to: "const countsRemovals = this.#confirmedMs !== null;",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "a cache has caught up only if it showed the state that this run read first",
    file: "src/reconcile/converge/run-state.ts",
    from: "this.memory.hasCaughtUp ||= !this.#isRead &&",
    to: "this.memory.hasCaughtUp ||=",
    foundBy: "test/reconcile/converge/safety.test.ts",
  },
  {
    guard: "a file with a new stamp is read again until its time is in the past",
    file: "src/source/directory/read-directory.ts",
    from: "isFinal: listedMs - foundMs >= fileTimeStepMs",
    to: "isFinal: true",
    foundBy: "test/source/directory/read-directory.test.ts",
  },
];
