import { describe, expect, test } from "@jest/globals";
import { logFaultKinds } from "../../src/simulator/log-faults.ts";
import type { LogFaultKind } from "../../src/simulator/log-faults.ts";
import type { LogPage } from "../../src/simulator/simulated-logs.ts";
import { withSimulator } from "../support/processes/call-simulator.ts";
import type { Caller, Reply } from "../support/processes/call-simulator.ts";

const noon = Date.parse("2026-06-15T12:00:00Z");
const clock = { nowMs: () => noon, sleep: async () => {} };
const options = { clock, logRowsPerDay: 20, logLateMsMax: 0 };

async function query({ read }: Caller, perPage = "8"): Promise<Reply> {
  return await read("/api/logs/query", { start_date: "2026-06-10", end_date: "2026-06-10", per_page: perPage });
}

async function next({ read }: Caller, page: Reply): Promise<Reply> {
  return await read("/api/logs/scroll", { scroll_id: (page.json as LogPage)._scroll_id ?? "" });
}

/** A query, and a scroll after it that fails. */
async function secondPage(caller: Caller, kind: LogFaultKind): Promise<{ first: LogPage; reply: Reply | undefined }> {
  caller.simulator.logFaults.set({ pages: [2], kinds: [kind] });
  const first = await query(caller);
  const reply = await next(caller, first).catch(() => undefined);
  expect(caller.simulator.logFaults).toMatchObject({ calls: 2, faults: 1 });
  return { first: first.json as LogPage, reply };
}

function rowsOf(reply: Reply | undefined): LogPage["hits"]["hits"] {
  const page = reply?.json as LogPage | undefined;
  return page?.hits.hits ?? [];
}

describe("pages of logs that fail", () => {
  test.each<[LogFaultKind, number | undefined]>([
    ["ServerError", 502],
    ["NotJson", 200],
    ["CutJson", 200],
    ["RateLimited", 429],
    ["ScrollExpired", 400],
    ["Reset", undefined],
    ["LostAnswer", undefined],
    ["TruncatedBody", undefined],
  ])("%s answers %s", async (kind, status) => {
    await withSimulator(options, async (caller) => {
      expect((await secondPage(caller, kind)).reply?.status).toBe(status);
    });
  });

  test("a page is sent again, with half of its rows, or with a malformed entry", async () => {
    await withSimulator(options, async (caller) => {
      const repeated = await secondPage(caller, "RepeatedPage");
      expect(rowsOf(repeated.reply)).toStrictEqual(repeated.first.hits.hits);
      expect(rowsOf((await secondPage(caller, "MissingRows")).reply)).toHaveLength(4);
      const broken = rowsOf((await secondPage(caller, "BrokenEntry")).reply);
      expect(broken[0]).not.toHaveProperty("client_ip");
      expect(broken).toHaveLength(8);
    });
  });

  test("have the requested share, are the same with the same seed, and do not include other calls", async () => {
    await withSimulator(options, async (caller) => {
      const run = async (): Promise<string> => {
        const answers: string[] = [];
        for (let call = 0; call < 150; call += 1) {
          await caller.read("/api/blocklist_ips");
          answers.push(
            await query(caller).then(
              ({ text }) => text.slice(20, 60),
              () => "torn",
            ),
          );
        }
        return answers.map((answer) => answer.replace(/[0-9a-f-]{36}/, "id")).join("\n");
      };
      caller.simulator.logFaults.set({ share: 1 / 3, seed: 4 });
      const first = await run();
      expect(caller.simulator.logFaults.calls).toBe(150);
      expect(caller.simulator.logFaults.faults).toBeGreaterThan(35);
      expect(caller.simulator.logFaults.faults).toBeLessThan(65);
      caller.simulator.logFaults.set({ share: 1 / 3, seed: 4 });
      expect((await run()).split("\n").map((line) => line === "torn")).toStrictEqual(
        first.split("\n").map((line) => line === "torn"),
      );
      caller.simulator.logFaults.set(undefined);
      expect((await query(caller)).status).toBe(200);
    });
  });
});

describe("the control port", () => {
  test("sets faults of pages, and removes them", async () => {
    await withSimulator(options, async (caller) => {
      const set = { pages: [1], kinds: ["ServerError"], seed: 3, percent: 0 };
      expect((await caller.control("POST", "/log-faults", set)).status).toBe(200);
      expect((await query(caller)).status).toBe(502);
      expect((await query(caller)).status).toBe(200);
      await caller.control("POST", "/log-faults", { percent: 100, kinds: ["ServerError"] });
      expect((await query(caller)).status).toBe(502);
      await caller.control("DELETE", "/log-faults");
      expect((await query(caller)).status).toBe(200);
      for (const body of [{ percent: 101 }, { kinds: ["Odd"] }, { pages: ["1"] }, { share: 1 }]) {
        expect((await caller.control("POST", "/log-faults", body)).status).toBe(400);
      }
      const help = (await caller.control("GET", "/")).text;
      for (const kind of logFaultKinds) expect(help).toContain(kind);
    });
  });

  test("changes the logs: rows per day, lateness, retention, and the last page", async () => {
    await withSimulator(options, async (caller) => {
      const totalOf = async (): Promise<number> => ((await query(caller)).json as LogPage).hits.total.value;
      expect(await totalOf()).toBe(20);
      await caller.control("POST", "/log-settings", { rowsPerDay: 7, emptyLastPage: true });
      const page = await query(caller);
      expect((page.json as LogPage).hits.hits).toHaveLength(7);
      expect((await next(caller, page)).json).toMatchObject({ _scroll_id: null, hits: { hits: [] } });
      await caller.control("POST", "/log-settings", { lateMsMax: 20 * 86_400_000 });
      expect(await totalOf()).toBeLessThan(7);
      await caller.control("POST", "/reset");
      expect(await totalOf()).toBe(20);
      const uniform = (await query(caller)).json as LogPage;
      await caller.control("POST", "/log-settings", { scenario: "Attack" });
      expect(((await query(caller)).json as LogPage).hits).not.toStrictEqual(uniform.hits);
      expect((await caller.control("POST", "/log-settings", { scenario: "Peace" })).status).toBe(400);
      expect((await caller.control("POST", "/log-settings", { plan: "Gold" })).status).toBe(400);
      expect((await caller.control("POST", "/log-settings", { rowsPerDay: 1_000_001 })).status).toBe(400);
      expect((await caller.control("POST", "/log-settings", { plan: "Basic" })).status).toBe(200);
    });
  });
});
