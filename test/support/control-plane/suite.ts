// Suites that need a real control plane. Where none can be had they are skipped with a loud line, and fail under
// CI=true, so that nobody takes silence for success.
import { afterAll, describe } from "@jest/globals";
import type { ClusterAccess } from "./cluster-access.ts";
import { connectToCluster } from "./cluster-access.ts";
import type { ControlPlane, StartOptions } from "./start.ts";
import { askForControlPlane, findAndStart, offerVariable } from "./shared-control-plane.ts";
import { describeMissing } from "../processes/describe-missing.ts";

/**
 * Describes a suite on the control plane that all suites of the run share: it has to use namespaces of its own and
 * to leave the server, the custom resource definitions and the cluster roles alone. To be awaited at the top of the
 * file. Without a shared one (jest started by hand) the suite gets its own.
 */
export async function describeWithControlPlane(title: string, body: (cluster: ClusterAccess) => void): Promise<void> {
  const offerUrl = process.env[offerVariable];
  if (offerUrl === undefined || offerUrl === "") return describeWithOwnControlPlane(title, body);
  const offer = await askForControlPlane(offerUrl);
  if (offer.state === "Missing") return describeMissing(title, "a control plane to run on", offer.problem);
  const cluster = await connectToCluster(offer.description);
  describe(title, () => {
    body(cluster);
  });
}

/** As describeWithControlPlane, with a control plane that the suite may restart, break and fill. */
export async function describeWithOwnControlPlane(
  title: string,
  body: (controlPlane: ControlPlane) => void,
  options: Pick<StartOptions, "audits"> = {},
): Promise<void> {
  const started = await findAndStart(options);
  if (typeof started === "string") return describeMissing(title, "a control plane to run on", started);
  describe(title, () => {
    afterAll(() => started.stop());
    body(started);
  });
}
