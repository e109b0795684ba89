// The pages of the documentation: their links, their YAML, what they call by the name of a file or of an npm script, the form of
// decisions, and that reasons and guards are explained.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { clusterTests, fastTests } from "../../scripts/checks.ts";
import {
  type ConditionFact,
  conditionFacts,
  type ConditionsOfReason,
  type ConditionType,
  reasonFacts,
} from "../../src/kinds/reasons.ts";
import { resourceKinds } from "../../src/model/resource.ts";
import { guardNames } from "../support/builders/guard-schemas.ts";
import { documentsOf, faultsOf } from "../support/builders/yaml-texts.ts";
import { mutations } from "../support/simulation/mutations.ts";
import {
  anchorsOf,
  codeSpans,
  filesBelow,
  linksOf,
  markdownPages,
  readPage,
  root,
  sectionsOf,
} from "../support/tidy/markdown-pages.ts";
import { readSourceTree } from "../support/tidy/source-tree.ts";

const pages = await markdownPages();

/** Pages about the source, and the one that names the suites that attack wafsync: what looks like a path on them is one. */
const pagesAboutSource = pages.filter((page) =>
  /^(?:CONTRIBUTING|RELEASE)\.md$|^docs\/(?:contributing\/|security\.md$)/.test(page),
);

describe("The documentation", () => {
  test("shows an example of every kind, and no YAML of it is wrong", async () => {
    const shown: Record<string, string[]> = {};
    for (const page of pages) {
      const blocks = (await readPage(page)).matchAll(/^```yaml\n(.*?)^```$/gms);
      const documents = [...blocks].flatMap(([, block = ""]) => documentsOf(block));
      expect([page, ...faultsOf(documents)]).toStrictEqual([page]);
      shown[page] = documents.map(({ kind }) => kind ?? "");
    }
    expect(shown["docs/concepts/kinds.md"]).toStrictEqual(expect.arrayContaining([...resourceKinds]));
  });

  test("has no link to a page or a heading that does not exist", async () => {
    const dead: string[] = [];
    for (const page of pages) {
      for (const target of linksOf(await readPage(page))) {
        if (/^[a-z]+:/.test(target)) continue;
        const [path = "", heading] = target.split("#");
        const file = path === "" ? page : join(dirname(page), path);
        const exists =
          existsSync(join(root, file)) && (heading === undefined || anchorsOf(await readPage(file)).has(heading));
        if (!exists) dead.push(`${page}: ${target}`);
      }
    }
    expect(dead).toStrictEqual([]);
  });

  test("is reached from the README, page by page", async () => {
    const reached = new Set(["README.md"]);
    for (const page of reached) {
      if (!page.endsWith(".md")) continue;
      for (const target of linksOf(await readPage(page))) {
        const file = join(dirname(page), target.split("#")[0] ?? "");
        if (!/^[a-z]+:/.test(target) && existsSync(join(root, file))) reached.add(file);
      }
    }
    expect((await filesBelow("docs", ".md")).filter((page) => !reached.has(page))).toStrictEqual([]);
  });

  test("names no npm script that does not exist, and explains every one to contributors", async () => {
    const { scripts } = JSON.parse(await readPage("package.json")) as { scripts: Record<string, string> };
    const unknown: string[] = [];
    for (const page of pages) {
      const named = (await readPage(page)).matchAll(/\bnpm (?:--?\S+ )*run (?:--?\S+ )*([a-z][a-z:-]*)/g);
      for (const [, script = ""] of named) if (!(script in scripts)) unknown.push(`${page}: npm run ${script}`);
    }
    expect(unknown).toStrictEqual([]);
    const contributing = codeSpans(await readPage("CONTRIBUTING.md"));
    const commandOf = (script: string): string => (script === "test" ? "npm test" : `npm run ${script}`);
    expect(Object.keys(scripts).filter((script) => !contributing.includes(commandOf(script)))).toStrictEqual([]);
  });
});

/** `src/cli/NAME-command.ts` stands for every file whose name fits; all other paths stand for themselves. */
async function exists(path: string): Promise<boolean> {
  if (!path.includes("NAME")) return existsSync(join(root, path));
  const parts = basename(path).split("NAME");
  const siblings = await filesBelow(dirname(path), parts.at(-1) ?? "").catch(() => []);
  return siblings.some((file) => dirname(file) === dirname(path) && basename(file).startsWith(parts[0] ?? ""));
}

test("The checklists of CONTRIBUTING.md say of tests that npm run verify does not run that it does not", async () => {
  const checklists = sectionsOf(await readPage("CONTRIBUTING.md"), 2).get("Checklists") ?? "";
  const noticing = [...checklists.matchAll(/→([^→]*?)(?=\n\d+\.|\n\n|$)/gs)].map(([, what = ""]) => what);
  expect(noticing.length).toBeGreaterThan(25);
  const suites = noticing.flatMap(codeSpans).filter((span) => span.startsWith("test/"));
  const isFast = (suite: string): boolean =>
    fastTests.some((fast) => suite.startsWith(fast)) && !clusterTests().includes(suite);
  expect(suites.filter((suite) => !isFast(suite))).toStrictEqual([]);
});

