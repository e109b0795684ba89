// Suites that need CrowdSec's local API. Where none can be had they are skipped with a loud line, and fail under CI=true.
import { findCrowdsec } from "../../crowdsec/find.ts";
import { describeMissing } from "./describe-missing.ts";

/** To be awaited at the top of the file. `body` gets the server's program. */
export async function describeWithCrowdsec(
  title: string,
  body: (program: string) => Promise<void> | void,
): Promise<void> {
  const found = await findCrowdsec();
  if (found.state === "Built") return await body(found.file);
  describeMissing(title, "a local API to ask", found.problem);
}
