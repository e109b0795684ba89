// The metrics of `wafsync run`: at an address, and in a file for a textfile collector.
import { once } from "node:events";
import { readFile, rm, stat } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { runWafsync, type RunningProcess, startWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory, type ScratchDirectory } from "../support/worlds/scratch-directory.ts";
import { keySpellings, ruleDocument, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

const waitMs = 30_000;
let world: WafFolder;
let collected: ScratchDirectory;

beforeAll(async () => {
  world = await wafFolder();
  collected = await scratchDirectory({});
  await world.files.write("rule.yaml", ruleDocument("rule", { addresses: ["192.0.2.1", "192.0.2.2"] }));
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await collected[Symbol.asyncDispose]();
});

async function end(running: RunningProcess): Promise<void> {
  running.child.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 0, signal: undefined });
}

describe("At an address", () => {
  async function addressOf(running: RunningProcess): Promise<string> {
    await running.hasPrinted(/metrics are at \S+/);
    return /metrics are at (\S+)\./.exec(running.printed())?.[1] ?? "";
  }

  test("run serves the operator's metrics, and counts what the files get wrong", async () => {
    const running = startWafsync(["run", ...world.from, "--metrics-address", "127.0.0.1:0"]);
    const url = await addressOf(running);
    const has = async (...series: readonly string[]): Promise<string> =>
      await waitFor(series.join(", "), waitMs, async () => {
        const text = await (await fetch(url)).text();
        return series.every((one) => text.includes(`\n${one}\n`)) ? text : undefined;
      });
    const text = await has(
      'leader_election_master_status{name="folder"} 1',
      'wafsync_entries_added_total{waf_instance="shop/main",list="blocklist"} 2',
      'wafsync_waf_requests_total{waf_instance="shop/main",method="POST",endpoint="/api/blocklist_ip",code="200"} 2',
      'wafsync_list_entries{waf_instance="shop/main",list="blocklist",state="managed"} 2',
      'wafsync_reconcile_total{controller="instances",result="success"} 1',
      'wafsync_instance_ready{waf_instance="shop/main"} 1',
      'wafsync_watch_synced{kind="files"} 1',
      'wafsync_unattached_objects{kind="WafIpRule",reason="InstanceNotFound"} 0',
      'wafsync_objects_not_ready{kind="WafIpRule"} 0',
    );
    expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
    for (const spelling of keySpellings()) expect(text).not.toContain(spelling);
    await world.files.write("main.yaml", "");
    await waitFor("the end of the instance's series", waitMs, async () => {
      const now = await (await fetch(url)).text();
      return now.includes('waf_instance="shop/main"') ? undefined : true;
    });
    await end(running);
  });

  test("that another process uses, or that is none, run exits with 2 before any call", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    await using folder = await wafFolder();
    const refused = await folder.run("run", "--metrics-address", taken);
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`cannot listen on ${taken} (EADDRINUSE)`),
    });
    expect(refused.stderr).toContain("Choose another --metrics-address.");
    other.close();
    const wrong = await folder.run("run", "--metrics-address", "8080");
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('--metrics-address "8080" is not') });
    expect(folder.simulator.requests()).toStrictEqual([]);
  });
});

describe("In a file", () => {
  test("run keeps its metrics, readable by the collector, until it ends", async () => {
    await using folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("rule", { addresses: ["192.0.2.1"] }));
    const file = join(collected.path, "wafsync.prom");
    const running = startWafsync(["run", ...folder.from, "--metrics-file", file], { haste: 10 });
    const text = await waitFor("the metrics in the file", waitMs, async () => {
      const now = await readFile(file, "utf8").catch(() => "");
      return now.includes('wafsync_entries_added_total{waf_instance="shop/main",list="blocklist"} 1') ? now : undefined;
    });
    expect((await stat(file)).mode & 0o777).toBe(0o644);
    for (const spelling of keySpellings()) expect(text).not.toContain(spelling);
    // node_exporter has series of these names as well, and would reject those of the file.
    expect(text).not.toMatch(/^(?:process|nodejs)_/m);
    expect(text.endsWith("\n")).toBe(true);
    await rm(file);
    await waitFor("the next version of the file", waitMs, async () => await stat(file).catch(() => undefined));
    await end(running);
    await expect(stat(file)).rejects.toThrow("ENOENT");
  });

  test.each(["wafsync.txt", "nowhere/wafsync.prom"])(
    "with the name %s, run exits with 2, and says why",
    async (name) => {
      const path = join(collected.path, name);
      const { code, stderr } = await runWafsync(["run", ...world.from, "--metrics-file", path]);
      expect([code, stderr]).toStrictEqual([
        2,
        expect.stringContaining(`--metrics-file ${path} is not a .prom file in an existing folder`),
      ]);
    },
  );
});
