// Finds what ties a suite to the speed of one machine: time limits of its own, and clocks that it reads to judge how long
// something took. Both belong to test/support/processes/slowness.ts, which knows how slow the machine is.
import type { SourceFile } from "./source-tree.ts";

/** The end of a call that is given a function and then a number or the name of one, as the transformed code shows it. */
const limitAtEnd = /^([ ]*)(?:\}, [\w.]+| {2}\},\n +[\w.]+\n\1)\);$/gm;
/** How such a call begins, or how the table of a `test.each` ends. */
const testOrHook = /^(?:(?:test|it|beforeAll|beforeEach|afterAll|afterEach)\b|[\])]+\()/;
const elapsedTime = /\bperformance\s*\.\s*now\s*\(|\bhrtime\b|\brealClock\s*\.\s*monotonicMs\b/;
const judges = "test/support/processes/";

/** One sentence for each. */
export function findTimeLimits(files: readonly Pick<SourceFile, "path" | "code">[]): string[] {
  return files.flatMap(({ path, code }) => {
    const found = callsWithLimit(code).map((call) => `${path}: has a time limit of its own: ${call}`);
    const reads = path.endsWith(".test.ts") && elapsedTime.test(code) && !path.startsWith(judges);
    return reads ? [...found, `${path}: measures time by itself: use within() or timeLimit()`] : found;
  });
}

/** The first lines of the tests and hooks that are given a limit. */
function callsWithLimit(code: string): string[] {
  return [...code.matchAll(limitAtEnd)].flatMap(({ index, 1: indentation = "" }) => {
    const isBegin = (line: string): boolean =>
      line.startsWith(indentation) && /^\S/.test(line.slice(indentation.length));
    const begin = code.slice(0, index).split("\n").findLast(isBegin)?.trim() ?? "";
    return testOrHook.test(begin) ? [begin] : [];
  });
}
