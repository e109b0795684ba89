import { expect, test } from "@jest/globals";
import { apiKey, domain, startSimulated } from "../support/processes/call-simulator.ts";

const manyCalls = 150;

test("sequential requests never overlap", async () => {
  const { read, write, simulator } = await startSimulated();
  for (let index = 0; index < manyCalls; index += 1) {
    await write("POST", "/api/blocklist_ip", { ip: `192.0.2.${index}` });
    await read("/api/blocklist_ips");
  }
  const waf = simulator.waf(apiKey);
  expect([waf.maxInFlight, waf.overlaps, waf.inFlight]).toStrictEqual([1, 0, 0]);
  expect(waf.counters.requests).toBe(2 * manyCalls);
  expect(waf.requestCount("POST /api/blocklist_ip")).toBe(manyCalls);
});

test("an overlapping request is rejected without effect, and counted", async () => {
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const onRequest = async ({ sequence }: { sequence: number }) => {
    if (sequence > 1) return;
    arrived.resolve();
    await release.promise;
  };
  const { write, simulator } = await startSimulated({ onRequest });
  const first = write("POST", "/api/blocklist_ip", { ip: "192.0.2.1" });
  await arrived.promise;
  const second = await write("POST", "/api/allowlist_ip", { ip: "192.0.2.2" });
  release.resolve();
  expect(second.status).toBe(500);
  expect(second.json).toBeUndefined();
  expect((await first).status).toBe(200);
  const waf = simulator.waf(apiKey);
  expect([waf.maxInFlight, waf.overlaps, waf.allowlist]).toStrictEqual([2, 1, []]);
  expect(waf.requests.map(({ overlapping }) => overlapping)).toStrictEqual([false, true]);
});

test("in the mode Record, an overlapping request takes effect and is counted", async () => {
  const { write, simulator } = await startSimulated({ overlap: "Record", latencyMs: 20 });
  const ips = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
  const replies = await Promise.all(ips.map((ip) => write("POST", "/api/blocklist_ip", { ip })));
  expect(replies.map(({ status }) => status)).toStrictEqual([200, 200, 200]);
  const waf = simulator.waf(apiKey);
  expect([waf.maxInFlight, waf.overlaps, waf.blocklist.length]).toStrictEqual([3, 2, 3]);
});

test("concurrent requests overlap even without latency", async () => {
  const { read, simulator } = await startSimulated({ overlap: "Record" });
  await Promise.all([read("/api/origins"), read("/api/origins")]);
  await Promise.all(Array.from({ length: 20 }, () => read("/api/blocklist_ips")));
  expect(simulator.waf(apiKey).overlaps).toBeGreaterThan(0);
});

test("requests with different keys do not overlap", async () => {
  const keys = [
    { key: apiKey, domain },
    { key: "other-key", domain: "other.example" },
  ];
  const { read, call, simulator } = await startSimulated({ keys, latencyMs: 20 });
  const replies = await Promise.all([read("/api/origins"), call("GET", "/api/origins?api_key=other-key")]);
  expect(replies.map(({ status }) => status)).toStrictEqual([200, 200]);
  expect(simulator.wafs().map(({ overlaps }) => overlaps)).toStrictEqual([0, 0]);
});

test("a request that the client gives up does not overlap the next one", async () => {
  let giveUp = new AbortController();
  const { call, read, simulator } = await startSimulated({
    onRequest: ({ fault }) => void (fault === "Timeout" && giveUp.abort()),
  });
  for (let index = 0; index < manyCalls; index += 1) {
    giveUp = new AbortController();
    simulator.addFaults({ effect: { kind: "Timeout", afterEffect: true } });
    const form = { api_key: apiKey, ip: `192.0.2.${index}` };
    await expect(call("POST", "/api/blocklist_ip", { form, signal: giveUp.signal })).rejects.toMatchObject({
      name: "AbortError",
    });
    expect((await read("/api/blocklist_ips")).status).toBe(200);
  }
  const waf = simulator.waf(apiKey);
  expect([waf.overlaps, waf.inFlight, waf.blocklist.length]).toStrictEqual([0, 0, manyCalls]);
});
