// Finds code that makes a suite depend on the speed of the machine: its own time limits, and clock reads that measure how
// long something took. Only test/support/processes/slowness.ts may do this, because it knows how slow the machine is.
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { readSourceTree } from "./support/tidy/source-tree.ts";
import type { SourceFile } from "./support/tidy/source-tree.ts";

/** The end of a call whose last arguments are a function and a number, or the name of a number, in the transformed code. */
const limitAtEnd = /^([ ]*)(?:\}, [\w.]+| {2}\},\n +[\w.]+\n\1)\);$/gm;
/** The start of such a call, or the end of the table of a `test.each`. */
const testOrHook = /^(?:(?:test|it|beforeAll|beforeEach|afterAll|afterEach)\b|[\])]+\()/;
const elapsedTime = /\bperformance\s*\.\s*now\s*\(|\bhrtime\b|\brealClock\s*\.\s*monotonicMs\b/;
const judges = "test/support/processes/";
const limitMsMin = 2_000;

/** Returns one sentence for each finding. */
function findTimeLimits(files: readonly Pick<SourceFile, "path" | "code">[]): string[] {
  return files.flatMap(({ path, code }) => {
    const found = callsWithLimit(code).map((call) => `${path}: has its own time limit: ${call}`);
    for (const limit of shortLimits(code)) found.push(`${path}: has a limit below two seconds: ${limit}`);
    const reads = path.endsWith(".test.ts") && elapsedTime.test(code) && !path.startsWith(judges);
    return reads ? [...found, `${path}: measures time itself: use within() or timeLimit()`] : found;
  });
}

/** The limits that a busy machine may miss although nothing is slow. */
function shortLimits(code: string): string[] {
  return [...code.matchAll(/\b(?:within|timeLimit)\((\w+)/g)].flatMap(([call, limit = ""]) => {
    const value = new RegExp(`^const ${limit} = (\\S+);$`, "m").exec(code)?.[1] ?? limit;
    return Number(value) < limitMsMin ? [`${call})`] : [];
  });
}

/** The first lines of the tests and hooks that have a time limit. */
function callsWithLimit(code: string): string[] {
  return [...code.matchAll(limitAtEnd)].flatMap(({ index, 1: indentation = "" }) => {
    const isBegin = (line: string): boolean =>
      line.startsWith(indentation) && /^\S/.test(line.slice(indentation.length));
    const begin = code.slice(0, index).split("\n").findLast(isBegin)?.trim() ?? "";
    return testOrHook.test(begin) ? [begin] : [];
  });
}

const root = join(import.meta.dirname, "..");
const clockCall = ["performance", "now()"].join(".");

test("no suite has a time limit of its own, or measures time by itself", async () => {
  const files = await readSourceTree(root, "test");
  const others = /^test\/(?:fixtures\/|slowness|time-limits)/;
  expect(findTimeLimits(files.filter(({ path }) => !others.test(path)))).toStrictEqual([]);
});

test.each([
  'test("is quick", async () => {\n  await act();\n}, 1e3);',
  "  beforeAll(async () => {\n    await act();\n  }, startMs);",
  'test.each([\n  [1],\n  [2]\n])("%d", async () => {\n  await act();\n}, limits.short);',
  'test(\n  "is quick",\n  async () => {\n    await act();\n  },\n  startMs\n);',
  `test("is quick", async () => {\n  const startMs = ${clockCall};\n});`,
  "await within(1e3, act);",
  "const briefMs = 1500;\nconst limit = timeLimit(briefMs);",
])("the check finds %j", (code) => {
  expect(findTimeLimits([{ path: "test/example.test.ts", code }])).toHaveLength(1);
});

test("the check lets polling limits pass", () => {
  const code = 'test("waits", async () => {\n  await eventually("it", async () => {\n    await act();\n  }, 9e4);\n});';
  expect(findTimeLimits([{ path: "test/example.test.ts", code }])).toStrictEqual([]);
});
