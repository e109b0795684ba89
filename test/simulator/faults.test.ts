import { describe, expect, test } from "@jest/globals";
import { faultKinds, isAfterEffect } from "../../src/simulator/fault-rule.ts";
import type { FaultEffect, FaultKind } from "../../src/simulator/fault-rule.ts";
import type { LogEntry } from "../../src/simulator/log-entries.ts";
import type { LogPage } from "../../src/simulator/simulated-logs.ts";
import { apiKey, domain, startSimulated } from "../support/processes/call-simulator.ts";
import type { Caller, Reply } from "../support/processes/call-simulator.ts";

const ip = "192.0.2.1";
const now = Date.parse("2026-06-15T12:00:00Z");
const clock = { nowMs: () => now, sleep: async () => {} };

async function writeThrough(caller: Caller, effect: FaultEffect): Promise<Reply> {
  caller.simulator.addFaults({ effect });
  return await caller.write("POST", "/api/blocklist_ip", { ip });
}

/** If a response is never complete, the caller gives up this long after the simulator received the request. */
const silenceMs = 300;

/** The result of a write whose response is never complete: the code of the error, or that the caller gave up. */
async function brokenWrite(caller: Caller, effect: FaultEffect, arrived: Promise<void>): Promise<string> {
  const giveUp = new AbortController();
  if (effect.kind === "Timeout") void arrived.then(() => setTimeout(() => giveUp.abort(), silenceMs));
  caller.simulator.addFaults({ effect });
  return await caller.call("POST", "/api/blocklist_ip", { form: { api_key: apiKey, ip }, signal: giveUp.signal }).then(
    ({ status }) => `answered ${status}`,
    (error: { name: string; code?: string | number }) => (giveUp.signal.aborted ? "gave up" : String(error.code)),
  );
}

async function expectEffect(caller: Caller, happened: boolean): Promise<void> {
  expect(caller.simulator.waf(apiKey).blocklist).toStrictEqual(happened ? [ip] : []);
  expect((await caller.read("/api/blocklist_ips")).json).toStrictEqual(happened ? [ip] : []);
  expect(caller.simulator.waf(apiKey).overlaps).toBe(0);
  expect(caller.simulator.internalErrors).toStrictEqual([]);
}

test.each([
  ["Timeout", false, "gave up"],
  ["Timeout", true, "gave up"],
  ["Reset", false, /ECONNRESET|UND_ERR_SOCKET/u],
  ["Reset", true, /ECONNRESET|UND_ERR_SOCKET/u],
  ["TruncatedBody", true, /UND_ERR_SOCKET|UND_ERR_ABORTED|ECONNRESET/u],
] as const)("%s with its effect %p leaves the write unanswered", async (kind, afterEffect, outcome) => {
  const arrived = Promise.withResolvers<void>();
  const caller = await startSimulated({ onRequest: () => arrived.resolve() });
  const met = await brokenWrite(caller, { kind, afterEffect }, arrived.promise);
  expect(met).toStrictEqual(typeof outcome === "string" ? outcome : expect.stringMatching(outcome));
  await expectEffect(caller, afterEffect);
  expect(caller.simulator.waf(apiKey).counters.faults).toBe(1);
});

describe.each([false, true])("with the effect %p", (afterEffect) => {
  const failure = { success: false, message: expect.any(String) };

  test.each<[FaultEffect, number, unknown]>([
    [{ kind: "RateLimited" }, 429, failure],
    [{ kind: "ServerError" }, 502, undefined],
    [{ kind: "ServerError", status: 503 }, 503, undefined],
    [{ kind: "SuccessFalse" }, 200, failure],
    [{ kind: "SuccessFalse", status: 500, message: "no" }, 500, { success: false, message: "no" }],
    [{ kind: "Redirect" }, 302, undefined],
    [{ kind: "EchoKey" }, 400, failure],
    [{ kind: "NotJson" }, 200, undefined],
    [{ kind: "Respond", status: 201, body: "{}" }, 201, {}],
  ])("%j answers a write with %i", async (effect, status, body) => {
    const caller = await startSimulated();
    const reply = await writeThrough(caller, { ...effect, afterEffect });
    expect([reply.status, reply.json]).toStrictEqual([status, body]);
    await expectEffect(caller, afterEffect);
  });
});

