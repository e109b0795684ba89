// The commands of the pages about installing, run one after another on one cluster, with Helm. No page may leave out what the next needs.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { describeWithOwnControlPlane } from "../../support/control-plane/suite.ts";
import { withToolsIn } from "./tools-suite.ts";
import { pagesOfSuites } from "../../support/pages/documented-pages.ts";
import { scriptOfPage } from "../../support/pages/page-steps.ts";
import { withPageSession } from "../../support/pages/page-world.ts";
import { runSteps } from "../../support/pages/run-page.ts";
import { readPage } from "../../support/tidy/markdown-pages.ts";

await withToolsIn(describeWithOwnControlPlane, "the documented commands", (tools, cluster) => {
  beforeAll(async () => {
    await cluster.expectKubectl(["create", "namespace", "argocd"]);
    await cluster.expectKubectl(["create", "configmap", "argocd-cm", "--namespace", "argocd"]);
  });

  test.each(pagesOfSuites["test/deploy/tools/documented-commands.test.ts"])("work on %s", async (page) => {
    const script = scriptOfPage(await readPage(page));
    const programs = { kubectl: cluster.kubectl, helm: [tools.files.helm] };
    const environment = { KUBECONFIG: cluster.kubeconfig, KUBERC: "off" };
    await withPageSession(script, { programs, environment }, async (session) => {
      expect(await runSteps(page, script.steps, session)).toBeGreaterThan(0);
    });
  });
});
