// The report in a real browser, opened from a file, without a network.
// Long: `npm run test:deploy` runs it.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@jest/globals";
import axe from "axe-core";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "puppeteer-core";
import { parse } from "yaml";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { describeWithBrowser } from "../support/processes/describe-with-browser.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { row } from "../support/fakes/scripted-logs.ts";
import { logDomain, logKey, logWorld } from "../support/worlds/log-world.ts";
import type { LogWorld } from "../support/worlds/log-world.ts";
import { attacks, hostileRows } from "../support/builders/hostile-rows.ts";

const environment = { WAFSYNC_API_KEY: logKey };
const now = "2026-06-16T00:00:00Z";
/** The folder in which screenshots are kept for people, if set. */
const screenshots = process.env["WAFSYNC_SCREENSHOTS"];
type Scheme = "light" | "dark";

interface OpenReport extends AsyncDisposable {
  readonly page: Page;
  /** Requests of the page for anything but itself, and errors in its console. */
  readonly troubles: readonly string[];
}

/** Makes a report of the world's logs and opens it. */
async function openReport(
  browser: Browser,
  world: LogWorld,
  scheme: Scheme = "light",
  width = 1200,
  more: readonly string[] = [],
): Promise<OpenReport> {
  const files = await scratchDirectory({});
  const file = join(files.path, "report.html");
  const range = ["--since", "2026-06-10", "--until", "2026-06-12"];
  const source = ["--base-url", world.simulator.baseUrl, "--allow-insecure-http"];
  const { code, stderr } = await runWafsync(["report", ...source, ...range, ...more, "--out", file], {
    environment,
  });
  expect([code, stderr]).toStrictEqual([0, expect.stringContaining("blocked requests is in")]);
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const troubles: string[] = [];
  const url = pathToFileURL(file).href;
  page.on("request", (request) => {
    if (request.url() !== url) troubles.push(`request ${request.url()}`);
  });
  page.on("console", (message) => troubles.push(`console ${message.text()}`));
  page.on("pageerror", (error) => troubles.push(`error ${String(error)}`));
  page.on("dialog", (dialog) => {
    troubles.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "load" });
  return {
    page,
    troubles,
    async [Symbol.asyncDispose]() {
      await context.close();
      await files[Symbol.asyncDispose]();
    },
  };
}

async function keepScreenshot(page: Page, name: string): Promise<void> {
  const png = await page.screenshot({ fullPage: true });
  expect(png.length).toBeGreaterThan(10_000);
  if (screenshots === undefined) return;
  await mkdir(screenshots, { recursive: true });
  await writeFile(join(screenshots, `${name}.png`), png);
}

/** Runs in the page: returns the text of an element and its appearance. Colours are numbers from 0 to 255. */
const readColours = `(() => {
  const rgb = (text) => (text.match(/[\\d.]+/g) ?? []).slice(0, 3).map(Number);
  const backOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)") return rgb(color);
    }
    return [255, 255, 255];
  };
  // The titles of bars are tooltips, which the browser draws in its own colours.
  const texts = [...document.querySelectorAll("main *:not(title)")].filter((element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ""));
  return texts.map((element) => ({
    text: element.textContent.trim().slice(0, 30),
    front: rgb(element instanceof SVGElement ? getComputedStyle(element).fill : getComputedStyle(element).color),
    back: backOf(element.closest("svg")?.parentElement ?? element),
  }));
})()`;

interface Colours {
  readonly text: string;
  readonly front: readonly number[];
  readonly back: readonly number[];
}

