// The manual page, as the programs read it that show manual pages.
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { describeWithProgram } from "../support/processes/describe-with-program.ts";
import { commandNames, optionNames } from "../support/processes/program-help.ts";
import { readPage } from "../support/tidy/markdown-pages.ts";

const execute = promisify(execFile);
const page = "man/wafsync.1";
const path = join(import.meta.dirname, "../..", page);

test("The manual page has every command and every option", async () => {
  const text = (await readPage(page)).replaceAll("\\-", "-");
  const sections = text.split(/^\.S[SH] /mu);
  for (const command of await commandNames()) {
    const section = sections.find((one) => one.startsWith(`"wafsync ${command} `)) ?? "";
    for (const option of await optionNames(command)) expect(section).toContain(`\\fB${option}\\fR`);
    expect(section).toContain(`$ wafsync ${command}`);
  }
});

describeWithProgram("man", "man", (man) => {
  test("shows the page without a warning", async () => {
    const environment = { ...process.env, LC_ALL: "C.UTF-8", MANWIDTH: "80" };
    const { stdout, stderr } = await execute(man, ["--warnings", "--local-file", path], { env: environment });
    expect(stderr).toBe("");
    expect(stdout).toContain("--allow-insecure-http");
    expect(stdout).toContain("  $ wafsync plan -f waf/ && echo 'in sync'");
    // An escape that was not understood would stand there.
    expect(stdout).not.toMatch(/\\f|\\-|\(dq/u);
  });
});

describeWithProgram("mandoc", "mandoc", (mandoc) => {
  test("finds no error in the page", async () => {
    const { stdout } = await execute(mandoc, ["-T", "lint", "-W", "error", path]);
    expect(stdout).toBe("");
  });
});
