import { describe, expect, test } from "@jest/globals";
import type { LogPage } from "../../src/simulator/simulated-logs.ts";
import type { SimulatorOptions } from "../../src/simulator/start-simulator.ts";
import { apiKey, type Caller, domain, startSimulated } from "./call-simulator.ts";

const noon = Date.parse("2026-06-15T12:00:00Z");
const clockAt = (timeMs: { now: number }) => ({ nowMs: () => timeMs.now, sleep: async () => {} });
const pagesMax = 1000;

function options(more: Partial<SimulatorOptions> = {}, now = { now: noon }): Partial<SimulatorOptions> {
  return { logRowsPerDay: 100, logLateMsMax: 0, clock: clockAt(now), ...more };
}

async function query(caller: Caller, start: string, end: string, perPage?: number): Promise<LogPage> {
  const size = perPage === undefined ? {} : { per_page: String(perPage) };
  const reply = await caller.read("/api/logs/query", { start_date: start, end_date: end, ...size });
  expect(reply.status).toBe(200);
  return reply.json as LogPage;
}

async function readAll(caller: Caller, start: string, end: string, perPage?: number): Promise<LogPage[]> {
  const pages = [await query(caller, start, end, perPage)];
  for (let last = pages.at(-1); last?._scroll_id != null && pages.length < pagesMax; last = pages.at(-1)) {
    const reply = await caller.read("/api/logs/scroll", { scroll_id: last._scroll_id });
    pages.push(reply.json as LogPage);
  }
  return pages;
}

test("each page has a new scroll id, and all pages together contain every row once", async () => {
  const caller = await startSimulated(options());
  const [whole] = await readAll(caller, "2026-06-10", "2026-06-12");
  const pages = await readAll(caller, "2026-06-10", "2026-06-12", 70);
  expect(whole?.hits.total.value).toBe(300);
  expect(pages.map(({ hits }) => hits.hits.length)).toStrictEqual([70, 70, 70, 70, 20]);
  expect(pages.every(({ hits }) => hits.total.value === 300)).toBe(true);
  expect(new Set(pages.map(({ _scroll_id }) => _scroll_id)).size).toBe(5);
  expect(pages.at(-1)?._scroll_id).toBeNull();
  expect(pages.flatMap(({ hits }) => hits.hits)).toStrictEqual(whole?.hits.hits);
});

test("an entry has the documented fields", async () => {
  const caller = await startSimulated(options());
  const { hits } = await query(caller, "2026-06-10", "2026-06-10");
  for (const entry of hits.hits) {
    expect(Object.keys(entry)).toHaveLength(11);
    expect(entry).toMatchObject({
      timestamp: expect.stringMatching(/^2026-06-10T\d\d:\d\d:\d\d\.\d{3}Z$/u),
      client_ip: expect.any(String),
      http_method: expect.stringMatching(/^[A-Z]+$/u),
      request_path: expect.stringMatching(/^\//u),
      http_status: expect.any(Number),
      response_size: expect.any(Number),
      user_agent: expect.any(String),
      block_reason: expect.stringMatching(/^([A-Za-z ]+ [0-9]+|NONE)$/u),
      country: expect.stringMatching(/^[A-Z]{2}$/u),
      cache_hit: expect.any(Boolean),
    });
    expect(entry.referrer === null || typeof entry.referrer === "string").toBe(true);
  }
});

test("an account without rows returns one empty page", async () => {
  const caller = await startSimulated(options({ logRowsPerDay: 0 }));
  expect(await query(caller, "2026-06-10", "2026-06-12")).toStrictEqual({
    _scroll_id: null,
    hits: { total: { value: 0 }, hits: [] },
  });
});

describe("refusals", () => {
  const dateFormat = "Invalid date format. Use YYYY-MM-DD.";
  test.each([
    ["2026-6-1", "2026-06-02", dateFormat],
    ["2026-02-30", "2026-03-01", dateFormat],
    ["2026-06-01", "2026-06-02T00:00:00Z", dateFormat],
    ["2026-06-02", "2026-06-01", "start_date must be before or equal to end_date"],
    ["2025-06-01", "2026-06-01", "Date range cannot exceed 365 days"],
  ])("from %s to %s", async (start, end, message) => {
    const { read } = await startSimulated(options());
    const reply = await read("/api/logs/query", { start_date: start, end_date: end });
    expect([reply.status, reply.json]).toStrictEqual([400, { success: false, message }]);
  });

  test.each([
    ["/api/logs/query", { end_date: "2026-06-01" }, "start_date"],
    ["/api/logs/query", { start_date: "2026-06-01" }, "end_date"],
    ["/api/logs/scroll", { _scroll_id: "x" }, "scroll_id"],
  ])("%s with %j lacks a parameter", async (path, query, name) => {
    const { read } = await startSimulated(options());
    const reply = await read(path, query);
    expect([reply.status, reply.json]).toStrictEqual([400, { success: false, message: `Missing parameter ${name}` }]);
  });

  test("a scroll id is invalid if it is unknown, already used, or belongs to another key", async () => {
    const keys = [
      { key: apiKey, domain },
      { key: "other-key", domain: "other.example" },
    ];
    const caller = await startSimulated(options({ keys }));
    const invalid = [400, { success: false, message: "Invalid scroll_id" }];
    const tryScroll = async (scrollId: string, key = apiKey) => {
      const parameters = new URLSearchParams({ api_key: key, scroll_id: scrollId });
      const reply = await caller.call("GET", `/api/logs/scroll?${parameters.toString()}`);
      return [reply.status, reply.json];
    };
    const { _scroll_id: scrollId } = await query(caller, "2026-06-10", "2026-06-10", 10);
    expect(await tryScroll("unknown")).toStrictEqual(invalid);
    expect(await tryScroll(scrollId ?? "", "other-key")).toStrictEqual(invalid);
    expect((await tryScroll(scrollId ?? ""))[0]).toBe(200);
    expect(await tryScroll(scrollId ?? "")).toStrictEqual(invalid);
  });

  test("an account without a WAF gets a 404 only for the logs", async () => {
    const { read } = await startSimulated(options({ keys: [{ key: apiKey, domain, hasWaf: false }] }));
    const message = "No WAF configured for this account";
    const reply = await read("/api/logs/query", { start_date: "2026-06-01", end_date: "2026-06-01" });
    expect([reply.status, reply.json]).toStrictEqual([404, { success: false, message }]);
    expect((await read("/api/logs/scroll", { scroll_id: "x" })).status).toBe(404);
    expect((await read("/api/blocklist_ips")).status).toBe(200);
  });
});

test("late rows appear later, between existing rows, and then stay", async () => {
  const now = { now: noon };
  const caller = await startSimulated(options({ logLateMsMax: 3_600_000 }, now));
  const early = (await query(caller, "2026-06-15", "2026-06-15")).hits;
  now.now += 3_600_000;
  const later = (await query(caller, "2026-06-15", "2026-06-15")).hits;
  const untilNoon = later.hits.filter(({ timestamp }) => Date.parse(timestamp) <= noon);
  expect(early.total.value).toBe(early.hits.length);
  expect(untilNoon.length).toBeGreaterThan(early.hits.length);
  const left = untilNoon.map((entry) => JSON.stringify(entry));
  for (const entry of early.hits) expect(left).toContain(JSON.stringify(entry));
  expect(early.hits.every(({ timestamp }) => Date.parse(timestamp) <= noon)).toBe(true);
});
