// The published reasons of conditions, compared with the pages that explain them and the code that gives them.
import { describe, expect, test } from "@jest/globals";
import { conditionFacts, type ConditionType, type ReasonFact, reasonFacts } from "../../src/api/reasons.ts";
import { codeSpans, readPage } from "../support/tidy/markdown-pages.ts";
import { readSourceTree } from "../support/tidy/source-tree.ts";
import { root } from "../support/tidy/markdown-pages.ts";

const reasons = Object.entries<ReasonFact>(reasonFacts);

/** Nothing is wrong, there is nothing to do but to wait, or another condition says it. */
function needsNobody({ on, action }: ReasonFact): boolean {
  const isWell = Object.entries(on).every(
    ([type, statuses]) =>
      conditionFacts[type as ConditionType].polarity === "NormalTrue" && statuses.every((status) => status === "True"),
  );
  return isWell || /^(?:Wait|See the condition)\b/.test(action);
}

describe("Each published reason", () => {
  test("for which a person has to do something is in docs/troubleshooting.md", async () => {
    const explained = new Set(codeSpans(await readPage("docs/troubleshooting.md")));
    const missing = reasons.filter(([reason, fact]) => !needsNobody(fact) && !explained.has(reason));
    expect(missing.map(([reason]) => reason)).toStrictEqual([]);
  });

  test("is given somewhere in the source", async () => {
    const files = await readSourceTree(root, "src");
    const code = files.flatMap(({ path, code: text }) => (path === "src/api/reasons.ts" ? [] : text)).join("\n");
    const unused = reasons.filter(([reason]) => !new RegExp(`["'\`]${reason}["'\`]`).test(code));
    expect(unused.map(([reason]) => reason)).toStrictEqual([]);
  });
});
