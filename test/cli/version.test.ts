import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runWafsync } from "../support/processes/wafsync-process.ts";

const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  version: string;
};

const program = join(import.meta.dirname, "../../src/cli/main.ts");

test("wafsync --version prints the version", async () => {
  const printed = { code: 0, stderr: "", stdout: `${version}\n` };
  expect(await runWafsync(["--version"], { program })).toMatchObject(printed);
});
