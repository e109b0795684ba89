// Suites that need CrowdSec's local API. Where none can be had they are skipped with a loud line, and fail under CI=true.
import { describe, test } from "@jest/globals";
import { findCrowdsec } from "../../crowdsec/find.ts";

/** To be awaited at the top of the file. `body` gets the server's program. */
export async function describeWithCrowdsec(
  title: string,
  body: (program: string) => Promise<void> | void,
): Promise<void> {
  const found = await findCrowdsec();
  if (found.state === "Built") return await body(found.file);
  if (process.env["CI"] === "true") {
    describe(title, () => {
      test("has a local API to ask", () => {
        throw new Error(found.problem);
      });
    });
    return;
  }
  process.stderr.write(`\n*** SKIPPED: ${title}: no local API: ${found.problem}\n\n`);
  // oxlint-disable-next-line jest/no-disabled-tests -- it says so
  describe.skip(title, () => {
    test("has a local API to ask", () => undefined);
  });
}
