// A wrong key: each command that calls the WAF says which Secret needs a valid key, and never prints the key.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { everythingPrinted, runWafsync } from "../support/processes/wafsync-process.ts";
import { secretDocument, wafFolder } from "../support/worlds/waf-folder.ts";
import type { WafFolder } from "../support/worlds/waf-folder.ts";

const wrongKey = "a-key-of-nobody-1234567890";
let world: WafFolder;

beforeAll(async () => {
  world = await wafFolder();
  await world.files.write("secret.yaml", secretDocument(wrongKey));
});

afterAll(async () => await world[Symbol.asyncDispose]());

describe("A wrong key is reported with the name of its Secret by", () => {
  test.each([["plan"], ["apply"], ["why", "192.0.2.1"], ["logs", "--since", "1d"], ["report", "--since", "1d"]])(
    "%s",
    async (...command) => {
      const { code, stdout, stderr } = await runWafsync([...command, ...world.from]);
      expect(stdout + stderr).toContain("Secret shop/waf-key");
      expect(code).toBeGreaterThan(0);
    },
  );
});

test("none of these programs printed the key", () => {
  expect(everythingPrinted()).not.toContain(wrongKey);
});
