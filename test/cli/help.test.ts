// wafsync accepts every command line that its help or its documentation shows.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { commandNames, parseOnly } from "../support/processes/program-help.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { keySpellings, testKey } from "../support/worlds/waf-folder.ts";

const root = join(import.meta.dirname, "../..");
const commands = await commandNames();
const unknownOption = "--no-such-option-at-all";

/** The words of a command line up to the first operator of the shell. */
function parametersOf(line: string): string[] {
  const [command = ""] = line.split(/ (?:&&|\|\||[|&>#])(?: |$)/u);
  const words: readonly string[] = command.match(/"[^"]*"|'[^']*'|\S+/gu) ?? [];
  return words.slice(words.indexOf("wafsync") + 1).map((word) => word.replaceAll(/^["']|["']$/gu, ""));
}

/**
 * Parses the command line with an additional option that does not exist. If the error names only this option, wafsync accepts the
 * rest, and the command does not run.
 */
async function complaintOf(line: string): Promise<string> {
  const { message } = await parseOnly([...parametersOf(line), unknownOption]);
  return message.split("\n")[0] ?? "";
}

async function commandLinesOf(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8");
  const blocks = text.matchAll(/^ *```(?:sh|console|bash)\n(?<lines>.*?)^ *```/gmsu);
  return [...blocks].flatMap(({ groups }) => (groups?.["lines"] ?? "").split("\n").filter(isOurs));
}

function isOurs(line: string): boolean {
  return /^\s*(?:\$ )?(?:[A-Z_]+=\S+ )*wafsync (?!--version$)[a-z-]/u.test(line);
}

describe("--help", () => {
  test.each(commands)("of %s has examples, and wafsync accepts each of them", async (command) => {
    const { text } = await parseOnly([command, "--help"]);
    expect(text).toMatch(new RegExp(`^Usage: wafsync ${command} `, "u"));
    expect(text).not.toContain("(default: [])");
    const examples = text.split("\n").filter((line) => line.startsWith("  $ ") && isOurs(line));
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      expect(parametersOf(example)[0]).toBe(command);
      expect(await complaintOf(example)).toBe(`error: unknown option '${unknownOption}'`);
    }
  });

  test("of wafsync itself names every command and the exit codes", async () => {
    const { code, stdout } = await runWafsync(["--help"]);
    expect(code).toBe(0);
    for (const command of commands) expect(stdout).toMatch(new RegExp(`^  ${command} `, "mu"));
    expect(stdout).toContain("Exit codes of plan: 0 nothing to do, 1 there are changes, 2 error.");
    const examples = stdout.split("\n").filter((line) => line.startsWith("  $ "));
    for (const example of examples) expect(await complaintOf(example)).toBe(`error: unknown option '${unknownOption}'`);
  });
});

test("The first example of --help uses the key of the example folder, which the next examples read", async () => {
  const { text } = await parseOnly(["--help"]);
  const key = /--key (?<key>[^ =]+)=/u.exec(text)?.groups?.["key"];
  expect(await readFile(join(root, "examples/directory/waf.yaml"), "utf8")).toContain(`apiKey: ${key}\n`);
});

test("wafsync accepts every command line in the documentation", async () => {
  const pages = (await readdir(join(root, "docs"), { recursive: true })).filter((name) => name.endsWith(".md"));
  const paths = [join(root, "README.md"), ...pages.map((page) => join(root, "docs", page))];
  const lines = new Set((await Promise.all(paths.map(commandLinesOf))).flat());
  expect(lines.size).toBeGreaterThan(5);
  const wrong: string[] = [];
  for (const line of lines) {
    const complaint = await complaintOf(line);
    if (complaint !== `error: unknown option '${unknownOption}'`) wrong.push(`${line}: ${complaint}`);
  }
  expect(wrong).toStrictEqual([]);
});

describe("A variable with which Node.js accepts any certificate, or prints requests with their keys,", () => {
  const clear = async (variables: Readonly<Record<string, string>>, baseUrl: string) =>
    await runWafsync(["clear-cache", "--base-url", baseUrl, "--allow-insecure-http", "--retries", "0"], {
      environment: { WAFSYNC_API_KEY: testKey, ...variables },
    });

  test.each([
    ["NODE_TLS_REJECT_UNAUTHORIZED", "0", "is 0", "NODE_EXTRA_CA_CERTS"],
    ["NODE_DEBUG", "undici", "is set", "env -u NODE_DEBUG"],
    ["NODE_DEBUG", "fetch,net", "is set", "env -u NODE_DEBUG"],
    ["NODE_DEBUG", "*", "is set", "env -u NODE_DEBUG"],
  ])("prevents wafsync from starting, and the error says what to do: %s=%s", async (name, value, problem, advice) => {
    const { code, stdout, stderr } = await clear({ [name]: value }, "http://127.0.0.1:9");
    expect(code).toBe(2);
    expect(stderr).toContain(`error: the environment variable ${name} ${problem}`);
    expect(stderr).toContain(advice);
    for (const spelling of keySpellings()) expect(stdout + stderr).not.toContain(spelling);
  });

  test("does not prevent anything with a harmless value, or users from reading the help", async () => {
    const verified = await clear({ NODE_TLS_REJECT_UNAUTHORIZED: "1" }, "https://127.0.0.1:9");
    expect(verified.stderr).not.toContain("NODE_TLS_REJECT_UNAUTHORIZED");
    const { code, stdout } = await runWafsync(["plan", "--help"], { environment: { NODE_DEBUG: "undici" } });
    expect(code).toBe(0);
    expect(stdout).toContain("Usage: wafsync plan");
  });
});
