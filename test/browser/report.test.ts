// The report in a real browser, opened from a file, without a network.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@jest/globals";
import type { Browser } from "puppeteer-core";
import { describeWithBrowser } from "./describe-with-browser.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { barriersOf, type BrowserPage, type BrowserView, keepScreenshot, openInBrowser } from "./browser-page.ts";
import { logDomain, logKey, logWorld, type LogWorld } from "../support/worlds/log-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

const environment = { WAFSYNC_API_KEY: logKey };
const now = "2026-06-16T00:00:00Z";

/** Makes a report of the world's logs and opens it. */
async function openReport(browser: Browser, world: LogWorld, view?: BrowserView): Promise<BrowserPage> {
  const files = await scratchDirectory({});
  const file = join(files.path, "report.html");
  const range = ["--since", "2026-06-10", "--until", "2026-06-12"];
  const source = ["--base-url", world.simulator.baseUrl, "--allow-insecure-http"];
  const { code, stderr } = await runWafsync(["report", ...source, ...range, "--out", file], { environment });
  expect([code, stderr]).toStrictEqual([0, expect.stringContaining("blocked requests is in")]);
  const url = pathToFileURL(file).href;
  const opened = await openInBrowser(browser, url, url, view);
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await files[Symbol.asyncDispose]();
    },
  };
}

await describeWithBrowser("A report in a browser", (browser) => {
  test.each([
    { scheme: "light", width: 1200 },
    { scheme: "dark", width: 1280 },
    { scheme: "light", width: 390 },
    { scheme: "dark", width: 390 },
  ] as const)(
    "is readable and without accessibility problems in $scheme mode at $width pixels, and sends no request",
    async (view) => {
      await using world = await logWorld({ now, logRowsPerDay: 400 });
      world.simulator.waf(logKey).add("blocklist", ["192.0.2.0/24"]);
      await using opened = await openReport(browser(), world, view);
      const { page, troubles } = opened;
      expect(await page.title()).toBe(`Blocked requests of ${logDomain}`);
      await keepScreenshot(page, `report-${view.scheme}-${view.width}`);
      const ranked = await page.$$eval("#reasons th, #countries th", (cells) => cells.map((cell) => cell.textContent));
      expect(ranked).toStrictEqual(
        expect.arrayContaining([expect.stringContaining("SQL Injection"), "United Kingdom"]),
      );
      const back = await page.evaluate("getComputedStyle(document.body).backgroundColor");
      expect(back).toBe(view.scheme === "light" ? "rgb(245, 246, 248)" : "rgb(18, 22, 28)");
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(view.width);
      expect(await barriersOf(page)).toStrictEqual([]);
      expect(troubles).toStrictEqual([]);
    },
  );
});
