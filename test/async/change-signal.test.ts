import { expect, test } from "@jest/globals";
import { ChangeSignal } from "../../src/async/change-signal.ts";
import { settle } from "../support/fakes/virtual-time.ts";

test("a change between the read and the wait is not missed", async () => {
  const signal = new ChangeSignal();
  const seen = signal.version;
  signal.notify();
  expect(await signal.wait(seen)).toBe(seen + 1);
});

test("every waiter is woken once, and an abort ends a wait without a change", async () => {
  const signal = new ChangeSignal();
  const stop = new AbortController();
  const ended: string[] = [];
  const wait = async (name: string, abort?: AbortSignal): Promise<void> => {
    await signal.wait(signal.version, abort);
    ended.push(name);
  };
  const all = [wait("a"), wait("b"), wait("c", stop.signal)];
  stop.abort();
  await settle();
  expect(ended).toStrictEqual(["c"]);
  signal.notify();
  await Promise.all(all);
  expect(ended).toStrictEqual(["c", "a", "b"]);
});
