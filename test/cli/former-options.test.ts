import { expect, test } from "@jest/globals";
import { renameFormerOptions } from "../../src/cli/former-options.ts";
import { createProgram } from "../../src/cli/program.ts";

const program = createProgram("wafsync", () => {});

function rename(line: string) {
  const { words, warnings } = renameFormerOptions(program, line.split(" "));
  return { line: words.join(" "), warnings };
}

test.each([
  ["logs --directory waf --from 7d --to today", "logs --from waf --since 7d --until today", 3],
  ["logs --directory=waf --from=2026-11-01", "logs --from=waf --since=2026-11-01", 2],
  ["logs --base-url u --format csv --output rows.csv", "logs --base-url u --output csv --out rows.csv", 2],
  ["--debug logs -f waf --output rows.txt", "--debug logs -f waf --out rows.txt", 1],
  [
    "report -f waf --from yesterday --to today --output page.html",
    "report -f waf --since yesterday --until today --out page.html",
    3,
  ],
  ["report -f waf --output -", "report -f waf --out -", 1],
])("The former options in `%s` are still accepted, with a warning for each option", (former, now, warnings) => {
  const renamed = rename(former);
  expect(renamed.line).toBe(now);
  expect(renamed.warnings).toHaveLength(warnings);
});

test("A warning names the former and the current option, once", () => {
  expect(rename("logs --to today --to today").warnings).toStrictEqual([
    "--to is now --until; the next version does not accept --to here",
  ]);
});

test.each([
  "logs --from waf --since 7d --until today -o csv --output json --out rows.csv",
  "logs --from ./7d",
  "logs -f 7d",
  "plan --from waf --output json",
  "run --from 7d",
  "simulator --port 0",
  "logs --path --to --reason --directory",
  "logs -f waf -- --to",
  "unknown --to x",
  "--help",
])("A line with current options stays unchanged: %s", (line) => {
  expect(rename(line)).toStrictEqual({ line, warnings: [] });
});

test("No former name is a current option of its command, unless the value tells which of them is meant", () => {
  for (const name of ["logs", "report"]) {
    const options = program.commands.find((one) => one.name() === name)?.options.map(({ long }) => long);
    for (const former of ["--to", "--directory", "--format"]) expect(options).not.toContain(former);
    for (const now of ["--from", "--since", "--until", "--out"]) expect(options).toContain(now);
  }
});
