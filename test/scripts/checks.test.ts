// The table of checks and fast tests is true: what it names exists, nothing is missing, and fast tests stay fast to set up.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { checks, clusterTests, fastTests, longTests, measuringTests, thoroughTests } from "../../scripts/checks.ts";
import { readSourceTree, type SourceFile } from "../support/tidy/source-tree.ts";

const root = join(import.meta.dirname, "../..");

async function packageScripts(): Promise<Readonly<Record<string, string>>> {
  const text = await readFile(join(root, "package.json"), "utf8");
  return (JSON.parse(text) as { scripts: Record<string, string> }).scripts;
}

/** What the file imports, and what those import, for types too. */
function reachableFrom(path: string, files: ReadonlyMap<string, SourceFile>): ReadonlySet<string> {
  const reached = new Set([path]);
  for (const each of reached) for (const target of files.get(each)?.imports ?? []) reached.add(target);
  return reached;
}

describe("The checks", () => {
  test("include every generator that npm run generate runs", async () => {
    const generators = ((await packageScripts())["generate"] ?? "").split(" && ");
    const checked = checks.map(({ command }) => command.join(" "));
    expect(generators.filter((generator) => !checked.includes(`${generator} --check`))).toStrictEqual([]);
  });

  test("include every program that npm run lint and npm run check run", async () => {
    const { lint = "", check = "" } = await packageScripts();
    const checked = checks.map(({ command }) => command.join(" "));
    expect([...lint.split(" && "), check].filter((program) => !checked.includes(program))).toStrictEqual([]);
  });

  test("name only npm scripts that exist as their fix", async () => {
    const scripts = await packageScripts();
    expect(checks.flatMap(({ fix }) => fix ?? []).filter((fix) => !(fix in scripts))).toStrictEqual([]);
  });
});

describe("The fast tests", () => {
  test("exist", () => {
    expect(fastTests.filter((path) => !existsSync(join(root, path)))).toStrictEqual([]);
  });

  test("need no control plane, no tools that Go builds, no bundle and no browser", async () => {
    const files = new Map((await readSourceTree(root, "test")).map((file) => [file.path, file]));
    const suites = [...files.keys()].filter(
      (path) =>
        path.endsWith(".test.ts") && fastTests.some((fast) => path.startsWith(fast)) && !clusterTests().includes(path),
    );
    expect(suites.length).toBeGreaterThan(40);
    const needs = suites.flatMap((suite) => {
      const slow = [...reachableFrom(suite, files)].find((path) =>
        /\/(?:control-plane|collector|tools|browser)\/|\/built-program\.ts$/.test(path),
      );
      return slow === undefined ? [] : [`${suite} needs ${slow}: take it out of fastTests in scripts/checks.ts`];
    });
    expect(needs).toStrictEqual([]);
  });
});

test("The suites that npm test leaves out, or shortens, are found by what they say and import", () => {
  expect(clusterTests()).toContain("test/operator/guests.test.ts");
  expect(clusterTests()).toContain("test/kinds/admission.test.ts");
  expect(longTests()).toContain("test/operator/replicas.test.ts");
  expect(measuringTests()).toContain("test/operator/hostile-guests.test.ts");
  expect(thoroughTests()).toContain("test/simulation/simulation.test.ts");
});
