// Suites that need a real control plane. If none is available, they are skipped with a clear message, and fail with
// CI=true, so that skipped suites are not mistaken for success.
import { afterAll, describe } from "@jest/globals";
import { type ClusterAccess, connectToCluster } from "./cluster-access.ts";
import type { ControlPlane } from "./start.ts";
import { askForControlPlane, findAndStart, offerVariable } from "./shared-control-plane.ts";
import { describeMissing } from "../processes/describe-missing.ts";

/**
 * Describes a suite on the control plane that all suites of the run share: it must use its own namespaces and
 * must not change the server, the CRDs and the cluster roles. Await it at the top of the
 * file. Without a shared control plane (if jest was started manually), the suite gets its own.
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

/** Like describeWithControlPlane, with a separate control plane that the suite may restart, break and fill. */
export async function describeWithOwnControlPlane(
  title: string,
  body: (controlPlane: ControlPlane) => void,
): Promise<void> {
  const started = await findAndStart();
  if (typeof started === "string") return describeMissing(title, "a control plane to run on", started);
  describe(title, () => {
    afterAll(() => started.stop());
    body(started);
  });
}