test.each<[FaultEffect, string | undefined]>([
  [{ kind: "RateLimited" }, undefined],
  [{ kind: "RateLimited", retryAfterSeconds: 7 }, "7"],
  [{ kind: "RateLimited", retryAfterDateInMs: 60_000 }, "Mon, 15 Jun 2026 12:01:00 GMT"],
  [{ kind: "RateLimited", retryAfter: "soon" }, "soon"],
])("%j has the Retry-After %p", async (effect, header) => {
  const caller = await startSimulated({ clock });
  expect((await writeThrough(caller, effect)).headers["retry-after"]).toBe(header);
});

test("an error page is HTML, a redirect has a location, and the key is echoed plain and encoded", async () => {
  const caller = await startSimulated();
  const page = await writeThrough(caller, { kind: "ServerError" });
  expect([page.headers["content-type"], page.text]).toStrictEqual([
    expect.stringMatching(/html/u),
    expect.stringMatching(/^<!DOCTYPE html>/u),
  ]);
  const redirect = await writeThrough(caller, { kind: "Redirect", location: "http://elsewhere.example/" });
  expect(redirect.headers["location"]).toBe("http://elsewhere.example/");
  const echo = await writeThrough(caller, { kind: "EchoKey" });
  expect(echo.text).toContain(apiKey);
  expect(echo.text).toContain(encodeURIComponent(apiKey));
});

test("a wrong domain is in an otherwise true response", async () => {
  const caller = await startSimulated();
  const reply = await writeThrough(caller, { kind: "WrongDomain", domain: "other.example" });
  expect(reply.json).toMatchObject({ success: true, domain: "other.example" });
  await expectEffect(caller, true);
  expect((await caller.read("/api/origins")).json).toMatchObject({ domain });
});

test("half of the JSON arrives as a complete response", async () => {
  const caller = await startSimulated();
  expect(await writeThrough(caller, { kind: "CutJson" })).toMatchObject({ status: 200, json: undefined });
  await expectEffect(caller, true);
  caller.simulator.addFaults({ effect: { kind: "CutJson" } });
  expect((await caller.read("/api/blocklist_ips")).json).toBeUndefined();
});

test("a list is sent as an object with numbered fields", async () => {
  const { read, simulator } = await startSimulated();
  simulator.waf(apiKey).add("allowlist", ["192.0.2.1", "192.0.2.2"]);
  simulator.addFaults({ match: { path: "/api/allowlist_ips" }, effect: { kind: "ListAsObject" } });
  expect((await read("/api/allowlist_ips")).json).toStrictEqual({ 0: "192.0.2.1", 1: "192.0.2.2" });
});

test("a list is sent as it was before its last writes, or some time ago; edits without the API are never hidden", async () => {
  let nowMs = now;
  const { read, write, simulator } = await startSimulated({ clock: { ...clock, nowMs: () => nowMs } });
  const shown = async (effect: Omit<FaultEffect, "kind">): Promise<unknown> => {
    simulator.addFaults({ effect: { kind: "StaleList", ...effect } });
    return (await read("/api/blocklist_ips")).json;
  };
  simulator.waf(apiKey).add("blocklist", ["192.0.2.9"]);
  await write("POST", "/api/blocklist_ip", { ip });
  nowMs += 3_000;
  await write("POST", "/api/blocklist_ip", { ip: "192.0.2.2" });
  await write("DELETE", "/api/blocklist_ip", { ip });
  expect(await shown({})).toStrictEqual(["192.0.2.9", "192.0.2.2", ip]);
  expect(await shown({ writes: 2 })).toStrictEqual(["192.0.2.9", ip]);
  expect(await shown({ delayMs: 2_000 })).toStrictEqual(["192.0.2.9", ip]);
  expect(await shown({ delayMs: 60_000 })).toStrictEqual(["192.0.2.9"]);
  expect((await read("/api/blocklist_ips")).json).toStrictEqual(["192.0.2.9", "192.0.2.2"]);
});

