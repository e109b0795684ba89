// `wafsync ui` on a folder, as a process: its page and its JSON show the same as the commands, and it only reads.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { summarySchema } from "../../src/kinds/summary.ts";
import { type ServedPage, servePage, textOf } from "../support/worlds/open-page.ts";
import {
  keySpellings,
  ruleDocument,
  testDomain,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";

const listed = "192.0.2.9";

describe("wafsync ui of a folder", () => {
  let folder: WafFolder;
  let page: ServedPage;
  const answers: string[] = [];
  const get = async (path: string) => {
    const answer = await page.get(path);
    answers.push(answer.text);
    return answer;
  };

  beforeAll(async () => {
    folder = await wafFolder({ logRowsPerDay: 200 });
    await folder.files.write("scanners.yaml", ruleDocument("scanners", { addresses: ["192.0.2.0/28", "203.0.113.7"] }));
    await folder.files.write("office.yaml", ruleDocument("office", { action: "Allow", addresses: ["198.51.100.3"] }));
    await folder.run("apply");
    page = await servePage(folder.from);
  });

  afterAll(async () => {
    await page[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test("has a JSON summary that matches its published schema and the output of status", async () => {
    const summary = JSON.parse((await get("/summary")).text) as unknown;
    const { totals, instances } = summarySchema.parse(summary);
    expect(totals).toMatchObject({ instances: 1, ready: 1, blocked: 2, allowed: 1, pending: 0, onHold: 0 });
    const status = await folder.run("status -o json");
    const [view] = (JSON.parse(status.stdout) as { instances: Record<string, unknown>[] }).instances;
    const { gaps: _gaps, ...reported } = view ?? {};
    expect(instances[0]).toMatchObject(reported);
  });

  test.each([listed, "198.51.100.3", "2001:db8::1"])("explains %s exactly like why, also as JSON", async (address) => {
    const why = await folder.run(`why ${address}`);
    const shown = textOf((await get(`/why?address=${encodeURIComponent(address)}`)).text);
    const lines = why.stdout.split("\n").filter((line) => line.trim() !== "");
    expect(lines.filter((line) => !shown.includes(line))).toStrictEqual([]);
    const json = await folder.run(`why ${address} -o json`);
    expect(await page.json(`/why.json?address=${encodeURIComponent(address)}`)).toStrictEqual(JSON.parse(json.stdout));
  });

  test("explains the current content of files, not their content when the page was opened", async () => {
    await folder.files.write("new.yaml", ruleDocument("new", { addresses: ["203.0.113.99"] }));
    expect(textOf((await get("/why?address=203.0.113.99")).text)).toContain("It is declared but not on the list yet.");
    await folder.files.remove("new.yaml");
  });

  test("shows the history of a WAF", async () => {
    const { status, text } = await get("/instances/shop/main");
    expect(status).toBe(200);
    // On a slow machine, the two entries are two events.
    expect(textOf(text)).toMatch(/Added\s+blocklist\s+[^]*192\.0\.2\.0\/28[^]*\s+WafIpRule shop\/scanners/);
    const covered = textOf((await get("/instances/shop/main?address=192.0.2.3")).text);
    expect(covered).toContain("192.0.2.0/28");
    expect(covered).not.toContain("203.0.113.7");
  });

  test("writes nothing, to the WAF or to the folder, and shows no key", async () => {
    const before = await folder.everyFile();
    const waf = folder.simulator.waf(testKey);
    const writes = (): string[] =>
      Object.keys(waf.counters.byEndpoint).filter((endpoint) => !endpoint.startsWith("GET "));
    const writesBefore = JSON.stringify([writes(), waf.counters.changes]);
    for (const path of ["", "summary", "why?address=192.0.2.9", "instances/shop/main", "instances/shop/main/requests"])
      await get(`/${path}`);
    expect(JSON.stringify([writes(), waf.counters.changes])).toBe(writesBefore);
    expect((await folder.everyFile()) === before).toBe(true);
    const told = answers.join("\n");
    expect(keySpellings().filter((spelling) => told.includes(spelling))).toStrictEqual([]);
    expect(told).toContain(testDomain);
    const ended = { code: 0, stderr: "", stdout: expect.stringMatching(/^The page is at .*\n$/) as unknown };
    expect(await page.end()).toMatchObject(ended);
  });
});
