import { describe, expect, test } from "@jest/globals";
import { type FaultEffect, type FaultKind, faultKinds } from "../../src/simulator/fault-rule.ts";
import { apiKey, type Caller, startSimulated } from "./call-simulator.ts";

const ip = "192.0.2.1";

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
  expect(caller.simulator.waf(apiKey).flights.overlaps).toBe(0);
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

test("every kind works at every endpoint, and none breaks the simulator", async () => {
  const quiet: ReadonlySet<FaultKind> = new Set(["Timeout", "Reset", "TruncatedBody"]);
  const { read, call, write, simulator } = await startSimulated();
  for (const kind of faultKinds.filter((one) => !quiet.has(one))) {
    simulator.addFaults({ times: 5, effect: { kind, body: "x" } });
    await read("/api/origins");
    await read("/api/logs/query", { start_date: "2026-06-01", end_date: "2026-06-01" });
    await write("DELETE", "/api/allowlist_ip", { ip });
    await call("POST", `/clear/${encodeURIComponent(apiKey)}`);
    await call("GET", "/api/blocklist_ips?api_key=wrong");
    expect((await read("/api/origins")).json).toMatchObject({ success: true });
  }
  expect(simulator.internalErrors).toStrictEqual([]);
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
});
