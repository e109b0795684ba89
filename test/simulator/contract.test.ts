import { describe, expect, test } from "@jest/globals";
import { apiKey, domain, startSimulated } from "./call-simulator.ts";

const wrongKey = { success: false, message: "Bad API Key Value" };
const missingKey = { success: false, message: "Missing parameter api_key" };
const encodedKey = encodeURIComponent(apiKey);
const failure = { success: false, message: expect.any(String) };
const refusal = { success: false, domain, message: expect.any(String) };
const acceptance = { success: true, domain, message: expect.any(String) };

describe("keys", () => {
  const endpoints = [
    ["GET", "/api/origins"],
    ["POST", "/api/origins"],
    ["DELETE", "/api/origins"],
    ["GET", "/api/blocklist_ips"],
    ["POST", "/api/blocklist_ip"],
    ["DELETE", "/api/blocklist_ip"],
    ["GET", "/api/allowlist_ips"],
    ["POST", "/api/allowlist_ip"],
    ["DELETE", "/api/allowlist_ip"],
    ["GET", "/api/logs/query"],
    ["GET", "/api/logs/scroll"],
  ] as const;

  test.each(endpoints)(
    "%s %s is a 403 without the domain if the key is missing or wrong, and says which",
    async (method, path) => {
      const { call } = await startSimulated();
      for (const target of [path, `${path}/`]) {
        const reply = await call(method, target, method === "GET" ? {} : { form: { ip: "192.0.2.1" } });
        expect([reply.status, reply.json]).toStrictEqual([403, missingKey]);
      }
      const options = method === "GET" ? {} : { form: { api_key: "wrong" } };
      const reply = await call(method, method === "GET" ? `${path}?api_key=wrong` : path, options);
      expect([reply.status, reply.json]).toStrictEqual([403, wrongKey]);
    },
  );

  test("a key in the wrong place does not count", async () => {
    const { call, simulator } = await startSimulated();
    const inQuery = await call("POST", `/api/blocklist_ip?api_key=${encodedKey}&ip=192.0.2.1`);
    expect([inQuery.status, inQuery.json]).toStrictEqual([403, missingKey]);
    const asJson = await call("POST", "/api/blocklist_ip", {
      form: JSON.stringify({ api_key: apiKey, ip: "192.0.2.1" }),
      contentType: "application/json",
    });
    expect([asJson.status, asJson.json]).toStrictEqual([403, missingKey]);
    const inBody = await call("POST", "/clear", { form: { api_key: apiKey } });
    expect([inBody.status, inBody.json]).toStrictEqual([403, missingKey]);
    expect(simulator.waf(apiKey).counters.changes).toBe(0);
    expect(simulator.unauthorized).toBe(3);
  });

  test("each key gives access only to its own WAF", async () => {
    const keys = [
      { key: "staging-key", domain: "staging.example" },
      { key: "production-key", domain: "www.example" },
    ];
    const { call, simulator } = await startSimulated({ keys });
    const added = await call("POST", "/api/blocklist_ip", { form: { api_key: "staging-key", ip: "192.0.2.1" } });
    expect(added.json).toMatchObject({ success: true, domain: "staging.example" });
    expect(simulator.waf("staging-key").blocklist).toStrictEqual(["192.0.2.1"]);
    expect(simulator.waf("production-key").blocklist).toStrictEqual([]);
  });
});

