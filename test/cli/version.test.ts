import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { runWafsync } from "../support/processes/wafsync-process.ts";

const { version } = JSON.parse(await readFile(join(import.meta.dirname, "../../package.json"), "utf8")) as {
  version: string;
};

/** test/build.test.ts tests the commit of the bundle. */
const program = join(import.meta.dirname, "../../src/cli/main.ts");

test("wafsync version prints the versions of wafsync and Node.js and the commit, as lines or as JSON", async () => {
  const node = process.versions.node;
  const platform = `${process.platform}-${process.arch}`;
  expect(await runWafsync(["version"], { program })).toMatchObject({
    code: 0,
    stderr: "",
    stdout: `wafsync      ${version}
Commit       unknown: running from source
Node.js      ${node} (${platform})
`,
  });
  const found = await runWafsync(["version", "-o", "json"], { program });
  expect(JSON.parse(found.stdout)).toStrictEqual({ version, commit: null, node, platform });
});
