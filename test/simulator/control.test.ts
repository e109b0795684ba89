import { type IncomingMessage, request } from "node:http";
import { once } from "node:events";
import { describe, expect, test } from "@jest/globals";
import { describeSimulator, startSimulator } from "../../src/simulator/start-simulator.ts";
import { apiKey, domain, startSimulated } from "./call-simulator.ts";

const ok = { ok: true };
const twoKeys = [
  { key: apiKey, domain },
  { key: "second-key", domain: "second.example" },
];

test("the state shows lists, origins, counters and settings, and no key anywhere", async () => {
  const { read, write, control } = await startSimulated();
  await write("POST", "/api/blocklist_ip", { ip: "192.0.2.1" });
  await write("POST", "/api/blocklist_ip", { ip: apiKey });
  await write("POST", "/api/origins", { origin: "b.example", origin_type: "backup" });
  await read("/api/allowlist_ips");
  const state = await control("GET", "/state");
  expect(state.json).toMatchObject({
    wafs: [
      {
        domain,
        primaryOrigin: "origin-1.shop.example",
        origins: [{ host: "b.example", type: "backup" }],
        blocklist: ["192.0.2.1"],
        blocklistSize: 1,
        allowlist: [],
        counters: {
          requests: 4,
          changes: 2,
          refusals: 1,
          byEndpoint: { "POST /api/blocklist_ip": 2, "POST /api/origins": 1, "GET /api/allowlist_ips": 1 },
        },
        maxInFlight: 1,
        overlaps: 0,
      },
    ],
    settings: { latencyMs: 0, spelling: "AsGiven", overlap: "Refuse" },
    faults: [],
    unauthorized: 0,
    internalErrors: [],
  });
  const requests = await control("GET", "/requests?limit=2");
  expect(requests.json).toMatchObject([
    { method: "POST", path: "/api/origins", domain, status: 200, parameters: { origin: "b.example" } },
    { method: "GET", path: "/api/allowlist_ips", domain, status: 200, parameters: {} },
  ]);
  const all = await control("GET", "/requests");
  for (const secret of [apiKey, encodeURIComponent(apiKey), new URLSearchParams({ a: apiKey }).toString().slice(2)]) {
    expect(state.text + all.text).not.toContain(secret);
  }
  expect((await control("GET", "/state?lists=false")).json).toMatchObject({ wafs: [{ blocklistSize: 1 }] });
  expect((await control("GET", "/state?lists=false")).text).not.toContain("192.0.2.1");
});

test("entries are edited without the API", async () => {
  const { read, control, simulator } = await startSimulated({ keys: twoKeys });
  const added = await control("POST", "/entries", { domain, entries: ["192.0.2.1", "10.1.2.3/8", "192.0.2.1/32"] });
  expect(added.json).toStrictEqual({
    ok: true,
    changed: 2,
    problems: [{ entry: "192.0.2.1/32", problem: "AlreadyListed" }],
  });
  await control("POST", "/entries", { domain: "second.example", list: "allowlist", entries: ["2001:db8::1"] });
  expect((await read("/api/blocklist_ips")).json).toStrictEqual(["192.0.2.1", "10.1.2.3/8"]);
  expect((await control("DELETE", "/entries", { domain, entries: ["10.0.0.0/8"] })).json).toMatchObject({
    changed: 1,
  });
  expect(simulator.waf(apiKey).blocklist).toStrictEqual(["192.0.2.1"]);
  expect(simulator.waf("second-key").allowlist).toStrictEqual(["2001:db8::1"]);
  expect(simulator.waf(apiKey).counters.changes).toBe(0);
});

test("faults are queued, listed and removed", async () => {
  const { read, control } = await startSimulated();
  const rule = { match: { method: "GET", nth: 2 }, times: 3, effect: { kind: "SuccessFalse", status: 503 } };
  expect((await control("POST", "/faults", [rule, { effect: { kind: "RateLimited" } }])).status).toBe(200);
  expect((await read("/api/origins")).status).toBe(429);
  expect((await read("/api/origins")).status).toBe(503);
  expect((await control("GET", "/state")).json).toMatchObject({ faults: [{ rule, seen: 2, left: 2 }] });
  expect((await control("DELETE", "/faults")).json).toStrictEqual(ok);
  expect((await read("/api/origins")).status).toBe(200);
});

