// Suites that need an OpenTelemetry Collector. If none is available, they are skipped with a clear message, and fail with CI=true.
import { findCollector } from "../../collector/find.ts";
import { describeMissing } from "./describe-missing.ts";

/** Await it at the top of the file. `body` gets the collector's program. */
export async function describeWithCollector(
  title: string,
  body: (program: string) => Promise<void> | void,
): Promise<void> {
  const found = await findCollector();
  if (found.state === "Built") return await body(found.file);
  describeMissing(title, "a collector to send to", found.problem);
}