describe.each(["blocklist", "allowlist"] as const)("the %s", (list) => {
  const other = list === "blocklist" ? "allowlist" : "blocklist";

  test("is read as a bare array, written entry by entry, and independent of the other list", async () => {
    const { read, write, simulator } = await startSimulated();
    expect((await read(`/api/${list}_ips`)).text).toBe("[]");
    for (const ip of ["192.0.2.1", "2001:db8::/32"]) {
      const added = await write("POST", `/api/${list}_ip`, { ip });
      expect([added.status, added.json]).toStrictEqual([200, acceptance]);
    }
    expect((await read(`/api/${list}_ips/`)).json).toStrictEqual(["192.0.2.1", "2001:db8::/32"]);
    expect((await read(`/api/${other}_ips`)).json).toStrictEqual([]);
    const removed = await write("DELETE", `/api/${list}_ip/`, { ip: "192.0.2.1" });
    expect([removed.status, removed.json]).toStrictEqual([200, acceptance]);
    expect((await read(`/api/${list}_ips`)).json).toStrictEqual(["2001:db8::/32"]);
    expect(simulator.waf(apiKey).counters.changes).toBe(3);
  });

  test("rejects writes that change nothing, with the domain in the response", async () => {
    const { write, simulator } = await startSimulated();
    simulator.waf(apiKey).add(list, ["10.1.2.3/8"]);
    const refusals = [
      await write("POST", `/api/${list}_ip`, { ip: "10.1.2.3/8" }),
      await write("POST", `/api/${list}_ip`, { ip: "10.0.0.0/8" }),
      await write("POST", `/api/${list}_ip`, { ip: "not an address" }),
      await write("DELETE", `/api/${list}_ip`, { ip: "192.0.2.9" }),
      await write("DELETE", `/api/${list}_ip`, { ip: "300.0.0.1" }),
      await write("DELETE", `/api/${list}_ip`, { ip: "10.0.0.0/8" }),
    ];
    for (const reply of refusals) expect([reply.status, reply.json]).toStrictEqual([400, refusal]);
    expect(simulator.waf(apiKey)[list]).toStrictEqual(["10.1.2.3/8"]);
    expect(simulator.waf(apiKey).counters).toMatchObject({ changes: 0, refusals: 6, deletionsInOtherSpelling: 1 });
  });

  test("accepts parameters only by their exact names", async () => {
    const { write, simulator } = await startSimulated();
    for (const form of [{}, { IP: "192.0.2.1" }, { ips: "192.0.2.1" }, { ip: "" }]) {
      const reply = await write("POST", `/api/${list}_ip`, form);
      expect([reply.status, reply.json]).toStrictEqual([400, { success: false, message: "Missing parameter ip" }]);
    }
    const unknown = await write("POST", `/api/${list}_ip`, { ip: "192.0.2.1", comment: "x" });
    expect([unknown.status, unknown.json]).toStrictEqual([400, { success: false, message: "Unknown parameter" }]);
    expect(simulator.waf(apiKey)[list]).toStrictEqual([]);
  });

  test("accepts removals in the spelling that it shows, whatever that is", async () => {
    const { read, write, simulator } = await startSimulated({ spelling: "Expanded" });
    await write("POST", `/api/${list}_ip`, { ip: "2001:db8::1" });
    const [shown] = (await read(`/api/${list}_ips`)).json as string[];
    expect(shown).toBe("2001:0db8:0000:0000:0000:0000:0000:0001");
    expect((await write("DELETE", `/api/${list}_ip`, { ip: "2001:db8::1" })).status).toBe(400);
    expect((await write("DELETE", `/api/${list}_ip`, { ip: shown ?? "" })).status).toBe(200);
    expect(simulator.waf(apiKey)[list]).toStrictEqual([]);
  });
});

describe("methods and paths", () => {
  test.each([
    ["POST", "/api/blocklist_ips", 405],
    ["DELETE", "/api/allowlist_ips", 405],
    ["GET", "/api/blocklist_ip", 405],
    ["PUT", "/api/allowlist_ip", 405],
    ["PATCH", "/api/origins", 405],
    ["POST", "/api/logs/query", 405],
    ["POST", "/api/logs/scroll", 405],
    ["DELETE", `/clear/${encodedKey}`, 405],
    ["GET", "/api/blocklists_ip", 404],
    ["GET", "/API/origins", 404],
    ["GET", "/api/origins//", 404],
    ["POST", `/clear/${encodedKey}/index.html`, 404],
    ["GET", "/", 404],
  ])("%s %s is rejected", async (method, path, status) => {
    const { call, simulator } = await startSimulated();
    const reply = await call(method, path, method === "GET" ? {} : { form: { api_key: apiKey, ip: "192.0.2.1" } });
    expect([reply.status, reply.json]).toStrictEqual([status, failure]);
    expect(simulator.unknownCalls).toBe(1);
    expect(JSON.stringify(simulator.requests())).not.toContain(encodedKey);
  });
});

