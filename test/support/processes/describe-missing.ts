// A suite that can't run because something is missing. It is skipped with a clear message and with the reason in its title,
// and fails with CI=true, so that skipped suites are not mistaken for success.
import { describe, test } from "@jest/globals";
import type { FoundProgram } from "../control-plane/go-build.ts";

/** @param needed what the suite needs, for example `a browser`; `problem` says why it is missing, and what to do */
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

/** Await it at the top of the file. `body` gets the file of a program that the suite needs, such as a collector to send to. */
export async function describeWithFound(
  title: string,
  needed: string,
  found: FoundProgram,
  body: (file: string) => Promise<void> | void,
): Promise<void> {
  if (found.state === "Found") await body(found.file);
  else describeMissing(title, needed, found.problem);
}

/** Skips a suite even with CI=true: for programs that are always optional. */
export function skipSuite(title: string, reason: string): void {
  process.stderr.write(`\n*** SKIPPED: ${title}: ${reason}\n\n`);
  // oxlint-disable-next-line jest/no-disabled-tests -- the only place that skips suites, with a message
  describe.skip(title, () => {
    test(reason, () => undefined);
  });
}
