// What the linter can't check of the conventions on docs/contributing/architecture.md, and proof that it checks the others.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { listFiles, readSourceTree } from "./support/tidy/source-tree.ts";

const root = join(import.meta.dirname, "..");

/** Patterns that the code of these files, without comments and types, must not match, and the files that may. */
interface Convention {
  readonly why: string;
  readonly pattern: RegExp;
  readonly within: string;
  readonly but: readonly string[];
  readonly bad: readonly string[];
}

const conventions: readonly Convention[] = [
  {
    why: "only src/async/clock.ts reads the real time: take a Clock",
    pattern: /\bnew Date\s*\(\s*\)/,
    within: "src/",
    but: [],
    bad: ["const now = new Date();"],
  },
  {
    why: "a file re-exports nothing: import names from the file that has them",
    pattern: /^export\s*[*{][^;]*\bfrom\b/m,
    within: "src/",
    but: [],
    bad: ['export * from "./plan.ts";', 'export {\n  plan,\n} from "./plan.ts";'],
  },
  {
    why: "decisions have no promises: move it to a use case",
    pattern: /\basync\b\s*(?:function|\(|\w+\s*=>)|\basync \w+\(/,
    within: "src/decide/",
    but: [],
    bad: ["export async function decide() {}", "const decide = async () => 1;", "class A { async decide() {} }"],
  },
  {
    // A status is a report: no decision may depend on what an earlier run wrote there.
    why: "a status is a report and not data: take the fact from the place that decided it",
    pattern: /status\s*(?:\?\.|\.)\s*read\b|\breadStatus\b|\{[^{}]*\bread\b[^{}]*\}\s*=[^;=]*status\b/i,
    within: "src/",
    but: [
      // They compute the next status, which keeps the transition times of the previous one.
      "src/run/report.ts",
      "src/run/status/write-status.ts",
      "src/logs/forward-ports.ts",
      "src/app/unattached-loop.ts",
      // A record that is older than its report was restored from a backup. Without a status, nothing is compared.
      "src/run/world.ts",
      // A cache clear runs once, like a Job: the status of its object is the only record that survives a restart.
      "src/clears/records.ts",
      // They forward the status to the code that reports it, or print it.
      "src/app/reported-status.ts",
      "src/app/standalone.ts",
      "src/run/preview.ts",
      "src/cli/instance-view.ts",
    ],
    bad: ["const last = ports.status.read(meta);", "const { read } = ports.status;", "readStatus(meta);"],
  },
];

test.each(conventions)("$why", async ({ pattern, within, but, bad }) => {
  const files = (await readSourceTree(root, "src")).filter(({ path }) => path.startsWith(within));
  expect(files.length).toBeGreaterThan(20);
  const found = files.filter(({ code }) => pattern.test(code)).map(({ path }) => path);
  expect(found.filter((path) => !but.some((one) => path.startsWith(one)))).toStrictEqual([]);
  expect(but.filter((one) => !found.some((path) => path.startsWith(one)))).toStrictEqual([]);
  expect(bad.filter((code) => !pattern.test(code))).toStrictEqual([]);
});

test("no file is called after what everything is", async () => {
  const folders = await Promise.all(["src", "test", "scripts", "bench"].map((folder) => listFiles(root, folder)));
  const banned = /(?:^|\/)(?:utils?|helpers?|common|misc|types|index|shared|lib)(?:\/|(?:\.test)?\.ts$)/;
  expect("src/source/utils.ts").toMatch(banned);
  expect(folders.flat().filter((path) => banned.test(path) && !path.startsWith("test/fixtures/"))).toStrictEqual([]);
});

/** The doc comments that are none, and the files in comments that do not exist. `NAME` stands for any name. */
function brokenComments(text: string): string[] {
  const named = /(?<![\w/.-])(?:src|test|scripts|bench|docs|deploy)\/[\w./-]*\w/g;
  return (text.match(/^\s*(?:\/\/|\/\*|\*).*$/gm) ?? []).flatMap((comment) => {
    const paths = comment.match(named) ?? [];
    const missing = paths.filter((path) => !path.includes("NAME") && !existsSync(join(root, path)));
    return /\/\* +\*/.test(comment) ? [comment, ...missing] : missing;
  });
}

test("Comments name only files that exist, and doc comments begin with two asterisks", async () => {
  expect(brokenComments("/* * Reads. */\n// As src/no-such-folder does, without src/decide.")).toHaveLength(2);
  const trees = await Promise.all(["src", "test", "scripts", "bench"].map((folder) => readSourceTree(root, folder)));
  const broken = trees.flat().flatMap(({ path, text }) => brokenComments(text).map((found) => `${path}: ${found}`));
  expect(broken).toStrictEqual([]);
});

/** A file, its code, and the rule of the linter that it breaks. Without a rule, it is right. */
const linted: readonly (readonly [path: string, code: string, rule?: string])[] = [
  ["model/knows-files.ts", 'import "node:fs/promises";', "no-restricted-imports"],
  ["model/knows-plan.ts", 'import type { Plan } from "../decide/plan.ts";', "no-restricted-imports"],
  ["model/sets-timer.ts", "setInterval(() => undefined, 1);", "no-restricted-globals"],
  ["kinds/knows-plan.ts", 'import type { Plan } from "../decide/plan.ts";', "no-restricted-imports"],
  ["kube/knows-clock.ts", 'import { sleep } from "../async/sleep.ts";\nexport const waits = sleep;'],
  ["kube/reads-clock.ts", "export const now = Date.now();", "no-restricted-properties"],
  ["kube/sets-timer.ts", "setTimeout(() => undefined, 1);", "no-restricted-globals"],
  ["kube/reads-environment.ts", 'export const home = process.env["HOME"];', "no-process-env"],
  ["waf/knows-kube.ts", 'import type { Verbs } from "../kube/verbs.ts";', "no-restricted-imports"],
  ["decide/knows-waf.ts", 'import type { Lane } from "../waf/lane.ts";', "no-restricted-imports"],
  ["decide/asks-package.ts", 'import "undici";', "no-restricted-imports"],
  ["decide/promises.ts", "export const later = Promise.resolve();", "no-restricted-globals"],
  ["decide/knows-feeds.ts", 'import type { FeedState } from "../feeds/feed-state.ts";', "no-restricted-imports"],
  ["feeds/knows-cluster.ts", 'import type { ApiServer } from "../kube/api-server.ts";', "no-restricted-imports"],
  ["source/cluster/knows-use-case.ts", 'import type { Ports } from "../../run/ports.ts";', "no-restricted-imports"],
  ["run/knows-source.ts", 'import type { Text } from "../source/text.ts";', "no-restricted-imports"],
  ["run/knows-history.ts", 'import { History } from "../history/history.ts";', "no-restricted-imports"],
  ["app/knows-command.ts", 'import type { Command } from "../cli/program.ts";', "no-restricted-imports"],
  ["simulator/knows-model.ts", 'import type { Entry } from "../address/entry.ts";', "no-restricted-imports"],
  ["source/doThings.ts", "export const does = true;", "filename-case"],
];

describe("the linter", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wafsync-lint-"));
    await cp(join(root, ".oxlintrc.json"), join(folder, ".oxlintrc.json"));
    for (const [path, code] of linted) {
      await mkdir(dirname(join(folder, "src", path)), { recursive: true });
      await writeFile(join(folder, "src", path), `${code}\n`);
    }
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("reports what each file breaks, and nothing else", async () => {
    const oxlint = join(root, "node_modules", ".bin", "oxlint");
    const output = await new Promise<string>((resolve) => {
      execFile(
        oxlint,
        ["--format", "json", "-A", "no-unused-vars"],
        { cwd: folder, maxBuffer: 1e7 },
        (_error, stdout) => resolve(stdout),
      );
    });
    const { diagnostics } = JSON.parse(output) as { diagnostics: { code: string; filename: string }[] };
    const found = diagnostics.map(({ code, filename }) => `${filename} ${/\(([^)]+)\)/.exec(code)?.[1] ?? code}`);
    const expected = linted.flatMap(([path, , rule]) => (rule === undefined ? [] : [`src/${path} ${rule}`]));
    expect(found.toSorted()).toStrictEqual(expected.toSorted());
  });
});