test("settings, primary origin, domain and key change while it runs", async () => {
  const { read, call, control, simulator } = await startSimulated();
  simulator.waf(apiKey).add("blocklist", ["10.1.2.3/8"]);
  const changed = { spelling: "Masked", latencyMs: 3, overlap: "Record" };
  expect((await control("POST", "/settings", changed)).json).toStrictEqual(ok);
  expect((await read("/api/blocklist_ips")).json).toStrictEqual(["10.0.0.0/8"]);
  expect(simulator.settings).toStrictEqual(changed);
  await control("POST", "/waf", { newDomain: "moved.example", primaryOrigin: "b.example" });
  expect((await read("/api/origins")).json).toStrictEqual({
    success: true,
    domain: "moved.example",
    origin: "b.example",
  });
  const next = { domain: "moved.example", newDomain: "again.example", newKey: "rotated-key" };
  expect((await control("POST", "/waf", next)).json).toStrictEqual(ok);
  expect((await read("/api/origins")).status).toBe(403);
  expect((await call("GET", "/api/origins?api_key=rotated-key")).json).toMatchObject({ domain: "again.example" });

  expect((await control("POST", "/reset")).json).toStrictEqual(ok);
  expect(simulator.settings).toMatchObject({ latencyMs: 0, overlap: "Refuse", spelling: "AsGiven" });
  expect((await read("/api/origins")).json).toStrictEqual({ success: true, domain, origin: "origin-1.shop.example" });
  expect((await read("/api/blocklist_ips")).json).toStrictEqual([]);
  expect(simulator.waf(apiKey).counters.requests).toBe(2);
});

describe("invalid requests to the control port", () => {
  test.each([
    ["POST", "/faults", { effect: { kind: "Timeuot" } }, /effect\.kind: .*"Timeout"/u],
    ["POST", "/faults", { effect: { kind: "Timeout", after: true } }, /effect: Unrecognized key: "after"/u],
    ["POST", "/faults", { match: { path: "/api/blocklist_ip/" }, effect: { kind: "Reset" } }, /match\.path: /u],
    ["POST", "/entries", { domain: "unknown.example", entries: [] }, /domain must be one of shop\.example/u],
    ["POST", "/settings", { latencyMs: -1 }, /latencyMs/u],
    ["POST", "/settings", { spelling: "Odd" }, /spelling: .*"AsGiven"/u],
    ["POST", "/waf", { domain, newKey: "second-key" }, /new key/u],
    ["GET", "/requests?limit=0", undefined, /limit/u],
    ["POST", "/settings", [], /object/u],
  ] as const)("%s %s %j is a 400 that says what is wrong", async (method, target, body, message) => {
    const { control, simulator } = await startSimulated({ keys: twoKeys });
    const reply = await control(method, target, body);
    expect([reply.status, reply.json]).toStrictEqual([400, { ok: false, message: expect.stringMatching(message) }]);
    simulator.faults.clear();
  });

  test("an unknown command is a 404, invalid JSON is a 400, and / explains the port", async () => {
    const { control, simulator } = await startSimulated();
    expect((await control("POST", "/fault", {})).status).toBe(404);
    expect((await control("PUT", "/faults", {})).status).toBe(404);
    const help = await control("GET", "/");
    expect(help.text).toContain("POST   /faults");
    const broken = await fetch(`${simulator.controlUrl}/settings`, { method: "POST", body: "{" });
    expect(broken.status).toBe(400);
  });
});

describe("start and stop", () => {
  test("a port in use is an error with its code, and leaves nothing open", async () => {
    const { simulator } = await startSimulated();
    const controlPort = Number(new URL(simulator.controlUrl).port);
    await expect(startSimulator({ keys: [{ key: "a" }], controlPort })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("close ends requests that would never be answered", async () => {
    const arrived = Promise.withResolvers<void>();
    const simulator = await startSimulator({ keys: [{ key: apiKey }], onRequest: () => arrived.resolve() });
    simulator.addFaults({ effect: { kind: "Timeout" } });
    const lost = fetch(`${simulator.baseUrl}/api/origins?api_key=${encodeURIComponent(apiKey)}`).then(
      () => "answered",
      () => "lost",
    );
    await arrived.promise;
    await simulator.close();
    expect(await lost).toBe("lost");
  });

  test("its description has the addresses and the domains, and no key", async () => {
    const caller = await startSimulated({ keys: [{ key: apiKey }, { key: "second-key", domain: "b.example" }] });
    const text = describeSimulator(caller.simulator).join("\n");
    for (const part of [caller.simulator.baseUrl, caller.simulator.controlUrl, "waf-1.example.test", "b.example"]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain(apiKey);
    expect(text).not.toContain("second-key");
  });
});

describe("the control port", () => {
  test.each([
    ["another origin", { origin: "https://evil.example", "content-type": "text/plain" }],
    ["a host name of its own that resolves to this machine", { host: "rebound.evil.example:8081" }],
    ["a host name that only starts with an address", { host: "127.0.0.1.evil.example" }],
  ])("rejects a web page from %s", async (_, headers) => {
    const { simulator, control } = await startSimulated();
    await control("POST", "/entries", { domain, list: "blocklist", entries: ["192.0.2.1"] });
    expect(await statusOf(`${simulator.controlUrl}/reset`, "POST", headers)).toBe(403);
    expect(await statusOf(`${simulator.controlUrl}/state`, "GET", headers)).toBe(403);
    expect((await control("GET", "/state")).json).toMatchObject({ wafs: [{ blocklist: ["192.0.2.1"] }] });
  });
});

/** Sends headers that other clients do not let callers set. */
async function statusOf(url: string, method: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const sent = request(url, { method, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}
