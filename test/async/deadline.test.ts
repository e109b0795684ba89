import { expect, test } from "@jest/globals";
import { withDeadline } from "../../src/async/clock.ts";
import { VirtualTime } from "../support/fakes/virtual-time.ts";

test("an action that ends in time returns its value and leaves no timer", async () => {
  const time = new VirtualTime();
  const result = await withDeadline({ clock: time.clock(), timeoutMs: 5_000 }, async () => "done");
  expect(result).toStrictEqual({ inTime: true, value: "done" });
  expect(time.pendingTimers).toBe(0);
});

test("an action that ignores its signal is abandoned at the deadline", async () => {
  const time = new VirtualTime();
  let told: AbortSignal | undefined;
  const running = withDeadline({ clock: time.clock(), timeoutMs: 5_000 }, (signal) => {
    told = signal;
    return new Promise<string>(() => undefined);
  });
  await time.advance(4_999);
  expect(told?.aborted).toBe(false);
  await time.advance(1);
  expect(await running).toStrictEqual({ inTime: false });
  expect(told?.aborted).toBe(true);
});

test("the caller's abort ends the wait early, and a failure before the deadline is rethrown", async () => {
  const time = new VirtualTime();
  const stop = new AbortController();
  const clock = time.clock();
  const running = withDeadline({ clock, timeoutMs: 5_000, signal: stop.signal }, () => new Promise(() => undefined));
  stop.abort();
  expect(await running).toStrictEqual({ inTime: false });
  await expect(withDeadline({ clock, timeoutMs: 1 }, () => Promise.reject(new Error("broken")))).rejects.toThrow(
    "broken",
  );
});
