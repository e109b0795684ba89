// The number of random cases of a test: a tenth of them in most runs, and all of them with `npm run test:deploy`.
// scripts/checks.ts finds the suites that use this.

const variable = "WAFSYNC_TEST_CASES";

/** @param all the number of cases of a long run */
export function caseCount(all: number, environment: NodeJS.ProcessEnv = process.env): number {
  return environment[variable] === "all" ? all : Math.ceil(all / 10);
}
