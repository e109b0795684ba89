import { Readable } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { ApiKey } from "../../src/model/api-key.ts";
import { type HeldLane, LaneRegistry, bulkWaitMsMax, type Urgency } from "../../src/waf/lane.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import { clientFor, startScriptedWaf } from "../support/fakes/scripted-waf.ts";
import { json } from "../support/fakes/scripted-server.ts";
import { atTestEnd } from "../support/builders/at-test-end.ts";

const baseUrl = "http://127.0.0.1:1";
const key = new ApiKey("0123456789abcdef");

function createLane({ minRequestIntervalMs = 0 } = {}) {
  const clock = createVirtualClock();
  const lanes = new LaneRegistry({ clock });
  atTestEnd(async () => await lanes.close());
  return { clock, lanes, lane: lanes.acquire({ baseUrl, key, minRequestIntervalMs }) };
}

/** Runs turns that end when the test says so, and records their order. */
function createRecorder(lane: HeldLane) {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  return {
    begun,
    turn: async (name: string, urgency: Urgency = "Normal", signal?: AbortSignal) => {
      const result = await lane.run({ urgency, signal }, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
        return name;
      });
      if (typeof result === "string") return result;
      return result.fault.message.includes("lane") ? "Closed" : result.fault.code;
    },
    endOne: () => ends.shift()?.(),
    /** Ends each of these turns once it runs. */
    endAll: async <T>(turns: readonly Promise<T>[]): Promise<T[]> => {
      for (const _ of turns) {
        await new Promise((resolve) => setImmediate(resolve));
        ends.shift()?.();
      }
      return await Promise.all(turns);
    },
  };
}