describe("The pages about the source", () => {
  test.each(pagesAboutSource)("%s names only files and folders that exist", async (page) => {
    const paths = codeSpans(await readPage(page)).filter((span) =>
      /^(?:\.ci|\.github|bench|crds|deploy|docs|examples|scripts|src|test)\/\S*$|^[\w.-]+\.(?:md|json|js)$/.test(span),
    );
    const missing: string[] = [];
    for (const path of paths) if (!(await exists(path))) missing.push(path);
    expect(missing).toStrictEqual([]);
  });

  test("are those that contributors read", async () => {
    expect(pagesAboutSource).toStrictEqual(
      expect.arrayContaining(["CONTRIBUTING.md", "RELEASE.md", "docs/contributing/architecture.md"]),
    );
    const spans = codeSpans(await readPage("CONTRIBUTING.md"));
    expect(spans.filter((span) => span.startsWith("src/")).length).toBeGreaterThan(10);
  });
});

const decisionIndex = "docs/contributing/decisions/README.md";
const decisions = (await filesBelow("docs/contributing/decisions", ".md")).filter((path) => path !== decisionIndex);

describe("docs/contributing/decisions/README.md", () => {
  test("lists every decision once, in order, with its title and status", async () => {
    const page = await readPage(decisionIndex);
    expect(linksOf(page)).toStrictEqual(decisions.map((path) => basename(path)));
    for (const path of decisions) {
      const text = await readPage(path);
      const [, title = "?"] = /^# (.+)$/m.exec(text) ?? [];
      expect(page).toContain(`[${title}](${basename(path)})`);
    }
  });
});

describe.each(guardNames)("The guard %s", (guard) => {
  test("is in the tables of docs/concepts/safety.md", async () => {
    const rows = (await readPage("docs/concepts/safety.md")).split("\n").filter((line) => line.startsWith("|"));
    expect(rows.filter((row) => row.includes(`\`guards.${guard}\``))).not.toStrictEqual([]);
  });

  test("is switched off by a mutation, which names it", () => {
    expect(mutations.filter((mutation) => mutation.guard.includes(`\`${guard}\``))).not.toStrictEqual([]);
  });
});

const reasons = Object.entries<ConditionsOfReason>(reasonFacts);
const conditionsPage = sectionsOf(await readPage("docs/reference/conditions.md"), 2);

/** The cells of each row in the table of a section. */
function rowsOf(heading: string): string[][] {
  const lines = (conditionsPage.get(heading) ?? "").split("\n").filter((line) => line.startsWith("| `"));
  return lines.map((line) => line.slice(2, -2).split(" | "));
}

test("docs/reference/conditions.md explains every condition, and says on which kinds it is", () => {
  const facts = Object.entries<ConditionFact>(conditionFacts);
  expect(rowsOf("Conditions").map(([type, kinds]) => [type, kinds])).toStrictEqual(
    facts.map(([type, { kinds }]) => [`\`${type}\``, kinds.join(", ")]),
  );
});

describe("Each published reason", () => {
  test("is in docs/reference/conditions.md with its conditions, a meaning and what to do", () => {
    const sentence = expect.stringMatching(/^[A-Z].*\.$/);
    const known = reasons.map(([reason, on]) => {
      const statuses = Object.entries(on).map(([type, values]) => `\`${type}\`: ${values.join(", ")}`);
      return [`\`${reason}\``, statuses.join("; "), sentence, sentence];
    });
    expect(rowsOf("Reasons")).toStrictEqual(known);
  });

  test("for which a person has to do something is in docs/troubleshooting.md", async () => {
    const explained = new Set(codeSpans(await readPage("docs/troubleshooting.md")));
    const actions = new Map(rowsOf("Reasons").map(([reason, , , action]) => [reason, action]));
    const missing = reasons.filter(([reason, on]) => {
      const isWell = Object.entries(on).every(
        ([type, statuses]) =>
          conditionFacts[type as ConditionType].polarity === "NormalTrue" && statuses.join("") === "True",
      );
      // There is nothing to do but to wait, or another condition says it.
      const waits = /^(?:Wait|See the condition)\b/.test(actions.get(`\`${reason}\``) ?? "");
      return !isWell && !waits && !explained.has(reason);
    });
    expect(missing.map(([reason]) => reason)).toStrictEqual([]);
  });

  test("is given somewhere in the source", async () => {
    const files = await readSourceTree(root, "src");
    const code = files.flatMap(({ path, code: text }) => (path === "src/kinds/reasons.ts" ? [] : text)).join("\n");
    const unused = reasons.filter(([reason]) => !new RegExp(`["'\`]${reason}["'\`]`).test(code));
    expect(unused.map(([reason]) => reason)).toStrictEqual([]);
  });
});