test("a page of logs is sent again, with half of its rows, or with a malformed entry", async () => {
  const { read, simulator } = await startSimulated({ clock, logRowsPerDay: 20, logLateMsMax: 0 });
  const day = { start_date: "2026-06-10", end_date: "2026-06-10", per_page: "8" };
  const pages = async (kind: FaultKind): Promise<LogEntry[][]> => {
    simulator.addFaults({ match: { path: "/api/logs/scroll" }, effect: { kind } });
    const first = (await read("/api/logs/query", day)).json as LogPage;
    const second = await read("/api/logs/scroll", { scroll_id: first._scroll_id ?? "" });
    return [first, second.json as LogPage].map(({ hits }) => [...hits.hits]);
  };
  const [first, repeated] = await pages("RepeatedPage");
  expect(repeated).toStrictEqual(first);
  expect((await pages("MissingRows"))[1]).toHaveLength(4);
  const [, broken] = await pages("BrokenEntry");
  expect(broken?.[0]).not.toHaveProperty("client_ip");
  expect(broken).toHaveLength(8);
});

test("a late write takes effect after the client has given up", async () => {
  const arrived = Promise.withResolvers<void>();
  const slept = Promise.withResolvers<number>();
  const late = { nowMs: () => now, sleep: async (delayMs: number) => slept.resolve(delayMs) };
  const caller = await startSimulated({ clock: late, onRequest: () => arrived.resolve() });
  const giveUp = new AbortController();
  caller.simulator.addFaults({ effect: { kind: "Late", delayMs: 1_500 } });
  const form = { api_key: apiKey, ip };
  const sent = caller.call("POST", "/api/blocklist_ip", { form, signal: giveUp.signal });
  await arrived.promise;
  expect(caller.simulator.waf(apiKey).blocklist).toStrictEqual([]);
  giveUp.abort();
  await expect(sent).rejects.toMatchObject({ name: "AbortError" });
  expect(await slept.promise).toBe(1_500);
  await caller.read("/api/origins");
  await expectEffect(caller, true);
});

test("a huge body has the requested size, and ends when the client disconnects", async () => {
  const caller = await startSimulated();
  const reply = await writeThrough(caller, { kind: "HugeBody", bytes: 3_000_000 });
  expect(reply.text.length).toBeGreaterThanOrEqual(3_000_000);
  caller.simulator.addFaults({ effect: { kind: "HugeBody", bytes: 1_000_000_000 } });
  const giveUp = new AbortController();
  const reading = fetch(`${caller.simulator.baseUrl}/api/blocklist_ips?api_key=${encodeURIComponent(apiKey)}`, {
    signal: giveUp.signal,
  });
  expect((await reading).status).toBe(200);
  giveUp.abort();
  await expectEffect(caller, true);
});

test("a slow response is the true one, after the delay", async () => {
  const slept: number[] = [];
  const watched = { nowMs: () => now, sleep: async (delayMs: number) => void slept.push(delayMs) };
  const caller = await startSimulated({ clock: watched, latencyMs: 5 });
  const reply = await writeThrough(caller, { kind: "Slow", delayMs: 250 });
  expect([reply.status, slept]).toStrictEqual([200, [5, 250]]);
});

test("every kind works at every endpoint, and none breaks the simulator", async () => {
  const quiet: ReadonlySet<FaultKind> = new Set(["Timeout", "Reset", "TruncatedBody", "Late"]);
  const { read, call, write, simulator } = await startSimulated();
  for (const kind of faultKinds.filter((one) => !quiet.has(one))) {
    simulator.addFaults({ times: 5, effect: { kind, bytes: 1000, body: "x" } });
    await read("/api/origins");
    await read("/api/logs/query", { start_date: "2026-06-01", end_date: "2026-06-01" });
    await write("DELETE", "/api/allowlist_ip", { ip });
    await call("POST", `/clear/${encodeURIComponent(apiKey)}`);
    await call("GET", "/api/blocklist_ips?api_key=wrong");
    expect((await read("/api/origins")).json).toMatchObject({ success: true });
  }
  expect(simulator.internalErrors).toStrictEqual([]);
});

