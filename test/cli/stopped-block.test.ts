import { expect, test } from "@jest/globals";
import { commandRule } from "../../src/cli/command-rule.ts";
import { withSession } from "../../src/cli/session.ts";
import { openFolder } from "../../src/cli/targets/folder-target.ts";
import { entry } from "../support/builders/gathered.ts";
import { testKey, wafFolder } from "../support/worlds/waf-folder.ts";

test("a block that is stopped before it has read the folder again makes no change", async () => {
  await using folder = await wafFolder();
  const instance = { namespace: "shop", name: "main" };
  const fields = { namespace: "shop", instance, action: "Block", expiresAtMs: undefined, description: "" } as const;
  const put = [commandRule(fields, entry("203.0.113.9"))];
  await withSession(async (session) => {
    const target = await openFolder({ from: folder.path, allowInsecureHttp: true }, session);
    const wait = { stop: AbortSignal.abort(), ended: AbortSignal.abort(), onMessage: () => undefined };
    expect((await target.change({ instance, put, removed: [] }, wait)).state).toBe("Stopped");
    return 0;
  });
  expect(folder.simulator.waf(testKey).blocklist).toStrictEqual([]);
});
