// The checks of the source and the sets of tests: which suites are fast, long or thorough, and which need a control plane.
// `npm run verify`, `npm test`, `npm run test:cluster` and `npm run test:deploy` share them.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

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
  { title: "Weight", command: ["node", "scripts/weigh.ts"] },
];

/** Folders and files whose tests need no control plane, no Go and no bundle, and take seconds: `npm run verify` runs only these. */
export const fastTests: readonly string[] = [
  "test/address/",
  "test/kinds/",
  "test/async/",
  "test/cli/help.test.ts",
  "test/deploy/generated-files.test.ts",
  "test/docs/",
  "test/model/",
  "test/decide/",
  "test/run/release-guards.test.ts",
  "test/scripts/checks.test.ts",
  "test/simulation/mutations.test.ts",
  "test/telemetry/",
  "test/tidy.test.ts",
  "test/time-limits.test.ts",
];

/** Suites that need a control plane, which Go builds: `npm run test:cluster` runs those that are not long. */
export const clusterTests = (): string[] => suitesWith(/^await describe(?:With(?:Own)?ControlPlane|Operator)\(/m);

/** Suites that need third-party programs, or run for so long that they would delay every other test. */
export const longTests = (): string[] => suitesWith(/^\/\/ Long: `npm run test:deploy` runs it\.$/m);

/** Suites that measure delays and memory of the whole machine. They run one at a time, after all other suites. */
export const measuringTests = (): string[] =>
  suitesWith(/^\/\/ Measures the machine: `npm run test:deploy` runs it alone\.$/m);

/** Suites that run only a tenth of their cases in most runs: `npm run test:deploy` runs them again with all cases. */
export const thoroughTests = (): string[] => suitesWith(/\/case-count\.ts"/);

function suitesWith(mark: RegExp): string[] {
  const root = join(import.meta.dirname, "..");
  const suites = globSync("test/**/*.test.ts", { cwd: root });
  return suites.filter((path) => mark.test(readFileSync(join(root, path), "utf8"))).sort();
}
