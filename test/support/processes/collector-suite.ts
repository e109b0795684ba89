// Suites that need an OpenTelemetry Collector. Where none can be had they are skipped with a loud line, and fail under CI=true.
import { describe, test } from "@jest/globals";
import { findCollector } from "../../collector/find.ts";

/** To be awaited at the top of the file. `body` gets the collector's program. */
export async function describeWithCollector(
  title: string,
  body: (program: string) => Promise<void> | void,
): Promise<void> {
  const found = await findCollector();
  if (found.state === "Built") return await body(found.file);
  if (process.env["CI"] === "true") {
    describe(title, () => {
      test("has a collector to send to", () => {
        throw new Error(found.problem);
      });
    });
    return;
  }
  process.stderr.write(`\n*** SKIPPED: ${title}: no collector: ${found.problem}\n\n`);
  // oxlint-disable-next-line jest/no-disabled-tests -- it says so
  describe.skip(title, () => {
    test("has a collector to send to", () => undefined);
  });
}
