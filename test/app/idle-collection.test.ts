import { expect, test } from "@jest/globals";
import { IdleCollection } from "../../src/app/idle-collection.ts";
import { VirtualTime } from "../support/fakes/virtual-time.ts";

function world() {
  const time = new VirtualTime();
  const state = { isIdle: true, collected: 0 };
  const collection = new IdleCollection({
    clock: time.clock(),
    isIdle: () => state.isIdle,
    collect: () => (state.collected += 1),
  });
  return { time, state, collection };
}

test("garbage is collected once after the start, and then only after many writes", async () => {
  const { time, state, collection } = world();
  collection.ended(0);
  await time.advance(4_999);
  expect(state.collected).toBe(0);
  await time.advance(1);
  expect(state.collected).toBe(1);
  for (const writes of [0, 300, 199]) collection.ended(writes);
  await time.advance(60_000);
  expect(state.collected).toBe(1);
  collection.ended(1);
  collection.ended(1_000);
  await time.advance(60_000);
  expect(state.collected).toBe(2);
});

test("garbage is not collected while work is in progress, but afterwards", async () => {
  const { time, state, collection } = world();
  collection.ended(1_000);
  state.isIdle = false;
  await time.advance(60_000);
  expect(state.collected).toBe(0);
  state.isIdle = true;
  collection.ended(0);
  await time.advance(5_000);
  expect(state.collected).toBe(1);
});

test("garbage is not collected after the process has stopped", async () => {
  const { time, state, collection } = world();
  collection.ended(1_000);
  collection.stop();
  await time.advance(60_000);
  expect(state.collected).toBe(0);
});
