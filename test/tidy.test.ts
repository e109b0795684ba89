import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { Exception } from "./support/tidy/exceptions.ts";
import { type Layer, layers, layersBelow, pageRows } from "./support/tidy/layers.ts";
import { findViolations } from "./support/tidy/rules.ts";
import { readSourceTree } from "./support/tidy/source-tree.ts";
import { type RuleName, ruleNames } from "./support/tidy/violation.ts";

const root = join(import.meta.dirname, "..");
const fixture = join(import.meta.dirname, "fixtures", "layers");
const unusedFixture = join(import.meta.dirname, "fixtures", "unused");

describe("the source tree", () => {
  test("is seen by the check, imports and all", async () => {
    const files = await readSourceTree(root, "src");
    expect(files.length).toBeGreaterThan(50);
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(files.length);
  });

  test("keeps to its layers and habits, which permit only what it needs", async () => {
    const violations = await findViolations(root);
    expect(violations.map(({ rule, path, message }) => `${rule}: ${path}: ${message}`)).toStrictEqual([]);
  });
});

describe("the architecture page", () => {
  test("has the layers and their folders as the check reads them", async () => {
    const rows = (await readLayerSection()).map((line) => line.replaceAll(/ {2,}/g, " "));
    expect(rows.filter((row) => row.startsWith("| `"))).toStrictEqual(pageRows());
  });

  test("draws each layer above all layers that it imports", async () => {
    const lines = await readLayerSection();
    const drawing = lines.slice(lines.indexOf("```text"), lines.lastIndexOf("```"));
    const lineOf = (name: string): number => drawing.findIndex((line) => new RegExp(`\\b${name}\\b`).test(line));
    expect(layers.filter(({ name }) => lineOf(name) < 0)).toStrictEqual([]);
    const arrows = layers.flatMap((layer) => layersBelow(layers, layer).map((below) => [layer.name, below] as const));
    expect(arrows.filter(([from, to]) => lineOf(from) >= lineOf(to))).toStrictEqual([]);
  });
});

async function readLayerSection(): Promise<string[]> {
  const page = await readFile(join(root, "docs", "contributing", "architecture.md"), "utf8");
  const lines = page.split("\n");
  const start = lines.indexOf("## Layers");
  return lines.slice(
    start,
    lines.findIndex((line, index) => index > start && line.startsWith("## ")),
  );
}

/** Each file or folder of the fixture is wrong in this way, and in no other. */
const expected: Readonly<Record<string, RuleName>> = {
  "bench/common/measure.ts": "file-names",
  "scripts/doThings.ts": "file-names",
  src: "layers",
  "src/api/knows-plan.ts": "layers",
  "src/app/hands-on-read-status.ts": "status-reads",
  "src/app/knows-inventory-text.ts": "layers",
  "src/app/re-export.ts": "barrels",
  "src/app/reads-status.ts": "status-reads",
  "src/app/star-export.ts": "barrels",
  "src/app/unpacks-status.ts": "status-reads",
  "src/async/knows-domain.ts": "layers",
  "src/cli/environment-import.ts": "environment",
  "src/cli/environment-unpacked.ts": "environment",
  "src/cli/nowhere": "layers",
  "src/cli/simulator-in-wrong-command.ts": "layers",
  "src/kube/reads-environment.ts": "environment",
  "src/kube/reads-clock.ts": "clock",
  "src/kube/sets-timer.ts": "clock",
  "src/kube/imports-timers.ts": "clock",
  "src/kube/new-date.ts": "clock",
  "src/model/cycle-a.ts": "cycles",
  "src/model/knows-files.ts": "pure-plan",
  "src/nowhere": "layers",
  "src/plan/lists/asks-package.ts": "pure-plan",
  "src/plan/lists/deeper": "layers",
  "src/plan/lists/promises.ts": "pure-plan",
  "src/plan/lists/reads-file-later.ts": "pure-plan",
  "src/plan/lists/reads-file.ts": "pure-plan",
  "src/plan/lists/type-from-waf.ts": "layers",
  "src/plan/logs/knows-lists.ts": "layers",
  "src/plan": "layers",
  "src/reconcile/knows-logs.ts": "layers",
  "src/reconcile/knows-source.ts": "layers",
  "src/reconcile/logs/knows-facts.ts": "layers",
  "src/reconcile/logs/knows-lists.ts": "layers",
  "src/simulator/knows-model.ts": "layers",
  "src/simulator/reads-environment.ts": "environment",
  "src/source/cluster/knows-reconcile.ts": "layers",
  "src/source/cluster/type-query.ts": "layers",
  "src/source/utils.ts": "file-names",
  "src/telemetry/knows-tests.ts": "layers",
  "src/waf/knows-kube.ts": "layers",
  "src/waf/knows-telemetry.ts": "layers",
  "src/waf/parses-addresses.ts": "ipaddr",
  "test/helpers.test.ts": "file-names",
};

/** The fixture is too small to use all permissions of the real tables, so these are checked on a fixture of their own. */
async function findBroken() {
  const violations = await findViolations(fixture);
  return violations.filter(({ rule }) => rule !== "unused");
}

