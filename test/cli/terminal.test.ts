// Commands on a terminal, which `script` of util-linux provides: what a user sees and types.
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "@jest/globals";
import { terminalOn } from "../../src/cli/terminal.ts";
import { addresses } from "../support/builders/declare.ts";
import { builtProgram } from "../support/processes/built-program.ts";
import { describeWithProgram } from "./describe-with-program.ts";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

runFaster();

const controlC = "\u0003";
const controlD = "\u0004";

test("Lines for a terminal contain only wafsync's own styles", () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) } as unknown as NodeJS.WriteStream;
  terminalOn(stream).line("\u001b[1mbold\u001b[22m \u001b[2Jgone \u001b[8mhidden \u202eturned");
  expect(written).toStrictEqual([
    `\u001b[1mbold\u001b[22m ${String.raw`\u001b[2Jgone \u001b[8mhidden \u202eturned`}\n`,
  ]);
});

describeWithProgram("script", "On a terminal", (script) => {
  const program = builtProgram();

  /** Types each text when the pattern before it has appeared. */
  async function onTerminal(
    parameters: readonly string[],
    dialogue: readonly (readonly [shown: RegExp, typed: string])[],
    begin: (type: (text: string) => void) => void = () => undefined,
  ): Promise<{ readonly code: number | null; readonly shown: string }> {
    const command = `stty cols 60; exec '${process.execPath}' '${program()}' ${parameters.map((word) => `'${word}'`).join(" ")}`;
    const child = spawn(script, ["--quiet", "--return", "--command", command, "/dev/null"], {
      env: { PATH: process.env["PATH"], HOME: process.env["HOME"], TERM: "xterm", NO_COLOR: "1", SHELL: "/bin/sh" },
    });
    begin((text) => child.stdin.write(text));
    let shown = "";
    let from = 0;
    const left = [...dialogue];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
      const [next] = left;
      if (next === undefined || !next[0].test(shown.slice(from))) return;
      left.shift();
      from = shown.length;
      child.stdin.write(next[1]);
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject).once("close", resolve);
    });
    return { code, shown: shown.replaceAll("\r\n", "\n") };
  }

  /** A folder with 38 removals on hold. */
  async function folderOnHold(): Promise<WafFolder> {
    const folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(40) }));
    await runWafsync(["apply", ...folder.from], { program: program() });
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(2) }));
    await runWafsync(["apply", ...folder.from], { program: program() });
    return folder;
  }

  test("approve asks in short lines, and accepts only a yes", async () => {
    await using folder = await folderOnHold();
    const answers = [
      ["n\n", 1, "Nothing was approved."],
      ["\n", 1, "Nothing was approved."],
      [controlD, 1, "Nothing was approved."],
      [controlC, 130, "Nothing was approved."],
      ["y\n", 0, "Approved in "],
    ] as const;
    for (const [typed, code, said] of answers) {
      const ended = await onTerminal(["approve", ...folder.from], [[/\[y\/N\]/, typed]]);
      expect(ended).toStrictEqual({ code, shown: expect.stringContaining(said) });
      expect(ended.shown).not.toContain("bug in wafsync");
      const lines = stripVTControlCharacters(ended.shown).split("\n");
      expect(lines.filter((line) => line.length > 80 && !line.startsWith("Approved in "))).toStrictEqual([]);
    }
    await runWafsync(["apply", ...folder.from], { program: program() });
    expect(folder.simulator.waf(testKey).blocklist).toHaveLength(2);
  });

  test("apply shows what it would remove, and asks; --yes does not ask", async () => {
    await using folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(3) }));
    expect(await onTerminal(["apply", ...folder.from], [])).toMatchObject({ code: 0 });
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(2) }));
    const shown = /- blocklist {2}\S+ {2}added by wafsync[^]*\[y\/N\]/;
    for (const [typed, code] of [
      ["n\n", 1],
      [controlD, 1],
      [controlC, 130],
    ] as const) {
      const ended = await onTerminal(["apply", ...folder.from], [[shown, typed]]);
      expect(ended).toStrictEqual({ code, shown: expect.stringContaining("Nothing was changed.") });
    }
    expect(folder.simulator.waf(testKey).blocklist).toHaveLength(3);
    const applied = await onTerminal(["apply", ...folder.from], [[shown, "y\n"]]);
    expect(applied).toStrictEqual({ code: 0, shown: expect.stringContaining("0 added, 1 removed") });
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(1) }));
    expect(await onTerminal(["apply", ...folder.from, "--yes"], [])).toMatchObject({ code: 0 });
    expect(folder.simulator.waf(testKey).blocklist).toHaveLength(1);
  });

  test("apply changes nothing if it is stopped before it asks", async () => {
    let type = (_text: string): void => undefined;
    await using folder = await wafFolder({ latencyMs: 500, onRequest: () => type(controlC) });
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(3) }));
    const ended = await onTerminal(["apply", ...folder.from], [], (typed) => {
      type = typed;
    });
    expect(ended).toStrictEqual({ code: 130, shown: expect.stringContaining("Nothing was changed.") });
    expect(folder.simulator.waf(testKey).blocklist).toStrictEqual([]);
  });

  test("status prints a command that works", async () => {
    await using folder = await folderOnHold();
    const { shown } = await onTerminal(["status", "-f", folder.path], []);
    expect(shown).toMatch(/38 removals/);
    const [, suggested = ""] = /approve them: wafsync (?<words>.*)/.exec(shown) ?? [];
    expect(await runWafsync([...suggested.trim().split(" "), "--yes"], { program: program() })).toMatchObject({
      code: 0,
    });
  });
});