/** As the accessibility guidelines of the web define it: 1 for equal colours, 21 for black on white. */
function contrastOf({ front, back }: Colours): number {
  const luminance = (color: readonly number[]): number =>
    color.reduce((sum, part, place) => {
      const share = part / 255;
      const linear = share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      return sum + linear * ([0.2126, 0.7152, 0.0722][place] ?? 0);
    }, 0);
  const [dark = 0, light = 0] = [luminance(front), luminance(back)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

await describeWithBrowser("A report in a browser", (browser) => {
  test.each(["light", "dark"] as const)("draws readable charts in %s mode, and sends no request", async (scheme) => {
    await using world = await logWorld({ now, logRowsPerDay: 400 });
    world.simulator.waf(logKey).add("blocklist", ["192.0.2.0/24"]);
    await using opened = await openReport(browser(), world, scheme);
    const { page, troubles } = opened;
    expect(await page.title()).toBe(`Blocked requests of ${logDomain}`);
    expect(
      await page.$$eval("figure .wide svg", (charts) =>
        charts.map((chart) => chart.getBoundingClientRect().width > 300),
      ),
    ).toStrictEqual([true]);
    const bars = await page.$$eval("#time .wide svg rect > title", (titles) => titles.length);
    expect(bars).toBeGreaterThan(72);
    expect(await page.$$eval("figure svg text", (texts) => texts.map((text) => text.textContent))).toContain(
      "06-10 00:00",
    );
    expect(
      await page.$$eval("#by-reason th, #by-country th", (cells) => cells.map((cell) => cell.textContent)),
    ).toStrictEqual(expect.arrayContaining(["SQL Injection", "United Kingdom"]));
    const colours = (await page.evaluate(readColours)) as Colours[];
    expect(colours.length).toBeGreaterThan(150);
    expect(colours.filter((one) => contrastOf(one) < 4.5)).toStrictEqual([]);
    const back = await page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(back).toBe(scheme === "light" ? "rgb(245, 246, 248)" : "rgb(18, 22, 28)");
    await keepScreenshot(page, `report-${scheme}`);
    expect(troubles).toStrictEqual([]);
  });

  test("does not truncate labels of its charts", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 100 });
    const long = row("/", {
      block_reason: `${"WWWWWWWWWW ".repeat(4)}1`,
      timestamp: "2026-06-11T05:30:00Z",
    });
    world.simulator.waf(logKey).addLogEntry({ ...long, user_agent: "", country: "GB" }, 0);
    await using opened = await openReport(browser(), world);
    const outside = await opened.page.$$eval("figure svg", (charts) =>
      charts.flatMap((chart) => {
        const frame = chart.getBoundingClientRect();
        return [...chart.querySelectorAll("text")]
          .filter((text) => {
            const box = text.getBoundingClientRect();
            return (
              box.left < frame.left - 1 ||
              box.right > frame.right + 1 ||
              box.top < frame.top - 2 ||
              box.bottom > frame.bottom + 2
            );
          })
          .map((text) => text.textContent);
      }),
    );
    expect(outside).toStrictEqual([]);
  });

  test("fits on a phone: only charts and tables scroll sideways", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 100 });
    await using opened = await openReport(browser(), world, "light", 390);
    expect(await opened.page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await keepScreenshot(opened.page, "report-telephone");
  });

  test("copies the suggested rule exactly", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 100 });
    await using opened = await openReport(browser(), world);
    const { page, troubles } = opened;
    await page.evaluate("document.addEventListener('copy', () => { window.copied = getSelection().toString(); })");
    await page.evaluate(
      "navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }",
    );
    await page.click("#rule .copies");
    await page.waitForFunction("document.querySelector('#rule .copies').textContent === 'Copied'");
    const copied = (await page.evaluate("window.copied")) as string;
    expect(copied).toBe(await page.$eval("#rule-yaml", (element) => element.textContent));
    expect(parse(copied)).toMatchObject({
      kind: "WafIpRule",
      spec: { addresses: expect.any(Array) },
    });
    expect(troubles).toStrictEqual([]);
  });

  test.each([
    ["light", 1200],
    ["dark", 390],
  ] as const)("has nothing that axe objects to, in %s at %i pixels", async (scheme, width) => {
    await using world = await logWorld({ now, logRowsPerDay: 100 });
    world.simulator.waf(logKey).add("blocklist", ["192.0.2.0/24"]);
    await using opened = await openReport(browser(), world, scheme, width);
    const { page } = opened;
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    await page.evaluate(axe.source);
    const { violations } = (await page.evaluate("axe.run(document)")) as AxeResults;
    const found = violations.map(({ id, impact, nodes }) => [id, impact, nodes.slice(0, 3).map(({ html }) => html)]);
    expect(found).toStrictEqual([]);
  });

  test("shows the same tables and charts without its script, and no button that would have no effect", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 50 });
    await using opened = await openReport(browser(), world, "light", 390);
    const { page } = opened;
    const texts = async (): Promise<string[]> =>
      await page.$$eval("main th, main td, main figure title", (found) => found.map((one) => one.textContent));
    const withScript = await texts();
    expect(withScript.length).toBeGreaterThan(500);
    await page.setJavaScriptEnabled(false);
    await page.reload();
    expect(await texts()).toStrictEqual(withScript);
    expect(await page.$$eval("button", (buttons) => buttons.filter((one) => one.checkVisibility()))).toStrictEqual([]);
    const shown = await page.$$eval("figure > div", (charts) =>
      charts.map((chart) => `${chart.className} ${chart.getBoundingClientRect().width > 0 ? "shown" : "hidden"}`),
    );
    expect([...new Set(shown)]).toStrictEqual(["wide hidden", "narrow shown"]);
  });

  test("shows strings of attackers as text, and never runs them", async () => {
    await using world = await logWorld({ now });
    for (const entry of hostileRows("2026-06-11T05:30:00Z")) {
      world.simulator.waf(logKey).addLogEntry(entry as never, 0);
    }
    world.simulator.waf(logKey).domain = "</title><script>window.hit=1</script>";
    await using opened = await openReport(browser(), world, "light", 1200, ["--top", "100"]);
    const { page, troubles } = opened;
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    expect(wide).toBe(1200);
    expect(await page.evaluate("document.documentElement.outerHTML.length")).toBeLessThan(400_000);
    // Whatever wants to run gets the time for it: each event that the attacks wait for has come by then.
    await page.$$eval("main *", (elements) => {
      for (const element of elements) if ("focus" in element) (element as { focus(): void }).focus();
    });
    expect(await page.evaluate("window.hit")).toBeUndefined();
    expect(troubles).toStrictEqual([]);
    expect(page.url()).toMatch(/^file:/);
    const foreign =
      "script, img, iframe, a, link, base, form, meta[http-equiv=refresh], [onload], [onerror], [onfocus]";
    expect(
      await page.$$eval(`main :is(${foreign}), head :is(script, link, base)`, (found) =>
        found.map((one) => one.outerHTML),
      ),
    ).toStrictEqual([]);
    const shown = await page.$$eval("#paths tbody th", (cells) => cells.map((cell) => cell.textContent));
    expect(shown).toHaveLength(new Set(attacks.map((attack) => attack.split("?")[0])).size);
    expect(shown).toContain("/<script>window.hit=1</script>");
    expect(shown).toContain("/&lt;script&gt;window.hit=1&lt;/script&gt;");
  });
});