test("kinds that need the true response can't occur before the effect", () => {
  expect(isAfterEffect({ kind: "CutJson", afterEffect: false })).toBe(true);
  expect(isAfterEffect({ kind: "HugeBody", afterEffect: false })).toBe(false);
  expect(isAfterEffect({ kind: "Timeout" })).toBe(false);
});

describe("the requests that a fault applies to", () => {
  const effect: FaultEffect = { kind: "SuccessFalse", status: 503 };
  const statuses = async (caller: Caller) => {
    const replies = [
      await caller.read("/api/blocklist_ips"),
      await caller.write("POST", "/api/blocklist_ip", { ip: "10.1.2.3/8" }),
      await caller.write("POST", "/api/blocklist_ip/", { ip }),
      await caller.call("GET", `/clear/${encodeURIComponent(apiKey)}`),
      await caller.read("/api/blocklist_ips"),
    ];
    return replies.map(({ status }) => status);
  };

  test.each([
    [{}, [503, 200, 200, 200, 200]],
    [{ times: 2 }, [503, 503, 200, 200, 200]],
    [{ times: 9, match: { method: "get" } }, [503, 200, 200, 503, 503]],
    [{ times: 9, match: { path: "/api/blocklist_ip" } }, [200, 503, 503, 200, 200]],
    [{ times: 9, match: { path: "/clear" } }, [200, 200, 200, 503, 200]],
    [{ times: 9, match: { ip: "10.0.0.0/8" } }, [200, 503, 200, 200, 200]],
    [{ times: 9, match: { domain: "other.example" } }, [200, 200, 200, 200, 200]],
    [{ match: { nth: 3 } }, [200, 200, 503, 200, 200]],
    [{ times: 2, match: { method: "GET", nth: 2 } }, [200, 200, 200, 503, 503]],
  ])("%j", async (rule, expected) => {
    const caller = await startSimulated();
    caller.simulator.addFaults({ ...rule, effect });
    expect(await statuses(caller)).toStrictEqual(expected);
  });

  test("can be a share of them, the same ones in each run", async () => {
    const { read, simulator } = await startSimulated();
    const run = async (): Promise<number[]> => {
      simulator.faults.clear();
      simulator.addFaults({ match: { path: "/api/origins", share: 1 / 3 }, times: 1_000, effect });
      const replies = [];
      for (let call = 0; call < 150; call += 1) replies.push((await read("/api/origins")).status);
      return replies;
    };
    const first = await run();
    expect(first.filter((status) => status === 503).length).toBeGreaterThan(35);
    expect(first.filter((status) => status === 503).length).toBeLessThan(65);
    expect(await run()).toStrictEqual(first);
  });

  test("rules apply in their order, each to a separate request", async () => {
    const caller = await startSimulated();
    caller.simulator.addFaults({ effect }, { effect: { kind: "RateLimited" } }, { match: { nth: 2 }, effect });
    expect(await statuses(caller)).toStrictEqual([503, 429, 503, 200, 200]);
  });

  test("more than a thousand pending faults are rejected", async () => {
    const { simulator } = await startSimulated();
    expect(() => simulator.addFaults(...Array.from({ length: 1001 }, () => ({ effect })))).toThrow(/faults/u);
  });
});

test("a client that disconnects does not undo its request", async () => {
  const hold = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  const slow = {
    nowMs: () => now,
    sleep: async () => {
      arrived.resolve();
      await hold.promise;
    },
  };
  const { call, control, simulator } = await startSimulated({ clock: slow, latencyMs: 1000 });
  const giveUp = new AbortController();
  const lost = call("POST", "/api/blocklist_ip", { form: { api_key: apiKey, ip }, signal: giveUp.signal });
  await arrived.promise;
  giveUp.abort();
  await expect(lost).rejects.toMatchObject({ name: "AbortError" });
  hold.resolve();
  await control("GET", "/state");
  expect(simulator.waf(apiKey).blocklist).toStrictEqual([ip]);
});
