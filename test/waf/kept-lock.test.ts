import { afterEach, expect, test } from "@jest/globals";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ApiKey } from "../../src/model/api-key.ts";
import { LaneRegistry } from "../../src/waf/lane-registry.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A lane whose lock records its calls, and that another process wants when the test says so. */
function createLockedLane({ minRequestIntervalMs = 0 } = {}) {
  const events: string[] = [];
  const other = { isWaiting: false };
  const clock = createVirtualClock();
  const lock = {
    acquire: async () => {
      events.push("acquire");
      return {
        state: "Held" as const,
        isWanted: async () => other.isWaiting,
        release: async () => {
          await nextTurn();
          events.push("release");
        },
      };
    },
  };
  const lanes = new LaneRegistry({ clock, locks: () => lock });
  closers.push(async () => await lanes.close());
  const key = new ApiKey("0123456789abcdef");
  const lane = lanes.acquire({ baseUrl: "http://127.0.0.1:1", key, minRequestIntervalMs });
  const call = async (name: string, durationMs = 0): Promise<void> => {
    await lane.run({ urgency: "Normal" }, async () => {
      await nextTurn();
      await clock.advance(durationMs);
      events.push(name);
    });
  };
  return { events, other, clock, lanes, call };
}

async function idle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
}

test("The lock of a key is kept for consecutive calls, and released when none follows", async () => {
  const { events, call } = createLockedLane();
  await call("first");
  await call("second");
  expect(events).toStrictEqual(["acquire", "first", "second"]);
  await idle();
  expect(events).toStrictEqual(["acquire", "first", "second", "release"]);
  await call("third");
  expect(events.slice(4)).toStrictEqual(["acquire", "third"]);
});

test("The lock is released between two calls soon after another process wants it", async () => {
  const { events, other, call } = createLockedLane();
  await call("first");
  other.isWaiting = true;
  await call("second", 10);
  await call("third");
  await call("fourth");
  expect(events).toStrictEqual(["acquire", "first", "second", "third", "release", "acquire", "fourth"]);
});

test("The lock is not kept during the pause between two calls", async () => {
  const { events, clock, call } = createLockedLane({ minRequestIntervalMs: 1000 });
  await call("first");
  const second = call("second");
  await idle();
  expect(events).toStrictEqual(["acquire", "first", "release"]);
  await clock.advance(1000);
  await second;
  expect(events.slice(3, 5)).toStrictEqual(["acquire", "second"]);
});

test("The lock is released before a new turn takes it, however soon that turn comes", async () => {
  const { events, call } = createLockedLane();
  await call("first");
  await nextTurn();
  await call("second");
  expect(events).toStrictEqual(["acquire", "first", "release", "acquire", "second"]);
});

test("A lane that closes releases the lock", async () => {
  const { events, lanes, call } = createLockedLane();
  await call("first");
  await lanes.close();
  expect(events).toStrictEqual(["acquire", "first", "release"]);
});

test("A failed call keeps the lock no longer than a successful one", async () => {
  const { events, lanes } = createLockedLane();
  const lane = lanes.acquire({
    baseUrl: "http://127.0.0.1:1",
    key: new ApiKey("0123456789abcdef"),
    minRequestIntervalMs: 0,
  });
  const failing = lane.run({ urgency: "Normal" }, async () => await Promise.reject(new Error("failed")));
  await expect(failing).rejects.toThrow("failed");
  await idle();
  expect(events).toStrictEqual(["acquire", "release"]);
});
