import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { readSourceTree } from "./support/tidy/source-tree.ts";
import { findTimeLimits } from "./support/tidy/time-limits.ts";

const root = join(import.meta.dirname, "..");
const clockCall = ["performance", "now()"].join(".");

test("no suite has a time limit of its own, or measures time by itself", async () => {
  const files = await readSourceTree(root, "test");
  expect(findTimeLimits(files.filter(({ path }) => !/^test\/(?:fixtures|world)\//.test(path)))).toStrictEqual([]);
});

test.each([
  'test("is quick", async () => {\n  await act();\n}, 1e3);',
  "  beforeAll(async () => {\n    await act();\n  }, startMs);",
  'test.each([\n  [1],\n  [2]\n])("%d", async () => {\n  await act();\n}, limits.short);',
  'test(\n  "is quick",\n  async () => {\n    await act();\n  },\n  startMs\n);',
  `test("is quick", async () => {\n  const startMs = ${clockCall};\n});`,
])("the check finds %j", (code) => {
  expect(findTimeLimits([{ path: "test/example.test.ts", code }])).toHaveLength(1);
});

test("the check lets polling limits pass", () => {
  const code = 'test("waits", async () => {\n  await eventually("it", async () => {\n    await act();\n  }, 9e4);\n});';
  expect(findTimeLimits([{ path: "test/example.test.ts", code }])).toStrictEqual([]);
});
