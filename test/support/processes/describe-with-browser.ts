// Suites that open pages in a real browser. It comes with a development package, so that a fresh machine has it after the
// installation. Where it can't run, suites are skipped with a loud line, and fail under CI=true.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe } from "@jest/globals";
import type { Browser } from "puppeteer-core";
import { cacheDirectory } from "../control-plane/program.ts";
import { describeMissing } from "./describe-missing.ts";

const execute = promisify(execFile);
const require = createRequire(import.meta.url);
/** Makes the package unpack the libraries that a small system lacks. */
const withLibraries = { AWS_LAMBDA_JS_RUNTIME: "nodejs24.x" };
const startTimeoutMs = 120_000;

/** To be awaited at the top of a file. `WAFSYNC_BROWSER` names another Chromium, or is `none`. */
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
  if (wanted === "none") return "none is wanted";
  const { default: puppeteer } = await import("puppeteer-core");
  const folder = wanted === undefined || wanted === "" ? await unpackedBrowser() : undefined;
  return await puppeteer.launch({
    executablePath: folder === undefined ? (wanted ?? "") : join(folder, "chromium"),
    headless: "shell",
    timeout: startTimeoutMs,
    // The pages are our own, and in a container the sandbox of a browser has no rights.
    args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"],
    env: folder === undefined ? process.env : { ...process.env, ...librariesOf(folder) },
  });
}

function librariesOf(folder: string): Record<string, string> {
  return { LD_LIBRARY_PATH: join(folder, "al2023", "lib"), FONTCONFIG_FILE: join(folder, "fonts.conf") };
}

/** Those of the package, so that there is at least one, and those of the system. */
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

/** The folder in the cache that holds the browser of the installed package. */
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
    // Another process may have been quicker: then its folder stands.
    await rename(draft, folder).catch(async (error: unknown) => {
      if (!(await isThere())) throw error;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}
