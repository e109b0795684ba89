// A page in a real browser, in a context of its own, with everything that it should not do.
import axe from "axe-core";
import type { AxeResults } from "axe-core";
import type { Browser, Page } from "puppeteer-core";

export interface BrowserView {
  readonly scheme?: "light" | "dark";
  readonly width?: number;
}

export interface BrowserPage extends AsyncDisposable {
  readonly page: Page;
  /** Requests to other hosts or files, dialogs, and errors in the console, such as violations of the policy. */
  readonly troubles: readonly string[];
}

/** @param own the start of the addresses that the page may load */
export async function openInBrowser(
  browser: Browser,
  url: string,
  own: string,
  { scheme = "light", width = 1200 }: BrowserView = {},
): Promise<BrowserPage> {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(own)) troubles.push(`request ${request.url()}`);
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
  return { page, troubles, [Symbol.asyncDispose]: async () => await context.close() };
}

/** What an accessibility checker finds, with all details open. */
export async function barriersOf(page: Page): Promise<readonly string[]> {
  await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate("axe.run(document)")) as AxeResults;
  return violations.map(
    ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" ")}`,
  );
}

/** Triggers every event that an attack could wait for. @returns elements that only an attack could have added */
export async function provokeAttacks(page: Page): Promise<readonly string[]> {
  await page.$$eval("main *", (elements) => {
    for (const element of elements) if ("focus" in element) (element as { focus(): void }).focus();
  });
  const foreign = "script, img, iframe, link, base, style, [onload], [onerror], [onfocus], [style]";
  return await page.$$eval(`main :is(${foreign})`, (found) => found.map((one) => one.outerHTML));
}