describe("the rules, on a tree that breaks them", () => {
  test("find each violation, and nothing in the files that are right", async () => {
    const found = (await findBroken()).map(({ path, rule }) => [path, rule] as const);
    expect(found.sort(([a], [b]) => (a < b ? -1 : 1))).toStrictEqual(
      Object.entries(expected).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  });

  test("are each broken there, or on the tree of unused permissions", () => {
    const broken = new Set<RuleName>([...Object.values(expected), "unused"]);
    expect(ruleNames.filter((rule) => !broken.has(rule))).toStrictEqual([]);
  });

  test("say what is wrong", async () => {
    const messages = new Map((await findBroken()).map(({ path, message }) => [path, message]));
    expect(messages.get("src/plan/lists/type-from-waf.ts")).toBe("plan/lists may not import src/waf/fine.ts");
    expect(messages.get("src/reconcile/knows-logs.ts")).toBe(
      "reconcile/*.ts may not import src/reconcile/logs/fine.ts",
    );
    expect(messages.get("src/model/cycle-a.ts")).toBe(
      "imports itself: src/model/cycle-a.ts → src/model/cycle-b.ts → src/model/cycle-a.ts",
    );
    expect(messages.get("src/kube/sets-timer.ts")).toBe(
      "only src/async/clock.ts reads the real time: take a Clock (it has setTimeout)",
    );
  });

  test("print the row that a folder would need", async () => {
    const messages = new Map((await findBroken()).map(({ path, message }) => [path, message]));
    expect(messages.get("src/cli/nowhere")).toBe(
      'has no row in the table: move its files, or add {"name":"cli/nowhere","mayImport":["model","cli/*.ts"]}',
    );
    expect(messages.get("src/plan")).toBe(
      'has no row in the table: move its files, or add {"name":"plan/*.ts","mayImport":[]}',
    );
    expect(messages.get("src")).toBe("has files outside any layer: move them into one");
  });
});

function tableOf(mayImport: { readonly logs: readonly string[]; readonly app: readonly string[] }): readonly Layer[] {
  return [
    { name: "model", mayImport: [], duty: "entries" },
    { name: "async", mayImport: [], duty: "the clock" },
    {
      name: "plan",
      duty: "two folders, of which only one imports another layer",
      folders: [
        { name: "plan/lists", mayImport: ["model"], duty: "imports model" },
        { name: "plan/logs", mayImport: mayImport.logs, duty: "imports nothing" },
      ],
    },
    { name: "app", mayImport: mayImport.app, duty: "imports plan/lists, and the clock in one file" },
  ];
}

const startsMayImport = (target: string): Exception => {
  return { rule: "layers", path: "src/app/starts.ts", target, why: "only this file may" };
};
const readsStatus: Exception = { rule: "status-reads", path: "src/app/reads-status.ts", why: "it prints it" };

describe("the tables, on a tree that needs only a part of them", () => {
  async function check(layerTable: readonly Layer[], exceptions: readonly Exception[]): Promise<string[]> {
    const violations = await findViolations(unusedFixture, { layers: layerTable, exceptions });
    return violations.map(({ rule, message }) => `${rule}: ${message}`);
  }

  test("pass with exactly what it needs", async () => {
    const table = tableOf({ logs: [], app: ["plan/lists"] });
    expect(await check(table, [startsMayImport("async"), readsStatus])).toStrictEqual([]);
  });

  test("fail on each permission that no import needs, in one folder of a layer too", async () => {
    const table = tableOf({ logs: ["model"], app: ["plan/lists", "plan/logs", "kube"] });
    expect(await check(table, [startsMayImport("async"), readsStatus])).toStrictEqual([
      "unused: plan/logs imports nothing from model: remove it from the table",
      "unused: app imports nothing from plan/logs: remove it from the table",
      "unused: app imports nothing from kube: remove it from the table",
    ]);
  });

  test("fail on each exception that no file needs", async () => {
    const table = tableOf({ logs: [], app: ["async", "plan/lists"] });
    const wasChanged: Exception = { rule: "ipaddr", path: "src/app/was-changed.ts", why: "it read addresses once" };
    const wasDeleted: Exception = { rule: "ipaddr", path: "src/app/was-deleted.ts", why: "it read addresses once" };
    expect(await check(table, [startsMayImport("async"), readsStatus, wasChanged, wasDeleted])).toStrictEqual([
      "unused: src/app/starts.ts does not break the rule layers: remove it from the table",
      "unused: src/app/was-changed.ts does not break the rule ipaddr: remove it from the table",
      "unused: src/app/was-deleted.ts does not break the rule ipaddr: remove it from the table",
    ]);
  });

  test("let an exception permit no row but its own", async () => {
    const table = tableOf({ logs: [], app: ["plan/lists"] });
    expect(await check(table, [startsMayImport("model"), readsStatus])).toStrictEqual([
      "layers: app may not import src/async/clock.ts",
      "unused: src/app/starts.ts does not break the rule layers: remove it from the table",
    ]);
  });
});
