// The published reasons of conditions, compared with the pages that explain them and the code that gives them.
import { describe, expect, test } from "@jest/globals";
import type { ConditionFact, ReasonFact } from "../../src/api/condition-fact.ts";
import { conditionFacts } from "../../src/api/reasons.ts";
import { codeSpans, readPage } from "../support/tidy/markdown-pages.ts";
import { readSourceTree } from "../support/tidy/source-tree.ts";
import { root } from "../support/tidy/markdown-pages.ts";

const facts: readonly (readonly [string, ConditionFact])[] = Object.entries(conditionFacts);
const reasons = facts.flatMap(([type, fact]) =>
  Object.entries(fact.reasons).map(([reason, { statuses, action }]) => ({ type, fact, reason, statuses, action })),
);

/** Nothing is wrong, there is nothing to do but to wait, or another condition says it. */
function needsNobody({ fact, statuses, action }: ReasonFactOf): boolean {
  const isWell = fact.polarity === "NormalTrue" && statuses.every((status) => status === "True");
  return isWell || /^(?:Wait|See the condition)\b/.test(action);
}

interface ReasonFactOf extends Pick<ReasonFact, "statuses" | "action"> {
  readonly fact: ConditionFact;
}

describe("Each published reason", () => {
  test("for which a person has to do something is in docs/troubleshooting.md", async () => {
    const explained = new Set(codeSpans(await readPage("docs/troubleshooting.md")));
    const missing = reasons.filter((each) => !needsNobody(each) && !explained.has(each.reason));
    expect(missing.map(({ type, reason }) => `${type} ${reason}`)).toStrictEqual([]);
  });

  test("is given somewhere in the source", async () => {
    const files = await readSourceTree(root, "src");
    const code = files
      .flatMap(({ path, code: text }) => (/^src\/api\/.*reasons\.ts$/.test(path) ? [] : text))
      .join("\n");
    const unused = reasons.filter(({ reason }) => !new RegExp(`["'\`]${reason}["'\`]`).test(code));
    expect(unused.map(({ type, reason }) => `${type} ${reason}`)).toStrictEqual([]);
  });
});
