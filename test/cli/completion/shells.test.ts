// The completion scripts in their shells: the command line after the Tab key was pressed.
import { execFile } from "node:child_process";
import { chmod, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { builtProgram } from "../../support/processes/built-program.ts";
import { describeWithProgram } from "../describe-with-program.ts";
import { runWafsync } from "../../support/processes/wafsync-process.ts";
import { scratchDirectory, type ScratchDirectory } from "../../support/worlds/scratch-directory.ts";

const execute = promisify(execFile);
const program = builtProgram();
let scratch: ScratchDirectory;
let environment: Record<string, string>;

beforeAll(async () => {
  scratch = await scratchDirectory({ "with space/empty.txt": "", "waf/empty.txt": "" });
  await mkdir(join(scratch.path, "bin"));
  await chmod(program(), 0o755);
  await symlink(program(), join(scratch.path, "bin/wafsync"));
  const path = [join(scratch.path, "bin"), dirname(process.execPath), process.env["PATH"]].join(":");
  environment = { PATH: path, HOME: scratch.path, TERM: "xterm", LC_ALL: "C.UTF-8" };
});

afterAll(async () => {
  await scratch[Symbol.asyncDispose]();
});

async function run(shell: string, parameters: readonly string[]): Promise<string> {
  const { stdout } = await execute(shell, parameters, { cwd: scratch.path, env: environment, timeout: 60_000 });
  return stdout;
}

/** The completions of the last word, which every shell must find. */
const lines: readonly (readonly [line: string, words: readonly string[]])[] = [
  ["wafsync pl", ["plan"]],
  ["wafsync plan --st", ["--state"]],
  ["wafsync plan -o ", ["table", "json", "markdown"]],
  ["wafsync plan -f w", ["waf/", "with space/"]],
  ["wafsync completion z", ["zsh"]],
  ["wafsync nope ", []],
];

describeWithProgram("bash", "bash", (bash) => {
  /** Calls the function like `complete -F`. bash itself adds the slash after a folder. */
  const script = `
    source <(wafsync completion bash)
    COMP_LINE=$1 COMP_POINT=\${#1}
    _wafsync
    printf '%s\\n' "\${COMPREPLY[@]}"`;

  test.each(lines)("completes `%s`", async (line, words) => {
    const printed = await run(bash, ["--norc", "-c", script, "bash", line]);
    const expected = words.map((word) => word.replace(/\/$/u, ""));
    const found = printed.split("\n").filter((word) => word !== "");
    // bash sorts the completions.
    expect(found.sort()).toStrictEqual(expected.sort());
  });

  test("registers the function for the program, without any output", async () => {
    expect(await run(bash, ["--norc", "-c", "source <(wafsync completion bash); complete -p wafsync"])).toBe(
      "complete -F _wafsync wafsync\n",
    );
  });
});

describeWithProgram("fish", "fish", (fish) => {
  test.each(lines)("completes `%s`", async (line, words) => {
    const script = `wafsync completion fish | source; complete --do-complete '${line}'`;
    const printed = await run(fish, ["--no-config", "-c", script]);
    const found = printed.split("\n").map((one) => one.split("\t")[0] ?? "");
    expect(found.filter((word) => word !== "")).toStrictEqual(words);
  });
});

describeWithProgram("zsh", "zsh", (zsh) => {
  /** Types each line and the Tab key into an interactive zsh, which records the completed line. */
  const session = `
    zmodload zsh/zpty
    zpty inner "zsh -f -i"
    zpty -w inner "autoload -U compinit; compinit -u -D; source <(wafsync completion zsh)"
    zpty -w inner 'probe() { zle complete-word; print -r -- "$BUFFER" >> lines.txt; zle kill-whole-line }'
    zpty -w inner "zle -N probe; bindkey '^T' probe"
    for line in "$@"; do zpty -w -n inner "$line"$'\\x14'; done
    zpty -w inner exit
    while zpty -r inner chunk; do :; done
    cat lines.txt`;

  /** zsh inserts only a unique completion. */
  const typed: readonly (readonly [line: string, completed: string])[] = [
    ["wafsync pl", "wafsync plan "],
    ["wafsync plan --st", "wafsync plan --state "],
    ["wafsync plan -o j", "wafsync plan -o json "],
    ["wafsync plan -f wa", "wafsync plan -f waf/"],
    ["wafsync plan -f wi", "wafsync plan -f with\\ space/"],
    ["wafsync nope ", "wafsync nope "],
  ];

  test("completes every line", async () => {
    const printed = await run(zsh, ["-f", "-c", session, "zsh", ...typed.map(([line]) => line)]);
    expect(printed.replace(/\n$/u, "").split("\n")).toStrictEqual(typed.map(([, completed]) => completed));
  });
});

test("An unknown shell is rejected with a list of the known ones", async () => {
  const { code, stderr } = await runWafsync(["completion", "tcsh"]);
  expect({ code, stderr }).toStrictEqual({ code: 2, stderr: expect.stringContaining("bash, zsh, fish") });
});
