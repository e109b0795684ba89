// Long: `npm run test:deploy` runs it.
import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { parseResource } from "../../src/kinds/parse-resource.ts";
import type { LogEntry } from "../../src/model/log-entry.ts";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { attacks, hostileRows } from "../support/builders/hostile-rows.ts";
import { row } from "../support/fakes/scripted-logs.ts";
import { runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import type { RunningProcess } from "../support/processes/wafsync-process.ts";
import { logDomain, logKey, logWorld } from "../support/worlds/log-world.ts";
import type { LogWorld } from "../support/worlds/log-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import { instanceDocument, secretDocument } from "../support/worlds/waf-folder.ts";

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" };

function unescaped(text: string): string {
  return text.replaceAll(/&(?<name>amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? "");
}

/** The texts of the cells, row by row, of the first table of a section. */
function tableOf(page: string, section: string): string[][] {
  const start = page.indexOf(`<section id="${section}"`);
  if (start < 0) return [];
  const body = page.slice(page.indexOf("<tbody", start), page.indexOf("</tbody>", start));
  return [...body.matchAll(/<tr[^>]*>(?<cells>.*?)<\/tr>/gs)].map(({ groups }) =>
    [...(groups?.["cells"] ?? "").matchAll(/<t[dh][^>]*>(?<cell>.*?)<\/t[dh]>/gs)].map((cell) =>
      unescaped((cell.groups?.["cell"] ?? "").replaceAll(/<[^>]*>/g, "").trim()),
    ),
  );
}

function ruleOf(page: string): string {
  return unescaped(/<pre id="rule-yaml"[^>]*>(?<yaml>.*?)<\/pre>/s.exec(page)?.groups?.["yaml"] ?? "");
}

const now = "2026-06-16T00:00:00Z";
const range = ["--since", "2026-06-10", "--until", "2026-06-12"];
const environment = { WAFSYNC_API_KEY: logKey };

function report(simulator: Simulator, ...more: readonly string[]): string[] {
  return ["report", "--base-url", simulator.baseUrl, "--allow-insecure-http", ...range, ...more];
}

function addRows(world: LogWorld, rows: readonly LogEntry[]): void {
  for (const entry of rows) world.simulator.waf(logKey).logs.add(entry as never, 0);
}

describe("the report", () => {
  test("of a folder's WAF counts all requests, and suggests a rule for clients that are not on the blocklist", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 200 });
    const { simulator } = world;
    const clients = ["203.0.113.250", "2001:db8:ffff::1", "192.0.2.250", "198.51.100.250"];
    for (const [place, client_ip] of clients.entries()) {
      addRows(
        world,
        Array<LogEntry>(160 - place).fill(row("/busy?x=1", { client_ip, timestamp: "2026-06-11T05:30:00Z" })),
      );
    }
    simulator.waf(logKey).add("blocklist", ["192.0.2.128/25", "203.0.113.250"]);
    await using files = await scratchDirectory({
      "main.yaml": instanceDocument(simulator.baseUrl),
      "secret.yaml": secretDocument(logKey),
    });
    const file = join(files.path, "report.html");
    const end = await runWafsync([
      "report",
      "-f",
      files.path,
      "--allow-insecure-http",
      ...range,
      "--out",
      file,
      "--top",
      "4",
    ]);
    expect([end.code, end.stderr, end.stdout]).toStrictEqual([
      0,
      `A report of 1,234 blocked requests is in ${file}.\n`,
      "",
    ]);
    const page = await readFile(file, "utf8");
    expect(page).toContain(`<title>Blocked requests of ${logDomain}</title>`);
    expect(tableOf(page, "clients")).toStrictEqual([
      ["203.0.113.250", "160", "13.0 %", "blocked"],
      ["2001:db8:ffff::1", "159", "12.9 %", "not on a list"],
      ["192.0.2.250", "158", "12.8 %", "blocked by 192.0.2.128/25"],
      ["198.51.100.250", "157", "12.7 %", "not on a list"],
    ]);
    expect(tableOf(page, "paths")[0]).toStrictEqual(["/busy", "634", "51.4 %"]);
    expect(parse(ruleOf(page))).toStrictEqual({
      apiVersion: "wafsync.dev/v1alpha1",
      kind: "WafIpRule",
      metadata: { name: "top-clients-2026-06-12", namespace: "shop" },
      spec: expect.objectContaining({
        instanceRef: { name: "main" },
        action: "Block",
        expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        addresses: ["2001:db8:ffff::1", "198.51.100.250"],
      }),
    });
    const calls = simulator.requests().map(({ method, path }) => `${method} ${path}`);
    expect(calls.filter((call) => call === "GET /api/blocklist_ips")).toHaveLength(1);
    expect(calls.every((call) => call.startsWith("GET /api/"))).toBe(true);
    const rows = [...world.rows(20_614, 20_616, () => Number.POSITIVE_INFINITY)];
    expect(rows[0]?.timestamp).toMatch(/^2026-06-10/);
    const reasons = rows.filter(({ block_reason }) => block_reason === "Rate Limit 1015").length;
    const shown = await runWafsync(report(simulator, "--out", "-"), { environment });
    expect(tableOf(shown.stdout, "reasons").find(([one]) => one === "Rate Limit 1015")?.[1]).toBe(String(reasons));
  });

  test("suggests a rule that wafsync accepts, even if it doesn't know the name of the instance", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 50 });
    const { code, stdout, stderr } = await runWafsync(report(world.simulator, "--out", "-"), { environment });
    expect([code, stderr]).toStrictEqual([0, "A report of 150 blocked requests.\n"]);
    const rule = ruleOf(stdout);
    expect(rule).toContain("# Replace my-waf with the name of your WafInstance.");
    const parsed = parseResource(parse(rule), "shop");
    expect(parsed).toMatchObject({ ok: true });
    expect((parse(rule) as { spec: { addresses: string[] } }).spec.addresses).toHaveLength(20);
  });

  test("never turns strings of attackers into markup", async () => {
    await using world = await logWorld({ now });
    addRows(world, hostileRows("2026-06-11T05:30:00Z"));
    world.simulator.waf(logKey).domain = "<img src=x>.example";
    const { code, stdout } = await runWafsync(report(world.simulator, "--out", "-", "--top", "100"), {
      environment,
    });
    expect(code).toBe(0);
    expect(tableOf(stdout, "clients")).toHaveLength(attacks.length);
    expect(stdout.match(/<script/g)).toHaveLength(1);
    expect(stdout.match(/<style/g)).toHaveLength(1);
    const tags = new Set([...stdout.matchAll(/<(?<tag>[a-z!][^\s>/]*)/gi)].map(({ groups }) => groups?.["tag"]));
    for (const tag of ["img", "iframe", "link", "base", "form", "a", "b"]) expect([...tags]).not.toContain(tag);
    const hashOf = (element: string): string => {
      const content =
        new RegExp(`<${element}>(?<content>.*)</${element}>`, "s").exec(stdout)?.groups?.["content"] ?? "";
      return `&#39;sha256-${createHash("sha256").update(content).digest("base64")}&#39;`;
    };
    expect(/Content-Security-Policy"\s+content="(?<policy>[^"]*)"/.exec(stdout)?.groups?.["policy"]).toBe(
      `default-src &#39;none&#39;; style-src ${hashOf("style")}; script-src ${hashOf("script")}; base-uri &#39;none&#39;; form-action &#39;none&#39;`,
    );
    for (const hidden of "\u{0}\u{202E}\u{2066}\u{2028}") expect(stdout).not.toContain(hidden);
    expect(stdout).not.toContain('id="rule-yaml"');
  });

  test("contains no API key, even if a request contains it", async () => {
    await using world = await logWorld({ now });
    const texts = [logKey, encodeURIComponent(logKey), new URLSearchParams({ logKey }).toString()];
    addRows(
      world,
      texts.flatMap((text) => [
        row(`/clear/${text}`, { block_reason: text, country: text, client_ip: text }),
        row(`/${"x".repeat(295)}${text}`),
        row(`/${"y".repeat(151)}${text}?${text}`),
      ]),
    );
    const { stdout } = await runWafsync(report(world.simulator, "--out", "-"), { environment });
    expect(tableOf(stdout, "paths").map(([path]) => path)).toContain("/clear/[api key]");
    for (const length of [6, 8]) expect(stdout).not.toContain(logKey.slice(0, length));
  });
});

