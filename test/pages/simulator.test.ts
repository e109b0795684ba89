// The commands of the pages that need no cluster, run in their order against the simulator. What they print is what the pages show.
// Long: `npm run test:deploy` runs it.
import { describe, expect, test } from "@jest/globals";
import { pagesOfSuites } from "../support/pages/documented-pages.ts";
import { scriptOfPage } from "../support/pages/page-steps.ts";
import { withPageSession } from "../support/pages/page-world.ts";
import { runSteps } from "../support/pages/run-page.ts";
import { readPage } from "../support/tidy/markdown-pages.ts";

describe("The commands without a cluster", () => {
  test.each(pagesOfSuites["test/pages/simulator.test.ts"])("work as printed on %s", async (page) => {
    const script = scriptOfPage(await readPage(page));
    // The tests have built the program.
    await withPageSession(script, { programs: { npm: ["true"] } }, async (session) => {
      expect(await runSteps(page, script.steps, session)).toBeGreaterThan(0);
    });
  });
});