describe("a lane", () => {
  test("runs one turn at a time, in order of arrival", async () => {
    const { clock, lane } = createLane();
    const { begun, turn, endOne, endAll } = createRecorder(lane);
    const turns = ["a", "b", "c"].map(async (name) => await turn(name));
    expect(begun).toStrictEqual(["a"]);
    endOne();
    await clock.settle();
    expect(begun).toStrictEqual(["a", "b"]);
    expect(await endAll(turns)).toStrictEqual(["a", "b", "c"]);
  });

  test("runs normal turns before bulk ones", async () => {
    const { clock, lane } = createLane();
    const { begun, turn, endOne } = createRecorder(lane);
    const order: readonly (readonly [string, Urgency])[] = [
      ["running", "Normal"],
      ["bulk 1", "Bulk"],
      ["normal 1", "Normal"],
      ["bulk 2", "Bulk"],
      ["normal 2", "Normal"],
    ];
    const turns = order.map(async ([name, urgency]) => await turn(name, urgency));
    for (let index = 0; index < order.length; index += 1) {
      await clock.settle();
      endOne();
    }
    await Promise.all(turns);
    expect(begun).toStrictEqual(["running", "normal 1", "normal 2", "bulk 1", "bulk 2"]);
  });

  test("lets a caller with sequential calls continue before a bulk turn", async () => {
    const { clock, lane } = createLane();
    const order: string[] = [];
    const write = async (name: string) => await lane.run({ urgency: "Normal" }, async () => order.push(name));
    const loop = (async () => {
      for (const name of ["write 1", "write 2", "write 3"]) await write(name);
    })();
    const bulk = lane.run({ urgency: "Bulk" }, async () => order.push("bulk"));
    await Promise.all([loop, bulk]);
    await clock.settle();
    expect(order).toStrictEqual(["write 1", "write 2", "write 3", "bulk"]);
  });

  test("runs a bulk turn once it has waited very long", async () => {
    const { clock, lane } = createLane();
    const { begun, turn, endOne } = createRecorder(lane);
    const turns = [turn("running"), turn("bulk", "Bulk")];
    await clock.advance(bulkWaitMsMax);
    turns.push(turn("normal"));
    for (let index = 0; index < turns.length; index += 1) {
      endOne();
      await clock.settle();
    }
    await Promise.all(turns);
    expect(begun).toStrictEqual(["running", "bulk", "normal"]);
  });

  test("cancels a waiting turn whose signal aborts, and no other", async () => {
    const { clock, lane } = createLane();
    const { begun, turn, endOne } = createRecorder(lane);
    const controller = new AbortController();
    const turns = [turn("a"), turn("b", "Normal", controller.signal), turn("c")];
    controller.abort();
    expect(await turns[1]).toBe("Aborted");
    endOne();
    await clock.settle();
    endOne();
    await Promise.all(turns);
    expect(begun).toStrictEqual(["a", "c"]);
    expect(await turn("d", "Normal", controller.signal)).toBe("Aborted");
  });

  test("does not interrupt a running turn when its signal aborts", async () => {
    const { clock, lane } = createLane();
    const { turn, endOne } = createRecorder(lane);
    const controller = new AbortController();
    const running = turn("a", "Normal", controller.signal);
    controller.abort();
    await clock.settle();
    endOne();
    expect(await running).toBe("a");
  });

  test("keeps the minimum time between two starts", async () => {
    const { clock, lane } = createLane({ minRequestIntervalMs: 500 });
    const starts: number[] = [];
    const turns = Array.from(
      { length: 4 },
      async () => await lane.run({ urgency: "Normal" }, async () => starts.push(clock.monotonicMs())),
    );
    await clock.advance(499);
    expect(starts).toStrictEqual([0]);
    await clock.advance(5_000);
    await Promise.all(turns);
    expect(starts).toStrictEqual([0, 500, 1000, 1500]);
  });

  test("keeps the longest interval of its holders, until that holder releases the lane", async () => {
    const { clock, lanes, lane } = createLane({ minRequestIntervalMs: 100 });
    const slow = lanes.acquire({ baseUrl, key, minRequestIntervalMs: 1_000 });
    const starts: number[] = [];
    const start = async () => await lane.run({ urgency: "Normal" }, async () => starts.push(clock.monotonicMs()));
    const turns = [start(), start()];
    await clock.advance(1_000);
    await slow.release();
    turns.push(start());
    await clock.advance(1_000);
    await Promise.all(turns);
    expect(starts).toStrictEqual([0, 1_000, 1_100]);
  });

  test("starts a waiting turn as soon as its holder sets a shorter interval", async () => {
    const { clock, lane } = createLane({ minRequestIntervalMs: 60_000 });
    const { begun, turn, endOne } = createRecorder(lane);
    const turns = ["a", "b"].map(async (name) => await turn(name));
    endOne();
    await clock.advance(1_000);
    expect(begun).toStrictEqual(["a"]);
    lane.pace(5_000);
    await clock.advance(3_900);
    expect(begun).toStrictEqual(["a"]);
    lane.pace(0);
    await clock.settle();
    expect(begun).toStrictEqual(["a", "b"]);
    endOne();
    await Promise.all(turns);
  });

  test("is paused as a whole until the given time, and never for less than an earlier pause", async () => {
    const { clock, lanes, lane } = createLane();
    const other = lanes.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
    lane.pauseUntil(clock.monotonicMs() + 3_000);
    lane.pauseUntil(clock.monotonicMs() + 1_000);
    const { begun, turn, endOne } = createRecorder(other);
    const running = turn("a");
    await clock.advance(2_999);
    expect(begun).toStrictEqual([]);
    await clock.advance(1);
    expect(begun).toStrictEqual(["a"]);
    endOne();
    await running;
  });

  test("passes a failure on to its caller and continues with the next turn", async () => {
    const { lane } = createLane();
    const failing = lane.run({ urgency: "Normal" }, () => {
      throw Object.assign(new Error("broken"), { code: "Broken" });
    });
    const next = lane.run({ urgency: "Normal" }, async () => "next");
    await expect(failing).rejects.toMatchObject({ code: "Broken" });
    expect(await next).toBe("next");
  });
});

