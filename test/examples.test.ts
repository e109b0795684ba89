// What a newcomer copies: the examples work as they stand.
import { cp, readFile, readdir, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { startSimulator } from "../src/simulator/start-simulator.ts";
import { runWafsync } from "./support/processes/wafsync-process.ts";
import { scratchDirectory } from "./support/worlds/scratch-directory.ts";
import { documentsOf, faultsOf } from "./support/builders/yaml-texts.ts";

const root = join(import.meta.dirname, "..");
const simulatorUrl = "http://127.0.0.1:8080";
const simulatorKey = "demo-key-0123456789";
const domain = "www.example.com";
const kinds = ["WafCacheClear", "WafInstance", "WafIpRule", "WafOrigin"];

async function filesBelow(folder: string, ending: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

async function documentsBelow(folder: string): Promise<ReturnType<typeof documentsOf>> {
  const files = await filesBelow(folder, ".yaml");
  const texts = await Promise.all(files.map(async (file) => await readFile(join(root, file), "utf8")));
  return texts.flatMap(documentsOf);
}

test.each([
  ["sharing", ["WafInstance", "WafIpRule"]],
  ["auto-blocks", ["WafAutoBlock"]],
  ["feeds", ["WafFeed", "WafIpRule"]],
  ["directory", kinds],
  ["cluster", kinds],
])("examples/%s has valid documents only, of the kinds that it shows", async (name, shown) => {
  const documents = await documentsBelow(`examples/${name}`);
  expect(faultsOf(documents)).toStrictEqual([]);
  expect(documents.map(({ kind }) => kind)).toStrictEqual(expect.arrayContaining(shown));
});

describe.each(["directory", "cluster"])("examples/%s", (name) => {
  const folder = `examples/${name}`;

  test("holds addresses of the ranges for documentation only", async () => {
    const files = await filesBelow(folder, ".yaml");
    const texts = await Promise.all(files.map(async (file) => await readFile(join(root, file), "utf8")));
    const text = texts.join("\n").replaceAll(simulatorUrl, "");
    const addresses = text.match(/\b(?:\d{1,3}\.){3}\d{1,3}\b|\b[\da-f]{1,4}:[\da-f:]+/gi) ?? [];
    expect(addresses.length).toBeGreaterThan(30);
    expect(
      addresses.filter((address) => !/^(?:192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/.test(address)),
    ).toStrictEqual([]);
  });

  test("is planned and applied as it stands, and then there is nothing left to do", async () => {
    const simulator = await startSimulator({ keys: [{ key: simulatorKey, domain }] });
    await using files = await scratchDirectory({});
    try {
      await cp(join(root, folder), files.path, { recursive: true });
      for (const file of await readdir(files.path)) {
        const text = await readFile(join(files.path, file), "utf8");
        await writeFile(join(files.path, file), text.replaceAll(simulatorUrl, simulator.baseUrl));
      }
      const from = ["-f", files.path, "--allow-insecure-http"];
      expect((await runWafsync(["plan", ...from])).code).toBe(1);
      const waf = simulator.waf(simulatorKey);
      expect(waf.counters.changes).toBe(0);

      const applied = await runWafsync(["apply", ...from, "-o", "json"]);
      expect(applied.code).toBe(0);
      const { instances } = JSON.parse(applied.stdout) as { instances: { objects: { ready: string }[] }[] };
      expect(instances[0]?.objects.map(({ ready }) => ready)).toStrictEqual([
        "True",
        "True",
        "True",
        "True",
        "True",
        "True",
      ]);
      expect(waf.blocklist).toHaveLength(37);
      expect(waf.allowlist).toHaveLength(2);
      expect(waf.origins).toStrictEqual([{ host: "standby.example.com", type: "backup" }]);
      expect(waf.counters.cacheClears).toBe(1);

      const writes = waf.counters.changes;
      expect((await runWafsync(["apply", ...from])).code).toBe(0);
      expect(waf.counters.changes).toBe(writes);
      expect(waf.counters.cacheClears).toBe(1);
      const planned = await runWafsync(["plan", ...from]);
      expect([planned.code, planned.stdout]).toStrictEqual([0, expect.stringContaining("Nothing to do")]);
      expect(waf.flights.overlaps).toBe(0);
    } finally {
      await simulator.close();
    }
  });
});
