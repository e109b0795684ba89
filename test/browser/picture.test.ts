// The picture in the README and in the guide to the page: WAFs in different states, after real runs. With WAFSYNC_WRITE_DOCS=1, it is
// written again.
// Long: `npm run test:deploy` runs it.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { describeWithBrowser } from "./describe-with-browser.ts";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { servePage } from "../support/worlds/open-page.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

const picture = join(import.meta.dirname, "../../docs/guides/page.png");
const apiVersion = "wafsync.dev/v1alpha1";
const wafs = [
  { namespace: "api", name: "public-api", domain: "api.example.com", addresses: 31 },
  { namespace: "blog", name: "blog", domain: "blog.example.com", addresses: 12 },
  { namespace: "shop", name: "checkout", domain: "pay.example.com", addresses: 40 },
  { namespace: "shop", name: "shop", domain: "www.example.com", addresses: 180 },
] as const;

type Waf = (typeof wafs)[number];

function keyOf({ namespace, name }: Waf): string {
  return `key-of-${namespace}-${name}`;
}

function instanceObjects(waf: Waf, baseUrl: string): unknown[] {
  const { namespace, name, domain } = waf;
  const metadata = { namespace, name };
  const spec = { baseUrl, expectedDomain: domain, apiKeySecretRef: { name } };
  return [
    { apiVersion: "v1", kind: "Secret", metadata, stringData: { apiKey: keyOf(waf) } },
    { apiVersion, kind: "WafInstance", metadata, spec },
  ];
}

function ruleObject({ namespace, name }: Waf, action: "Block" | "Allow", addresses: readonly string[]): unknown {
  const metadata = { namespace, name: `${name}-${action.toLowerCase()}` };
  return { apiVersion, kind: "WafIpRule", metadata, spec: { instanceRef: { name }, action, addresses } };
}

/** Addresses that have no wider network in common. */
function addressesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `198.18.${index >> 7}.${(index & 127) * 2}`);
}

await describeWithBrowser("The picture of the page", (browser) => {
  test("shows removals on hold, changes in progress, and WAFs that are ready", async () => {
    const keys = wafs.map((waf) => ({ key: keyOf(waf), domain: waf.domain }));
    const simulator = await startSimulator({ keys, latencyMs: 8 });
    await using files = await scratchDirectory({});
    const write = async (name: string, objects: readonly unknown[]): Promise<void> => {
      await files.write(`waf/${name}.yaml`, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
    };
    const from = ["-f", "waf", "--allow-insecure-http"];
    const here = { workingDirectory: files.path };
    try {
      for (const waf of wafs) {
        await write(waf.name, instanceObjects(waf, simulator.baseUrl));
        await write(`${waf.name}-block`, [ruleObject(waf, "Block", addressesOf(waf.addresses))]);
        await write(`${waf.name}-allow`, [ruleObject(waf, "Allow", ["203.0.113.8", "203.0.113.64/28"])]);
      }
      expect(await runWafsync(["apply", ...from], here)).toMatchObject({ code: 0 });
      const [, , checkout, shop] = wafs;
      await write("shop-block", [ruleObject(shop, "Block", addressesOf(60))]);
      await write("checkout-block", [ruleObject(checkout, "Block", addressesOf(6_000))]);
      const running = startWafsync(["run", ...from], here);
      try {
        await using served = await servePage(from, here);
        const page = await browser().newPage();
        await page.setViewport({ width: 1200, height: 500 });
        const wanted = ["Not ready: Held", "In progress", "Ready", "Ready"].join(", ");
        await waitFor(wanted, 60_000, async () => {
          await page.goto(served.url, { waitUntil: "load" });
          const cells = await page.$$eval("tbody td:nth-child(2)", (all) => all.map((cell) => cell.innerText.trim()));
          return cells.join(", ") === wanted ? true : undefined;
        });
        if (process.env["WAFSYNC_WRITE_DOCS"] === "1")
          await writeFile(picture, await page.screenshot({ fullPage: true }));
        await page.close();
      } finally {
        running.child.kill("SIGTERM");
        await running.ended;
      }
    } finally {
      await simulator.close();
    }
  });
});
