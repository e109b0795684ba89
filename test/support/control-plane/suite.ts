// Suites that need a real control plane. Where none can be had they are skipped with a loud line, and fail under
// CI=true, so that nobody takes silence for success.
import { afterAll, describe, test } from "@jest/globals";
import type { ClusterAccess } from "./cluster-access.ts";
import { connectToCluster } from "./cluster-access.ts";
import type { ControlPlane } from "./start.ts";
import { askForControlPlane, findAndStart, offerVariable } from "./shared-control-plane.ts";

/**
 * Describes a suite on the control plane that all suites of the run share: it has to use namespaces of its own and
 * to leave the server, the custom resource definitions and the cluster roles alone. To be awaited at the top of the
 * file. Without a shared one (jest started by hand) the suite gets its own.
 */
export async function describeWithControlPlane(title: string, body: (cluster: ClusterAccess) => void): Promise<void> {
  const offerUrl = process.env[offerVariable];
  if (offerUrl === undefined || offerUrl === "") return describeWithOwnControlPlane(title, body);
  const offer = await askForControlPlane(offerUrl);
  if (offer.state === "Missing") return describeMissing(title, offer.problem);
  const cluster = await connectToCluster(offer.description);
  describe(title, () => {
    body(cluster);
  });
}

/** As describeWithControlPlane, with a control plane that the suite may restart, break and fill. */
export async function describeWithOwnControlPlane(
  title: string,
  body: (controlPlane: ControlPlane) => void,
): Promise<void> {
  const started = await findAndStart();
  if (typeof started === "string") return describeMissing(title, started);
  describe(title, () => {
    afterAll(() => started.stop());
    body(started);
  });
}

function describeMissing(title: string, problem: string): void {
  if (process.env["CI"] === "true") {
    describe(title, () => {
      test("has a control plane to run on", () => {
        throw new Error(problem);
      });
    });
    return;
  }
  process.stderr.write(`\n*** SKIPPED: ${title}: no control plane: ${problem}\n\n`);
  // oxlint-disable-next-line jest/no-disabled-tests -- the one place that skips, and it says so
  describe.skip(title, () => {
    test("has a control plane to run on", () => undefined);
  });
}
