// A process whose state directory is deleted makes no further call, and one that does not hold the branch with its state makes none.
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { openStandalone, type StandaloneOptions } from "../../src/app/standalone.ts";
import { createStopping } from "../../src/app/stopping.ts";
import { realClock } from "../../src/async/clock.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { gitProcess, gitRemote } from "../support/worlds/git-remote.ts";
import { ruleDocument, type WafFolder, wafFolder } from "../support/worlds/waf-folder.ts";

function optionsIn({ path }: WafFolder): Omit<StandaloneOptions, "stopping"> {
  return {
    directory: path,
    stateDirectory: join(path, ".wafsync"),
    baseUrls: { allowInsecureHttp: true, allowedBaseUrls: undefined, allowPrivateNetworks: true },
    feedPolicy: { allowInsecureHttp: true, allowPrivateFeeds: true },
    version: "0.0.0",
    environmentKey: undefined,
    isDryRun: false,
    command: "wafsync run",
    clock: realClock,
    random: () => 0.5,
    redactor: new Redactor(),
    observer: {},
  };
}

test("A process whose state directory is deleted during a call makes no further one, and stops by itself", async () => {
  const requests: string[] = [];
  await using folder: WafFolder = await wafFolder({
    onRequest: ({ method, path }) => {
      requests.push(`${method} ${path}`);
      rmSync(join(folder.path, ".wafsync"), { recursive: true, force: true });
    },
  });
  await folder.files.write("rule.yaml", ruleDocument("rule", { addresses: ["192.0.2.1"] }));
  const stopping = createStopping(realClock);
  const opened = await openStandalone({ ...optionsIn(folder), stopping });
  if (!opened.ok) throw new Error(opened.problem);
  await opened.standalone.applyOnce(async () => undefined);
  expect(requests).toHaveLength(1);
  expect(opened.standalone.lost()).toContain("was deleted while wafsync used it");
  while (!stopping.stop.aborted) await realClock.sleep(10);
  await opened.standalone.close();
  stopping.done();
});

test.each([true, false])(
  "A process that can't hold the branch with its state makes no call (dry run: %s)",
  async (isDryRun) => {
    let requests = 0;
    await using folder = await wafFolder({ onRequest: () => void (requests += 1) });
    await using remote = await gitRemote();
    const { state } = await gitProcess(remote);
    renameSync(remote.url, `${remote.url}.away`);
    const stopping = createStopping(realClock);
    const opened = await openStandalone({
      ...optionsIn(folder),
      stateDirectory: state.path,
      remote: state,
      isDryRun,
      stopping,
    });
    expect(opened).toMatchObject({ ok: false, problem: expect.stringContaining("cannot be held") });
    expect(requests).toBe(0);
    await state.close();
    stopping.done();
  },
);
