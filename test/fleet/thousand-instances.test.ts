// A thousand WAFs and one operator, the bundle as its image runs it: what it costs in memory and in requests to the API server.
// The limits leave room for slow machines: `npm run bench -- --only operator` gives the figures.
// Measures the machine: `npm run test:deploy` runs it alone.
import { describe, expect, test } from "@jest/globals";
import { requestsOf } from "../support/control-plane/audit-log.ts";
import { describeMissing } from "../support/processes/describe-missing.ts";
import { builtProgram } from "../support/processes/built-program.ts";
import { allReady, objectsIn, startFleet, statusWritesIn } from "../support/fleet/fleet.ts";
import { startMeasured } from "../support/fleet/measured-operator.ts";
import { operatorUser } from "../support/worlds/operator-world.ts";
import { findControlPlane } from "../support/control-plane/go-programs.ts";

const size = { instances: 1_000, rules: 2, addresses: 3 };
const statusWritesMax = 3;
/** The limit of the manifests. */
const memoryMax = 512 * 1024 * 1024;

const title = "a thousand instances";
const found = await findControlPlane();
if (found.state === "Missing") describeMissing(title, "a control plane to run on", found.problem);
else
  describe(title, () => {
    const program = builtProgram();

    test("become Ready with at most three writes of each status, in the memory of the pod", async () => {
      await using fleet = await startFleet({ ...size, latencyMs: 1, program: program() });
      if (fleet === undefined) throw new Error("there is no control plane");
      await using operator = await startMeasured({ kubeconfig: fleet.kubeconfig, program: program() });
      await allReady(fleet, size, operator);
      const { directory } = fleet.cluster;
      const requests = await requestsOf(operatorUser, directory);
      const writes = statusWritesIn(requests);
      const { peak } = await operator.memory();
      console.log(`${objectsIn(size)} objects: ${Math.round(peak / 1e6)} MB, ${JSON.stringify(writes)} writes at most`);
      expect(writes.instance).toBeLessThanOrEqual(statusWritesMax);
      expect(writes.rule).toBeLessThanOrEqual(statusWritesMax);
      expect(peak).toBeLessThan(memoryMax);
    });
  });
