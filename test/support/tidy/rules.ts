// The conventions of this code base that a test can check. test/tidy.test.ts requires a violation of each rule in
// test/fixtures, so a rule that no longer finds anything is noticed.
import { type Exception, exceptions } from "./exceptions.ts";
import { isExcepted, layerRule, unusedRule } from "./layer-rules.ts";
import { type Layer, layerOfRow, layers } from "./layers.ts";
import { type SourceFile, isOurs, listFiles, readSourceTree } from "./source-tree.ts";
import type { RuleName, Violation } from "./violation.ts";

type Rule = (files: readonly SourceFile[]) => Violation[];

/** What the rules permit: the project's own tables, unless a fixture provides others. */
export interface Tables {
  readonly layers: readonly Layer[];
  readonly exceptions: readonly Exception[];
}

/** Checks `src/` below the root, and the file names in `test/`, `scripts/` and `bench/`. */
export async function findViolations(root: string, tables: Tables = { layers, exceptions }): Promise<Violation[]> {
  const files = await readSourceTree(root, "src");
  const folders = await Promise.all(["src", "test", "scripts", "bench"].map((folder) => listFiles(root, folder)));
  const paths = folders.flat().filter((path) => !path.startsWith("test/fixtures/"));
  const rules: readonly Rule[] = [
    (all) => layerRule(tables.layers, all),
    cycleRule,
    barrelRule,
    environmentRule,
    clockRule,
    ipaddrRule,
    purePlanRule,
    statusReadRule,
  ];
  const found = [...rules.flatMap((rule) => rule(files)), ...fileNameRule(paths)];
  return [
    ...found.filter((violation) => !isExcepted(violation, tables.exceptions)),
    ...unusedRule(tables.layers, tables.exceptions, files, found),
  ];
}

function cycleRule(files: readonly SourceFile[]): Violation[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const violations: Violation[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      const cycle = [...trail.slice(start), path].join(" → ");
      violations.push({ rule: "cycles", path, message: `imports itself: ${cycle}` });
      return;
    }
    if (done.has(path)) return;
    for (const target of byPath.get(path)?.imports ?? []) if (byPath.has(target)) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of byPath.keys()) visit(path, []);
  return violations;
}

function barrelRule(files: readonly SourceFile[]): Violation[] {
  return files
    .filter(({ reExports }) => reExports)
    .map(({ path }) => ({
      rule: "barrels",
      path,
      message: "re-exports names of another file: import them from there",
    }));
}

/** Reports files whose code, without comments and types, matches the pattern, except the ones where this is allowed. */
function codeRule(rule: RuleName, pattern: RegExp, isRightPlace: (path: string) => boolean, message: string): Rule {
  return (files) =>
    files
      .filter(({ path, code }) => !isRightPlace(path) && pattern.test(code))
      .map(({ path, code }) => ({
        rule,
        path,
        message: `${message} (it has ${pattern.exec(code)?.[0].trim() ?? ""})`,
      }));
}

const environmentRule = codeRule(
  "environment",
  /\bprocess\s*(?:\?\.|\.)\s*env\b|\bprocess\s*(?:\?\.)?\[|\benv\b[^=;]*\}\s*=\s*(?:globalThis\.)?process\b|["'](?:node:)?process["']/,
  (path) => path === "src/app/config.ts",
  "only src/app/config.ts reads the environment",
);

const clockRule = codeRule(
  "clock",
  /\bDate\s*\.\s*now\b|\bnew Date\s*\(\s*\)|\bsetTimeout\b|\bsetInterval\b|\bperformance\s*\.\s*now\b|\bhrtime\b|\bAbortSignal\s*\.\s*timeout\b|["'](?:node:)?timers/,
  (path) => path === "src/async/clock.ts" || path.startsWith("src/simulator/"),
  "only src/async/clock.ts reads the real time: take a Clock",
);

/**
 * A status is a report: no decision may depend on what an earlier run wrote there. Files that compute, forward or print a
 * status are exceptions, each with a reason.
 */
const statusReadRule = codeRule(
  "status-reads",
  /status\s*(?:\?\.|\.)\s*read\b|\breadStatus\b|\{[^{}]*\bread\b[^{}]*\}\s*=[^;=]*status\b/i,
  () => false,
  "a status is a report and not data: take the fact from the place that decided it",
);

function layerOf(path: string): string {
  return layerOfRow(path.replace("src/", ""));
}

function ipaddrRule(files: readonly SourceFile[]): Violation[] {
  return files
    .filter(({ path, imports }) => layerOf(path) !== "model" && imports.includes("ipaddr.js"))
    .map(({ path }) => ({ rule: "ipaddr", path, message: "only src/model imports ipaddr.js: use an Entry" }));
}

/** `plan` has no I/O, packages or promises. `model`, which it imports, may use only a few more modules. */
function purePlanRule(files: readonly SourceFile[]): Violation[] {
  const modules: Readonly<Record<string, readonly string[]>> = {
    plan: ["node:crypto"],
    model: ["node:crypto", "node:util", "ipaddr.js"],
  };
  const impure = /\bPromise\b|\basync\b\s*(?:function|\(|\w+\s*=>)|\basync \w+\(|\bconsole\s*\./;
  return files.flatMap(({ path, imports, code }) => {
    const allowed = modules[layerOf(path)];
    if (allowed === undefined) return [];
    const foreign = imports.filter((target) => !isOurs(target) && !allowed.includes(target));
    const violations = foreign.map((target) => ({
      rule: "pure-plan" as const,
      path,
      message: `may not import ${target}`,
    }));
    const found = impure.exec(code)?.[0].trim();
    return found === undefined
      ? violations
      : [
          ...violations,
          { rule: "pure-plan", path, message: `decisions must not contain ${found}: move it to a use case` },
        ];
  });
}

const bannedNames = new Set([
  "util",
  "utils",
  "helper",
  "helpers",
  "common",
  "misc",
  "types",
  "index",
  "shared",
  "lib",
]);
/** `apply-plan.test.ts`, `0001-first.ts`; not `applyPlan.ts`. */
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/;

function fileNameRule(paths: readonly string[]): Violation[] {
  return paths
    .filter((path) => path.endsWith(".ts"))
    .flatMap((path) => {
      const names = path.split("/").map((name) => name.replace(/(?:\.test)?\.ts$/, ""));
      const banned = names.find((name) => bannedNames.has(name));
      const crooked = names.find((name) => !kebabCase.test(name));
      if (banned !== undefined) {
        return [{ rule: "file-names" as const, path, message: `${banned} names neither a thing nor an action` }];
      }
      return crooked === undefined
        ? []
        : [{ rule: "file-names" as const, path, message: `${crooked} is not kebab-case` }];
    });
}
