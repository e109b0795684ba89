// No command of the documentation is untested by accident: each block is run by a suite, which takes it from the page, or says why not.
import { describe, expect, test } from "@jest/globals";
import { isOutput, isPartOfOutput } from "../support/pages/compare-output.ts";
import { pagesOfSuites } from "../support/pages/documented-pages.ts";
import { scriptOfPage } from "../support/pages/page-steps.ts";
import { filesBelow, readPage } from "../support/tidy/markdown-pages.ts";

const pages = ["README.md", ...(await filesBelow("docs", ".md"))];
const listed: readonly string[] = Object.values(pagesOfSuites).flat();
const reasonWordsMin = 3;

describe("The command blocks of the documentation", () => {
  test("are run by a suite, or marked with the reason why not", async () => {
    const problems: string[] = [];
    for (const page of pages) {
      const { steps, notRun, faults } = scriptOfPage(await readPage(page));
      problems.push(...faults.map((fault) => `${page}: ${fault}`));
      const command = steps.find(({ kind }) => kind === "Command");
      if (command !== undefined && !listed.includes(page)) {
        problems.push(
          `${page}:${command.line}: no suite runs it: add the page to documented-pages.ts, or mark the block`,
        );
      }
      if (command === undefined && listed.includes(page))
        problems.push(`${page}: has no command that a suite could run`);
      const unexplained = notRun.filter(({ reason }) => reason.split(" ").length < reasonWordsMin);
      problems.push(...unexplained.map(({ line }) => `${page}:${line}: give a reason why it is not run`));
    }
    expect(problems).toStrictEqual([]);
  });

  test("are run by one suite only, which takes its pages from the list", async () => {
    expect(listed.filter((page, index) => listed.indexOf(page) !== index || !pages.includes(page))).toStrictEqual([]);
    for (const suite of Object.keys(pagesOfSuites)) {
      expect(await readPage(suite)).toContain(`pagesOfSuites["${suite}"]`);
    }
  });
});

describe("A page as a script", () => {
  test("has its commands in order, with outputs, exit codes and files", () => {
    const page = [
      "<!-- first run: mkdir waf -->\n<!-- file: waf/a.yaml -->\n\n```yaml\na: 1\n```\n",
      "<!-- exit code: 1 -->\n\n```sh\nwafsync plan -f waf\n```\n\nIt prints:\n\n```text\nPlan: …\n```\n",
      "- in a list\n\n  <!-- in the background -->\n\n  ```console\n  $ wafsync run -f waf\n  $ curl -d 'a\n    b' http://x\n  ok\n  ```\n",
      "<!-- Ctrl-C: wafsync run -->\n\n<!-- not run: needs a\nregistry -->\n\n```sh\ndocker push\n```\n",
      "```sh\nls\n```\n\n## Next\n\n```text\nnot its output\n```\n",
    ].join("\n");
    const { steps, notRun, faults } = scriptOfPage(page);
    const shown = steps.map((step) =>
      Object.entries(step).flatMap(([name, value]: [string, unknown]) =>
        name === "line" || value === false || value === 0 ? [] : [value],
      ),
    );
    expect(shown).toStrictEqual([
      ["Preparation", "mkdir waf"],
      ["File", "waf/a.yaml", "a: 1\n"],
      ["Command", "wafsync plan -f waf\n", "Plan: …\n", 1],
      ["Command", "wafsync run -f waf", undefined, true],
      ["Command", "curl -d 'a\n  b' http://x", "ok\n"],
      ["Interruption", "wafsync run"],
      ["Command", "ls\n", undefined],
    ]);
    expect(notRun).toStrictEqual([{ line: 36, reason: "needs a registry" }]);
    expect(faults).toStrictEqual([]);
  });

  test("has a fault if a console shows no command", () => {
    expect(scriptOfPage("```console\nonly output\n```\n").faults).toStrictEqual([expect.stringContaining("line 1")]);
  });
});

describe("The output on a page", () => {
  const printed = "shop/shop   True    34s   2026-11-22T05:18:37Z\n\nPlan: 40 to add, hash 6aa6e0a25a39\n";

  test("may differ in times, ages, hashes and the width of columns, and leave lines out", () => {
    expect(isOutput("shop/shop  True  2s  2026-01-01T00:00:00Z\nPlan: 40 to add, hash 0123456789ab\n", printed)).toBe(
      true,
    );
    expect(isOutput("shop/shop  …\nPlan: 40 to add, …", printed)).toBe(true);
    expect(isPartOfOutput("Plan: 40 to add", printed)).toBe(true);
    expect(isOutput("A report of 12 rows is there.", "A report of 4,624 rows is there.", true)).toBe(true);
  });

  test("differs if a word, a number or a line does", () => {
    expect(isOutput("shop/shop  False  2s  2026-01-01T00:00:00Z\n…", printed)).toBe(false);
    expect(isOutput("…\nPlan: 41 to add, …", printed)).toBe(false);
    expect(isOutput("shop/shop  True  2s  2026-01-01T00:00:00Z\n", printed)).toBe(false);
    expect(isPartOfOutput("Plan: 41 to add", printed)).toBe(false);
    expect(isOutput("A report of 12 rows is there.", "A report of 4,624 lines is there.", true)).toBe(false);
  });
});
