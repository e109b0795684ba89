import { expect, test } from "@jest/globals";
import { apiKey, startSimulated } from "./call-simulator.ts";

const manyCalls = 150;

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
  expect([waf.flights.max, waf.flights.overlaps, waf.allowlist]).toStrictEqual([2, 1, []]);
  expect(waf.requests.map(({ overlapping }) => overlapping)).toStrictEqual([false, true]);
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
  expect([waf.flights.overlaps, waf.blocklist.length]).toStrictEqual([0, manyCalls]);
});
