import { join } from "node:path";
import { expect, test } from "@jest/globals";
import packageJson from "../../package.json" with { type: "json" };
import { runWafsync } from "../support/processes/wafsync-process.ts";

test("wafsync --version prints the version", async () => {
  const program = join(import.meta.dirname, "../../src/cli/main.ts");
  const printed = { code: 0, stderr: "", stdout: `${packageJson.version}\n` };
  expect(await runWafsync(["--version"], { program })).toMatchObject(printed);
});
