// Suites that open pages in a real browser. A development package contains it, so a fresh machine has it after the
// installation. If it can't run, suites are skipped with a clear message, and fail with CI=true.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe } from "@jest/globals";
import type { Browser } from "puppeteer-core";
import { cacheDirectory } from "../support/control-plane/cache-directory.ts";
import { describeMissing } from "../support/processes/describe-missing.ts";

const execute = promisify(execFile);
const require = createRequire(import.meta.url);
/** Makes the package unpack libraries that minimal systems do not have. */
const withLibraries = { AWS_LAMBDA_JS_RUNTIME: "nodejs24.x" };
const startTimeoutMs = 120_000;

/** Await it at the top of a file. `WAFSYNC_BROWSER` names a different Chromium, or is `none`. */
export async function describeWithBrowser(title: string, body: (browser: () => Browser) => void): Promise<void> {
  const launched = await launch().catch((error: unknown) => `it does not start: ${(error as Error).message}`);
  if (typeof launched === "string") return describeMissing(title, "a browser to run in", launched);
  describe(title, () => {
    afterAll(async () => {
      await launched.close();
    });
    body(() => launched);
  });
}

async function launch(): Promise<Browser | string> {
  const wanted = process.env["WAFSYNC_BROWSER"];
  if (wanted === "none") return "WAFSYNC_BROWSER is none";
  const { default: puppeteer } = await import("puppeteer-core");
  const folder = wanted === undefined || wanted === "" ? await unpackedBrowser() : undefined;
  return await puppeteer.launch({
    executablePath: folder === undefined ? (wanted ?? "") : join(folder, "chromium"),
    headless: "shell",
    timeout: startTimeoutMs,
    // The pages are trusted, and a container does not allow the sandbox of a browser.
    args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
    env: folder === undefined ? process.env : { ...process.env, ...librariesOf(folder) },
  });
}

function librariesOf(folder: string): Record<string, string> {
  return { LD_LIBRARY_PATH: join(folder, "al2023", "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") };
}

/** The fonts of the package, so that at least one exists, and the fonts of the system. */
function fontsOf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, "fonts")}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(folder, "fonts-cache")}</cachedir>
</fontconfig>
`;
}

/** The cache folder with the browser of the installed package. */
async function unpackedBrowser(): Promise<string> {
  const manifest = await readFile(join(dirname(require.resolve("@sparticuz/chromium")), "../../package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const cache = cacheDirectory(process.env);
  const folder = join(cache, `browser-${version}`);
  const isThere = async (): Promise<boolean> =>
    await stat(folder).then(
      () => true,
      () => false,
    );
  if (await isThere()) return folder;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(`${folder}-`);
  try {
    const environment = { ...process.env, ...withLibraries, TMPDIR: draft };
    await execute(process.execPath, [join(import.meta.dirname, "unpack-browser.ts")], { env: environment });
    await writeFile(join(draft, "fonts.conf"), fontsOf(folder));
    // If another process was faster, its folder is kept.
    await rename(draft, folder).catch(async (error: unknown) => {
      if (!(await isThere())) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}
