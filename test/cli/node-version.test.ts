import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { nodeVersionMin, nodeVersionProblem } from "../../src/cli/node-version.ts";
import { builtProgram } from "../support/processes/built-program.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";

test.each(["22.19.0", "22.20.1", "24.0.0", "100.1.0"])("Node.js %s can run wafsync", (version) => {
  expect(nodeVersionProblem(version)).toBeUndefined();
});

test.each(["22.18.9", "20.20.2", "18.0.0", "4.9.1"])(
  "Node.js %s cannot, and one line names the required version",
  (version) => {
    expect(nodeVersionProblem(version)).toBe(`error: wafsync needs Node.js 22.19 or newer, but this is ${version}`);
  },
);

test("package.json names the same version", async () => {
  const text = await readFile(join(import.meta.dirname, "../../package.json"), "utf8");
  const { engines } = JSON.parse(text) as { engines: { node: string } };
  expect(engines.node).toBe(`>=${nodeVersionMin}`);
});

describe("the bundle", () => {
  const program = builtProgram();
  const old = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });`;
  const nodeParameters = ["--import", `data:text/javascript,${encodeURIComponent(old)}`];

  test.each(["plan -f .", "logs --help", "--version"])("rejects `wafsync %s` on an old Node.js", async (line) => {
    const refused = await runWafsync(line.split(" "), { program: program(), nodeParameters });
    expect(refused).toStrictEqual({
      code: 2,
      signal: undefined,
      stdout: "",
      stderr: "error: wafsync needs Node.js 22.19 or newer, but this is 20.20.2\n",
    });
  });
});
