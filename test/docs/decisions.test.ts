// Decisions have one form, so that a reader finds context, decision, consequences and alternatives in each of them.
import { basename } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { filesBelow, linksOf, readPage } from "../support/tidy/markdown-pages.ts";

const linesMax = 60;
const index = "docs/contributing/decisions/README.md";
const decisions = (await filesBelow("docs/contributing/decisions", ".md")).filter((path) => path !== index);

describe("docs/contributing/decisions/README.md", () => {
  test("lists every decision once, in order, with its title and status", async () => {
    const page = await readPage(index);
    expect(linksOf(page)).toStrictEqual(decisions.map((path) => basename(path)));
    for (const path of decisions) {
      const text = await readPage(path);
      const [, title = "?"] = /^# (.+)$/m.exec(text) ?? [];
      expect(page).toContain(`[${title}](${basename(path)})`);
    }
  });
});

describe.each(decisions)("%s", (path) => {
  test("has a number, a status, a date and the four sections, on one screen", async () => {
    const text = await readPage(path);
    const [, number = ""] = /^docs\/contributing\/decisions\/0*(\d+)-/.exec(path) ?? [];
    expect(text).toMatch(new RegExp(`^# ${number}\\. `));
    expect(text).toMatch(/^Status: (?:Proposed|Accepted|Superseded by)\b.* Date: \d{4}-\d\d-\d\d\.$/m);
    const sections = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(sections).toStrictEqual(["Context", "Decision", "Consequences", "Alternatives"]);
    expect(text.split("\n").length).toBeLessThanOrEqual(linesMax);
  });
});
