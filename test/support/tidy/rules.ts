// The habits of this code base that a machine can check. Each rule has a violation in test/fixtures/layers, which the test
// of the rules demands, so that no rule can go blind unnoticed.
import { layerExceptions, layers } from "./layers.ts";
import { type SourceFile, listFiles, readSourceTree } from "./source-tree.ts";

export const ruleNames = [
  "layers",
  "cycles",
  "barrels",
  "environment",
  "clock",
  "ipaddr",
  "pure-plan",
  "file-names",
] as const;
export type RuleName = (typeof ruleNames)[number];

export interface Violation {
  readonly rule: RuleName;
  readonly path: string;
  /** What is wrong, and where it would be right. */
  readonly message: string;
}

type Rule = (files: readonly SourceFile[]) => Violation[];

/** Checks `src/` below the root, and the names of the files of `test/`, `scripts/` and `bench/`. */
export async function findViolations(root: string): Promise<Violation[]> {
  const files = await readSourceTree(root, "src");
  const folders = await Promise.all(["src", "test", "scripts", "bench"].map((folder) => listFiles(root, folder)));
  const paths = folders.flat().filter((path) => !path.startsWith("test/fixtures/"));
  const rules: readonly Rule[] = [
    layerRule,
    cycleRule,
    barrelRule,
    environmentRule,
    clockRule,
    ipaddrRule,
    purePlanRule,
  ];
  return [...rules.flatMap((rule) => rule(files)), ...fileNameRule(paths)];
}

function layerOf(path: string): string | undefined {
  const [folder, layer, file] = path.split("/");
  return folder === "src" && file !== undefined ? layer : undefined;
}

function layerRule(files: readonly SourceFile[]): Violation[] {
  const allowed = new Map(layers.map(({ name, mayImport }) => [name, new Set([name, ...mayImport])]));
  return files.flatMap(({ path, imports }) => {
    const own = layerOf(path);
    const mayImport = allowed.get(own ?? "");
    if (own === undefined || mayImport === undefined) {
      return [{ rule: "layers", path, message: "belongs to no layer: add it to one, or the layer to the table" }];
    }
    return imports
      .filter((target) => isOurs(target) && !mayImport.has(layerOf(target) ?? ""))
      .filter((target) => !layerExceptions.some((one) => one.file === path && one.mayImport === layerOf(target)))
      .map((target) => ({ rule: "layers", path, message: `${own} may not import ${target}` }));
  });
}

/** Relative imports; `../package.json` is ours too, and no layer: a bundle has no other place to read a version from. */
function isOurs(target: string): boolean {
  return (target.startsWith("src/") || target.startsWith("..")) && !target.endsWith(".json");
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
    .map(({ path }) => ({ rule: "barrels", path, message: "hands on names of another file: import them from there" }));
}

/** Reports the files whose running code matches, unless they are named as the right place. */
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
  "only src/async/clock.ts knows real time: take a Clock",
);

function ipaddrRule(files: readonly SourceFile[]): Violation[] {
  return files
    .filter(({ path, imports }) => layerOf(path) !== "model" && imports.includes("ipaddr.js"))
    .map(({ path }) => ({ rule: "ipaddr", path, message: "only src/model imports ipaddr.js: use an Entry" }));
}

/** Pure of I/O, of packages and of promises; the vocabulary below it is held to the same modules. */
function purePlanRule(files: readonly SourceFile[]): Violation[] {
  const modules: Readonly<Record<string, readonly string[]>> = {
    plan: ["node:crypto"],
    model: ["node:crypto", "node:util", "ipaddr.js"],
  };
  const impure = /\bPromise\b|\basync\b\s*(?:function|\(|\w+\s*=>)|\basync \w+\(|\bconsole\s*\./;
  return files.flatMap(({ path, imports, code }) => {
    const allowed = modules[layerOf(path) ?? ""];
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
      : [...violations, { rule: "pure-plan", path, message: `decisions have no ${found} in them: use cases do` }];
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
        return [{ rule: "file-names" as const, path, message: `${banned} names no thing and no act` }];
      }
      return crooked === undefined
        ? []
        : [{ rule: "file-names" as const, path, message: `${crooked} is not kebab-case` }];
    });
}
