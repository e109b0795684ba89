// The dashboard as an object literal of the type that Grafana publishes: the compiler finds unknown fields and values.
// Long: `npm run test:deploy` runs it.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runToEnd } from "../../support/control-plane/run-to-end.ts";
import type { DashboardJson } from "./dashboard-json.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const types = join(root, "test", "deploy", "tools", "dashboard-json.ts");

let folder: string;
let dashboard: string;

beforeAll(async () => {
  dashboard = await readFile(join(root, "deploy", "monitoring", "dashboard.json"), "utf8");
  folder = await mkdtemp(join(tmpdir(), "wafsync-dashboard-"));
  const compilerOptions = {
    strict: true,
    noEmit: true,
    module: "nodenext",
    moduleResolution: "nodenext",
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    types: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["dashboard.ts"] }));
});
afterAll(async () => await rm(folder, { recursive: true, force: true }));

/** What the compiler reports. */
async function check(json: string): Promise<string> {
  await writeFile(
    join(folder, "dashboard.ts"),
    `import type { DashboardJson } from ${JSON.stringify(types)};\nexport const dashboard = ${json.trim()} satisfies DashboardJson;\n`,
  );
  const tsc = [join(root, "node_modules", ".bin", "tsc"), "--project", folder, "--pretty", "false"];
  const ended = await runToEnd(process.execPath, tsc, { environment: process.env });
  return ended.code === 0 ? "" : `${ended.stdout}${ended.stderr}`;
}

test("the dashboard fits the types of @grafana/schema", async () => {
  const { panels } = JSON.parse(dashboard) as DashboardJson;
  expect(panels.map(({ type }) => type)).toStrictEqual(expect.arrayContaining(["row", "stat", "timeseries"]));
  expect(await check(dashboard)).toBe("");
});
