// Runs the shipped programs as users do: the bundle, the installed npm package and the single executable get the same tests.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "@jest/globals";
import type { ScratchDirectory } from "../worlds/scratch-directory.ts";
import { instanceDocument, ruleDocument, secretDocument } from "../worlds/waf-folder.ts";
import { type ProcessOptions, runWafsync, startWafsync } from "./wafsync-process.ts";

const key = "shipped-key-0123456789";
const address = "203.0.113.9";

/** Plans, applies, reports and follows a folder with one rule, against the program's own simulator. */
export async function tryFolder(scratch: ScratchDirectory, options: ProcessOptions): Promise<void> {
  const ports = ["--port", "0", "--control-port", "0"];
  const simulator = startWafsync(["simulator", ...ports, "--key", key], options);
  try {
    await simulator.hasPrinted(/WAF API +http\S+\n/u);
    const baseUrl = /WAF API +(http\S+)/u.exec(simulator.printed())?.[1] ?? "";
    await scratch.write("waf/instance.yaml", instanceDocument(baseUrl));
    await scratch.write("waf/secret.yaml", secretDocument(key));
    await scratch.write("waf/rule.yaml", ruleDocument("scanners", { addresses: [address] }));
    const from = ["-f", join(scratch.path, "waf"), "--allow-insecure-http"];
    const run = async (command: string, ...more: string[]) => await runWafsync([command, ...from, ...more], options);
    expect(await run("plan")).toMatchObject({ code: 1, stderr: "" });
    expect(await run("apply")).toMatchObject({ code: 0 });
    expect(await run("plan")).toMatchObject({ code: 0, stdout: expect.stringContaining("Nothing to do") });
    const report = join(scratch.path, "report.html");
    expect(await run("report", "--out", report)).toMatchObject({ code: 0 });
    expect(await readFile(report, "utf8")).toContain("Top clients");
    const running = startWafsync(["run", ...from], options);
    await running.hasPrinted(/Watching/u);
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
  } finally {
    simulator.child.kill("SIGTERM");
    await simulator.ended;
  }
}
