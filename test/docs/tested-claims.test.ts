// The table of claims names tests that exist, and every step of the world that a user could rely on.
import { expect, test } from "@jest/globals";
import { readPage } from "../support/tidy/markdown-pages.ts";

interface Row {
  readonly suite: string;
  readonly step: string;
}

/** The cells after the claim; a header has no code span in its second cell. */
function rowsOf(page: string): Row[] {
  const rows = [...page.matchAll(/^\|[^|]+\| `(test\/[^`]+)` +\| ([^|]+?) +\|$/gm)];
  return rows.map(([, suite = "", step = ""]) => ({ suite, step }));
}

test("Every claim of the installation pages names a test that exists", async () => {
  const page = await readPage("docs/contributing/tested-claims.md");
  const rows = rowsOf(page);
  const lines = page.split("\n").filter((line) => line.startsWith("|") && !/^\| (?:-|Claim)/.test(line));
  expect(rows).toHaveLength(lines.length);
  const missing = await Promise.all(
    rows.map(async ({ suite, step }) => ((await readPage(suite)).includes(`"${step}"`) ? [] : [`${suite}: ${step}`])),
  );
  expect(missing.flat()).toStrictEqual([]);
});