describe("missing data", () => {
  test("is reported on the page and by the exit code: the blocklist, malformed rows, and days that are not kept", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 20 });
    addRows(world, [{ ...row("/"), client_ip: 7 as unknown as string, timestamp: "2026-06-11T05:30:00Z" }]);
    world.simulator.addFaults({ match: { path: "/api/blocklist_ips" }, effect: { kind: "EchoKey", status: 500 } });
    const parameters = report(world.simulator, "--out", "-", "--plan", "Basic");
    const { code, stdout, stderr } = await runWafsync(parameters, { environment });
    expect(code).toBe(1);
    expect(stderr).toContain("warning: cannot read the blocklist: ");
    expect(stdout).toContain("cannot read the blocklist: ");
    expect(tableOf(stdout, "clients").map((cells) => cells.at(-1))).toStrictEqual(Array(20).fill("unknown"));
    expect(stdout).not.toContain('id="rule-yaml"');
    expect(stdout).toContain("2026-06-11: 1 malformed entry is skipped (entry 21: client_ip is not a string)");
    expect(stdout).toContain("the plan Basic keeps logs for 30 days");
  });
});

describe("the file", () => {
  test("replaces an older report, and no other file", async () => {
    await using world = await logWorld({ now, logRowsPerDay: 5 });
    await using files = await scratchDirectory({ "waf.yaml": "kind: WafInstance\n" });
    const file = join(files.path, "report.html");
    const other = join(files.path, "waf.yaml");
    for (const rows of [15, 30]) {
      const { code, stderr } = await runWafsync(report(world.simulator, "--out", file), { environment });
      expect([code, stderr]).toStrictEqual([0, `A report of ${rows} blocked requests is in ${file}.\n`]);
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      addRows(world, Array<LogEntry>(15).fill(row("/more", { timestamp: "2026-06-11T05:30:00Z" })));
    }
    const calls = world.simulator.requests().length;
    const refused = await runWafsync(report(world.simulator, "--out", other), { environment });
    expect([refused.code, refused.stderr]).toStrictEqual([
      2,
      `error: ${other} exists and is not a report\n  Choose another name, or remove it first.\n`,
    ]);
    expect(world.simulator.requests()).toHaveLength(calls);
    expect(await readFile(other, "utf8")).toBe("kind: WafInstance\n");
    const lost = join(files.path, "no-folder", "report.html");
    const failed = await runWafsync(report(world.simulator, "--out", lost), { environment });
    expect([failed.code, failed.stderr]).toStrictEqual([
      2,
      `error: ${lost} cannot be written: no such file or directory\n`,
    ]);
    const folder = await runWafsync(report(world.simulator, "--out", files.path), { environment });
    expect([folder.code, folder.stderr]).toStrictEqual([2, expect.stringContaining("is not a regular file")]);
    expect(world.simulator.requests()).toHaveLength(calls);
    expect((await readdir(files.path)).toSorted()).toStrictEqual(["report.html", "waf.yaml"]);
  });

  test("is not written by a report that was stopped", async () => {
    await using files = await scratchDirectory({});
    let running: RunningProcess | undefined;
    await using world = await logWorld({
      now,
      logRowsPerDay: 50,
      onRequest: ({ parameters }) => {
        if (parameters["start_date"] === "2026-06-11") running?.child.kill("SIGINT");
      },
    });
    running = startWafsync(report(world.simulator, "--out", join(files.path, "report.html")), { environment });
    const { code, stderr } = await running.ended;
    expect([code, stderr]).toStrictEqual([130, "Stopped. No report was written.\n"]);
    expect(await readdir(files.path)).toStrictEqual([]);
  });
});