describe("the lane registry", () => {
  test("has one lane for each key, regardless of the spelling of the base URL", async () => {
    const { lanes } = createLane();
    const same = [
      "http://127.0.0.1:1/",
      "HTTP://127.0.0.1:1",
      "http://127.0.0.1:0001",
      "http://localhost:1",
      "http://localhost.:1",
      "http://[::ffff:127.0.0.1]:1/v2",
      "https://waf.example",
      "https://WAF.example.:443",
    ];
    for (const spelling of same)
      lanes.acquire({ baseUrl: spelling, key: new ApiKey(key.reveal()), minRequestIntervalMs: 0 });
    expect(lanes.size).toBe(1);
    lanes.acquire({ baseUrl, key: new ApiKey("another-key"), minRequestIntervalMs: 0 });
    expect(lanes.size).toBe(2);
  });

  test("closes a lane when its last holder releases it, and gives holders that arrive meanwhile the same lane", async () => {
    const { clock, lanes, lane } = createLane();
    const { turn, endOne } = createRecorder(lane);
    const running = turn("running");
    const waiting = turn("waiting");
    const released = lane.release();
    expect(await waiting).toBe("Closed");
    expect(await turn("late")).toBe("Closed");
    const heir = lanes.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
    const order: string[] = [];
    const inherited = heir.run({ urgency: "Normal" }, async () => order.push("heir"));
    await clock.settle();
    expect(order).toStrictEqual([]);
    endOne();
    expect(await running).toBe("running");
    await Promise.all([released, inherited]);
    expect(lanes.size).toBe(1);
    await heir.release();
    expect(lanes.size).toBe(0);
  });

  test.each([
    { outcome: { state: "Held" }, gives: "done" },
    { outcome: { state: "Aborted" }, gives: { fault: { code: "Aborted" } } },
    {
      outcome: { state: "Busy", by: "wafsync run, process 7" },
      gives: {
        fault: { code: "Unavailable", message: expect.stringMatching(/: wafsync run, process 7\. Nothing was sent/) },
      },
    },
  ] as const)("runs a turn only once it holds the key of the machine: $outcome.state", async ({ outcome, gives }) => {
    const clock = createVirtualClock();
    const calls: string[] = [];
    const lock = { enter: async () => await Promise.resolve(outcome), leave: () => void calls.push("left") };
    const lanes = new LaneRegistry({ clock, locks: () => lock });
    atTestEnd(async () => await lanes.close());
    const lane = lanes.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
    const act = async (): Promise<string> => await Promise.resolve((calls.push("called"), "done"));
    const ended = await lane.run({ urgency: "Normal", signal: new AbortController().signal }, act);
    await clock.settle();
    expect({ ended, calls }).toMatchObject({ ended: gives, calls: gives === "done" ? ["called", "left"] : ["left"] });
  });

  test("rejects waiting and later turns when it closes, and waits for the running turn", async () => {
    const { clock, lanes, lane } = createLane();
    const { turn, endOne } = createRecorder(lane);
    const running = turn("running");
    const waiting = turn("waiting");
    let isClosed = false;
    const closed = lanes.close().then(() => (isClosed = true));
    expect(await waiting).toBe("Closed");
    await clock.settle();
    expect(isClosed).toBe(false);
    endOne();
    await closed;
    expect(await running).toBe("running");
    expect(await turn("late")).toBe("Closed");
    const late = lanes.acquire({ baseUrl, key, minRequestIntervalMs: 0 });
    expect(await createRecorder(late).turn("late")).toBe("Closed");
  });
});

describe("a lane over a real connection", () => {
  test("never overlaps calls with two spellings of its URL, and has one connection, which the last holder closes", async () => {
    const closed: string[] = [];
    let running = 0;
    let runningMax = 0;
    const open = (origin: string) => ({
      send: async () => ({ status: 200, headers: {}, body: Readable.from([]) }),
      close: () => void closed.push(origin),
    });
    const clock = createVirtualClock();
    const lanes = new LaneRegistry({ clock, open });
    const holders = ["http://127.0.0.1:1", "http://localhost:1", "http://localhost:1/v2"].map((url) =>
      lanes.acquire({ baseUrl: url, key, minRequestIntervalMs: 0 }),
    );
    const calls = holders
      .flatMap((lane) => [1, 2].map(() => lane))
      .map(
        async (lane) =>
          await lane.run({ urgency: "Normal" }, async (connection) => {
            running += 1;
            runningMax = Math.max(runningMax, running);
            await connection.send({ method: "GET", path: "/", headers: {} }, new AbortController().signal);
            await clock.sleep(10);
            running -= 1;
          }),
      );
    await clock.advance(1000);
    await Promise.all(calls);
    expect(runningMax).toBe(1);
    expect(closed).toStrictEqual(["http://127.0.0.1:1"]);
    for (const held of holders) await held.release();
    expect(closed).toStrictEqual(["http://127.0.0.1:1", "http://localhost:1"]);
    expect(lanes.size).toBe(0);
  });

  test("never overlaps the calls of 50 callers and two clients with one key, over one connection", async () => {
    const waf = await startScriptedWaf((request, response) => {
      const done = json(200, { success: true, domain: "shop.example", message: "done" });
      setImmediate(() => done(request, response));
    });
    atTestEnd(async () => await waf.stop());
    const { waf: one, lanes, lane } = clientFor(waf.baseUrl, { key });
    atTestEnd(async () => await lanes.close());
    const { waf: two } = clientFor(`${waf.baseUrl}/`, { key, lane });
    const calls = Array.from({ length: 50 }, async (_, index) =>
      index % 2 === 0
        ? await one.addEntry("blocklist", `192.0.2.${index}`)
        : await two.removeEntry("allowlist", `192.0.2.${index}`),
    );
    for (const result of await Promise.all(calls)) expect(result.ok).toBe(true);
    expect(waf.requests).toHaveLength(50);
    expect(waf.overlap).toBe(1);
    expect(waf.connections).toBe(1);
  });
});
