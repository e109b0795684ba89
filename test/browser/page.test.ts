// The page in a real browser: in light and dark mode, on a narrow screen, by keyboard, up to date, and without running anything
// that attackers wrote.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Browser } from "puppeteer-core";
import { attacks, hostileRows } from "../support/builders/hostile-rows.ts";
import { describeWithBrowser } from "./describe-with-browser.ts";
import { barriersOf, type BrowserPage, type BrowserView, openInBrowser, provokeAttacks } from "./browser-page.ts";
import { realClock } from "../../src/async/clock.ts";
import { type ServedPage, servePage } from "../support/worlds/open-page.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { logKey, logWorld } from "../support/worlds/log-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";

const views = [
  { scheme: "light", width: 1200 },
  { scheme: "dark", width: 1200 },
  { scheme: "light", width: 390 },
] as const;

async function open(browser: Browser, url: string, view?: BrowserView): Promise<BrowserPage> {
  return await openInBrowser(browser, url, `${new URL(url).origin}/`, view);
}

async function expectReadable(
  { page, troubles }: BrowserPage,
  { scheme, width }: Required<BrowserView>,
): Promise<void> {
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(width);
  const back = await page.evaluate("getComputedStyle(document.body).backgroundColor");
  expect(back).toBe(scheme === "light" ? "rgb(245, 246, 248)" : "rgb(18, 22, 28)");
  expect(await barriersOf(page)).toStrictEqual([]);
  // An error page has an error status, which the browser logs.
  expect(troubles.filter((one) => !/status of 400/.test(one))).toStrictEqual([]);
}

await describeWithBrowser("The page in a browser", (browser) => {
  let folder: WafFolder;
  let served: ServedPage;

  beforeAll(async () => {
    folder = await wafFolder({ logRowsPerDay: 300 });
    await folder.files.write("scanners.yaml", ruleDocument("scanners", { addresses: ["192.0.2.0/28", "203.0.113.7"] }));
    await folder.run("apply");
    await folder.files.write("wrong.yaml", ruleDocument("wrong", { addresses: ["192.0.2.300"] }));
    // One entry is invalid, so that the page has a problem to show.
    await folder.run("apply");
    served = await servePage(folder.from);
  });

  afterAll(async () => {
    await served[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test.each([
    ["overview", "/"],
    ["instance", "/instances/shop/main"],
    ["why", "/why?address=192.0.2.3"],
    ["requests", "/instances/shop/main/requests"],
    ["history", "/instances/shop/main?address="],
    ["error", "/why?address=nonsense"],
  ])("shows its %s in light mode, in dark mode and on a phone, without accessibility problems", async (_name, path) => {
    for (const view of views) {
      await using opened = await open(browser(), served.url + path, view);
      await expectReadable(opened, view);
    }
  });

  test("answers a search that uses only the keyboard", async () => {
    await using opened = await open(browser(), served.url);
    const { page, troubles } = opened;
    // The skip link, the name of the program, and the search.
    for (let presses = 0; presses < 3; presses += 1) await page.keyboard.press("Tab");
    await page.keyboard.type("192.0.2.3");
    await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
    expect(await page.$eval("h2", (title) => title.textContent)).toBe(
      "192.0.2.3 is blocked on shop/main (www.shop.example)",
    );
    expect(troubles).toStrictEqual([]);
  });

  test("updates itself, and does not disturb a user who is typing", async () => {
    await using opened = await open(browser(), served.url);
    const { page, troubles } = opened;
    const blocked = (count: number): string =>
      `[...document.querySelectorAll('.tile')].some((tile) => tile.textContent.trim().match(/^Blocked\\s+${count}$/))`;
    await page.waitForFunction(blocked(2));
    await page.type("#address", "192.0.2.");
    await folder.files.write("more.yaml", ruleDocument("more", { addresses: ["198.51.100.77"] }));
    await folder.run("apply");
    await realClock.sleep(6_000);
    expect(await page.evaluate(`[document.getElementById('address').value, ${blocked(2)}]`)).toStrictEqual([
      "192.0.2.",
      true,
    ]);
    await page.evaluate("document.activeElement.blur()");
    await page.waitForFunction(blocked(3));
    expect(troubles).toStrictEqual([]);
  });

  test("shows strings of attackers, including names, as text, and never runs them", async () => {
    for (const entry of hostileRows(new Date().toISOString())) {
      folder.simulator.waf(testKey).logs.add(entry as never, 0);
    }
    // Frequent enough for the tables.
    const frequent = { ...hostileRows(new Date().toISOString())[0], request_path: "/<script>window.hit=1</script>" };
    for (let count = 0; count < 100; count += 1) folder.simulator.waf(testKey).logs.add(frequent as never, 0);
    folder.simulator.waf(testKey).domain = "</title><script>window.hit=1</script>";
    await folder.files.write("hostile.yaml", ruleDocument("hostile", { addresses: attacks }));
    await folder.run("apply");
    await using fresh = await servePage(folder.from);
    for (const path of [
      "/",
      "/instances/shop/main",
      "/instances/shop/main/requests",
      "/why?address=%22%3E%3Cimg%20src%3Dx%20onerror%3Dwindow.hit%3D1%3E",
    ]) {
      await using opened = await open(browser(), fresh.url + path);
      const { page, troubles } = opened;
      expect(await provokeAttacks(page)).toStrictEqual([]);
      expect(await page.evaluate("window.hit")).toBeUndefined();
      expect(troubles.filter((one) => !/status of 400/.test(one))).toStrictEqual([]);
      expect(new URL(page.url()).origin).toBe(fresh.url);
    }
    expect((await fresh.get("/instances/shop/main/requests")).text).toContain(
      "/&lt;script&gt;window.hit=1&lt;/script&gt;",
    );
  });

  test("shows a report from a file, without accessibility problems and without a request", async () => {
    await using world = await logWorld({ now: "2026-06-16T00:00:00Z", logRowsPerDay: 400 });
    await using files = await scratchDirectory({});
    const file = join(files.path, "report.html");
    const source = ["--base-url", world.simulator.baseUrl, "--allow-insecure-http"];
    const parameters = ["report", ...source, "--since", "2026-06-10", "--until", "2026-06-12", "--out", file];
    expect((await runWafsync(parameters, { environment: { WAFSYNC_API_KEY: logKey } })).code).toBe(0);
    const { href } = pathToFileURL(file);
    for (const view of views) {
      await using opened = await openInBrowser(browser(), href, href, view);
      await expectReadable(opened, view);
      const ranked = await opened.page.$$eval("#countries th", (cells) => cells.map((cell) => cell.textContent));
      expect(ranked).toContain("United Kingdom");
    }
  });
});