describe("the cache", () => {
  test.each([
    ["POST", `/clear/${encodedKey}`],
    ["GET", `/clear/${encodedKey}`],
    ["POST", `/clear/${encodedKey}/`],
  ])("is cleared by %s with the key in the path", async (method, path) => {
    const { call, simulator } = await startSimulated();
    const reply = await call(method, path);
    expect([reply.status, reply.json]).toStrictEqual([200, acceptance]);
    expect(simulator.waf(apiKey).counters.cacheClears).toBe(1);
    expect(simulator.waf(apiKey).requestCount(`${method} /clear`)).toBe(1);
  });

  test.each([
    ["/clear/wrong", wrongKey],
    ["/clear/%zz", wrongKey],
    ["/clear/", missingKey],
    ["/clear", missingKey],
  ])("%s is a 403", async (path, body) => {
    const { call } = await startSimulated();
    const reply = await call("POST", path);
    expect([reply.status, reply.json]).toStrictEqual([403, body]);
  });
});

describe("origins", () => {
  test("a read shows only the primary, whatever was added", async () => {
    const { read, write, simulator } = await startSimulated();
    const answers = [
      await write("POST", "/api/origins", { origin: "Origin-2.shop.example", origin_type: "alternate" }),
      await write("POST", "/api/origins/", { origin: "192.0.2.7", origin_type: "backup" }),
    ];
    for (const reply of answers) expect([reply.status, reply.json]).toStrictEqual([200, { success: true, domain }]);
    const shown = { success: true, domain, origin: "origin-1.shop.example" };
    expect((await read("/api/origins")).json).toStrictEqual(shown);
    expect((await read("/api/origins/")).json).toStrictEqual(shown);
    expect(simulator.waf(apiKey).origins).toStrictEqual([
      { host: "origin-2.shop.example", type: "alternate" },
      { host: "192.0.2.7", type: "backup" },
    ]);
    const removed = await write("DELETE", "/api/origins", { origin: "192.0.2.7" });
    expect([removed.status, removed.json]).toStrictEqual([200, { success: true, domain }]);
    expect(simulator.waf(apiKey).origins).toHaveLength(1);
  });

  test.each([
    ["POST", { origin: "https://a.example", origin_type: "backup" }],
    ["POST", { origin: "a.example:80", origin_type: "backup" }],
    ["POST", { origin: "300.1.1.1", origin_type: "backup" }],
    ["POST", { origin: "a.example", origin_type: "Backup" }],
    ["POST", { origin: "origin-1.shop.example", origin_type: "alternate" }],
    ["DELETE", { origin: "origin-1.shop.example" }],
    ["DELETE", { origin: "unknown.example" }],
  ] as const)("%s %j is refused", async (method, form) => {
    const { write } = await startSimulated();
    const reply = await write(method, "/api/origins", form);
    expect([reply.status, reply.json]).toStrictEqual([400, refusal]);
  });

  test("another host becomes primary, and the former primary can then be removed", async () => {
    const { read, write, control, simulator } = await startSimulated();
    await write("POST", "/api/origins", { origin: "b.example", origin_type: "backup" });
    await control("POST", "/waf", { primaryOrigin: "b.example" });
    expect((await read("/api/origins")).json).toMatchObject({ origin: "b.example" });
    expect((await write("DELETE", "/api/origins", { origin: "origin-1.shop.example" })).status).toBe(200);
    expect(simulator.waf(apiKey).origins).toStrictEqual([]);
  });
});
