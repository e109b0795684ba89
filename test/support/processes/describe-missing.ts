// A suite that can't run here, since what it needs is missing. It is skipped with a loud line and with the reason in its title,
// and fails under CI=true, so that nobody takes silence for success.
import { describe, test } from "@jest/globals";

/** @param needed what the suite runs with, for example `a browser`; `problem` says why there is none, and what to do */
export function describeMissing(title: string, needed: string, problem: string): void {
  if (process.env["CI"] === "true") {
    describe(title, () => {
      test(`has ${needed}`, () => {
        throw new Error(problem);
      });
    });
    return;
  }
  skipSuite(title, `needs ${needed}: ${problem}`);
}

/** Skips a suite whatever CI is: for programs that are optional everywhere. */
export function skipSuite(title: string, reason: string): void {
  process.stderr.write(`\n*** SKIPPED: ${title}: ${reason}\n\n`);
  // oxlint-disable-next-line jest/no-disabled-tests -- the one place that skips, and it says so
  describe.skip(title, () => {
    test(reason, () => undefined);
  });
}
