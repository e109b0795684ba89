import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { layerRows } from "./support/tidy/layers.ts";
import { type RuleName, findViolations, ruleNames } from "./support/tidy/rules.ts";
import { readSourceTree } from "./support/tidy/source-tree.ts";

const root = join(import.meta.dirname, "..");
const fixture = join(import.meta.dirname, "fixtures", "layers");

describe("the source tree", () => {
  test("is seen by the check, imports and all", async () => {
    const files = await readSourceTree(root, "src");
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(files.length);
  });

  test("keeps to its layers and habits", async () => {
    const violations = await findViolations(root);
    expect(violations.map(({ rule, path, message }) => `${rule}: ${path}: ${message}`)).toEqual([]);
  });

  test("has its layers in the architecture page as the check reads them", async () => {
    const page = await readFile(join(root, "docs", "architecture.md"), "utf8");
    const rows = page.split("\n").map((line) => line.replaceAll(/ {2,}/g, " "));
    expect(rows.filter((row) => layerRows().includes(row))).toEqual(layerRows());
  });
});

/** Each file of the fixture below is wrong in this way, and in no other. */
const expected: Readonly<Record<string, RuleName>> = {
  "bench/common/measure.ts": "file-names",
  "scripts/doThings.ts": "file-names",
  "src/api/knows-plan.ts": "layers",
  "src/app/re-export.ts": "barrels",
  "src/app/star-export.ts": "barrels",
  "src/async/knows-domain.ts": "layers",
  "src/cli/environment-import.ts": "environment",
  "src/cli/environment-unpacked.ts": "environment",
  "src/cli/simulator-in-wrong-command.ts": "layers",
  "src/kube/reads-environment.ts": "environment",
  "src/kube/reads-clock.ts": "clock",
  "src/kube/sets-timer.ts": "clock",
  "src/kube/imports-timers.ts": "clock",
  "src/kube/new-date.ts": "clock",
  "src/model/cycle-a.ts": "cycles",
  "src/model/knows-files.ts": "pure-plan",
  "src/nowhere/lost.ts": "layers",
  "src/plan/asks-package.ts": "pure-plan",
  "src/plan/reads-file.ts": "pure-plan",
  "src/plan/reads-file-later.ts": "pure-plan",
  "src/plan/promises.ts": "pure-plan",
  "src/plan/type-from-waf.ts": "layers",
  "src/reconcile/knows-source.ts": "layers",
  "src/root-file.ts": "layers",
  "src/simulator/knows-model.ts": "layers",
  "src/simulator/reads-environment.ts": "environment",
  "src/source/knows-reconcile.ts": "layers",
  "src/source/type-query.ts": "layers",
  "src/source/utils.ts": "file-names",
  "src/waf/knows-kube.ts": "layers",
  "src/waf/parses-addresses.ts": "ipaddr",
  "test/helpers.test.ts": "file-names",
};

describe("the rules, on a tree that breaks them", () => {
  test("find each violation, and nothing in the files that are right", async () => {
    const violations = await findViolations(fixture);
    const found = violations.map(({ path, rule }) => [path, rule] as const).sort(([a], [b]) => (a < b ? -1 : 1));
    expect(found).toEqual(Object.entries(expected).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

  test("are each broken there", () => {
    const broken = new Set(Object.values(expected));
    expect(ruleNames.filter((rule) => !broken.has(rule))).toEqual([]);
  });

  test("say what is wrong", async () => {
    const violations = await findViolations(fixture);
    const messages = new Map(violations.map(({ path, message }) => [path, message]));
    expect(messages.get("src/plan/type-from-waf.ts")).toBe("plan may not import src/waf/fine.ts");
    expect(messages.get("src/model/cycle-a.ts")).toBe(
      "imports itself: src/model/cycle-a.ts → src/model/cycle-b.ts → src/model/cycle-a.ts",
    );
    expect(messages.get("src/kube/sets-timer.ts")).toBe(
      "only src/async/clock.ts knows real time: take a Clock (it has setTimeout)",
    );
  });
});
