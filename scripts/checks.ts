// The checks of the source and the set of fast tests. `npm run verify` and `npm test` share these lists.

export interface Check {
  readonly title: string;
  readonly command: readonly string[];
  /** The npm script that fixes what the check reports. If undefined, the check's output says what to correct. */
  readonly fix?: string;
  /** If the check fails, most tests fail for the same reason, so `npm run verify` does not run them. */
  readonly testsNeedIt?: true;
}

export const checks: readonly Check[] = [
  { title: "Format", command: ["oxfmt", "--check", "."], fix: "format" },
  { title: "Lint", command: ["oxlint", "--type-aware"] },
  { title: "Unused code", command: ["knip"] },
  { title: "Types", command: ["tsc", "--noEmit"], testsNeedIt: true },
  { title: "Generated files", command: ["node", "scripts/generate.ts", "--check"], fix: "generate" },
];

/** Folders and files whose tests need no control plane, no Go and no bundle, and take seconds. `npm run verify` runs only
 * these tests.
 */
export const fastTests: readonly string[] = [
  "test/api/",
  "test/async/",
  "test/cli/help.test.ts",
  "test/deploy/generated-files.test.ts",
  "test/docs/",
  "test/model/",
  "test/plan/",
  "test/reconcile/converge/release-guards.test.ts",
  "test/scripts/checks.test.ts",
  "test/simulation/mutations.test.ts",
  "test/telemetry/",
  "test/tidy.test.ts",
  "test/time-limits.test.ts",
];

/** Suites that run only a tenth of their cases in most runs: `npm run test:deploy` runs them again with all cases. See
 * test/support/builders/case-count.ts.
 */
export const thoroughTests: readonly string[] = [
  "test/app/faults.test.ts",
  "test/async/keyed-queue.test.ts",
  "test/cli/command-rule.test.ts",
  "test/cli/import-documents.test.ts",
  "test/e2e/feeds.test.ts",
  "test/e2e/sigkill.test.ts",
  "test/feed/read/plain-reader.test.ts",
  "test/kube/lease-simulation.test.ts",
  "test/kube/list-watch-model.test.ts",
  "test/model/aggregate.test.ts",
  "test/model/entry.test.ts",
  "test/model/redactor.test.ts",
  "test/plan/blocking/judge.test.ts",
  "test/plan/instance/explain.test.ts",
  "test/plan/instance/incremental.test.ts",
  "test/plan/instance/plan.property.test.ts",
  "test/plan/lists/compact-entries.test.ts",
  "test/reconcile/logs/forward-logs-walk.test.ts",
  "test/simulation/folder.test.ts",
  "test/simulation/simulation.test.ts",
];

/** Suites in these folders that need a control plane, or take longer than all other suites together. */
export const slowTests: readonly string[] = ["test/api/admission.test.ts"];
