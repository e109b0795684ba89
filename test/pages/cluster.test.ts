// The commands of the pages that need a cluster, run in their order against a real API server, with the operator and the simulator.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { describeWithOwnControlPlane } from "../support/control-plane/suite.ts";
import { pagesOfSuites } from "../support/pages/documented-pages.ts";
import { scriptOfPage } from "../support/pages/page-steps.ts";
import { withPageSession } from "../support/pages/page-world.ts";
import { runSteps } from "../support/pages/run-page.ts";
import { slow } from "../support/processes/slowness.ts";
import { readPage } from "../support/tidy/markdown-pages.ts";
import { OperatorWorld } from "../support/worlds/operator-world.ts";

const kinds = "wafinstances,wafiprules,waforigins,wafcacheclears";
const allKinds = `${kinds},wafautoblocks,waffeeds,wafrecords`;

await describeWithOwnControlPlane("the commands in a cluster", (cluster) => {
  let world: OperatorWorld;

  beforeAll(async () => {
    world = await OperatorWorld.begin(cluster);
    await world.startOperator({ parameters: ["--allow-private-feeds"] });
  });
  afterAll(async () => await world.end());

  /** The objects of examples/cluster in the namespace `shop`, all ready, and nothing else. */
  async function beginAnew(directory: string): Promise<void> {
    await cluster.expectKubectl([
      "apply",
      "--server-side",
      "--force-conflicts",
      "-f",
      join(directory, "examples/cluster"),
    ]);
    const ready = ["wait", "--for=condition=Ready", `--timeout=${slow(60)}s`, "--all", "-n", "shop", kinds];
    await cluster.expectKubectl(ready);
  }

  /** Entries stay on the WAF of the page, which goes with it. */
  async function cleanUp(): Promise<void> {
    const retain = [
      "patch",
      "wafinstance",
      "--type=merge",
      "-p",
      '{"spec":{"deletionPolicy":"Retain","suspend":false}}',
    ];
    const names = (await cluster.expectKubectl(["get", "wafinstance", "-n", "shop", "-o", "name"])).split("\n");
    for (const name of names.filter((one) => one !== "")) {
      await cluster.expectKubectl([...retain, "-n", "shop", name.split("/")[1] ?? ""]);
    }
    await cluster.expectKubectl(["delete", allKinds, "-n", "shop", "--all", `--timeout=${slow(60)}s`]);
  }

  test.each(pagesOfSuites["test/pages/cluster.test.ts"])("work as printed on %s", async (page) => {
    const script = scriptOfPage(await readPage(page));
    const programs = { kubectl: cluster.kubectl };
    const environment = { KUBECONFIG: cluster.kubeconfig, KUBERC: "off" };
    await withPageSession(script, { programs, environment }, async (session, { directory }) => {
      await beginAnew(directory);
      try {
        expect(await runSteps(page, script.steps, session)).toBeGreaterThan(0);
      } finally {
        await cleanUp();
      }
    });
  });
});
