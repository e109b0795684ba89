// No command of the documentation is untested by accident: each block is run by a suite, which takes it from the page, or says why not.
import { describe, expect, test } from "@jest/globals";
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
