// Suites that need the CrowdSec local API. If it is not available, they are skipped with a clear message, and fail with CI=true.
import { findCrowdsec } from "../../crowdsec/find.ts";
import { describeMissing } from "./describe-missing.ts";

/** Await it at the top of the file. `body` gets the server's program. */
export async function describeWithCrowdsec(
  title: string,
  body: (program: string) => Promise<void> | void,
): Promise<void> {
  const found = await findCrowdsec();
  if (found.state === "Built") return await body(found.file);
  describeMissing(title, "a local API to ask", found.problem);
}
