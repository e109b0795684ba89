// Every call to a WAF releases the worker of its run, however often the WAF does not respond.
import { expect, test } from "@jest/globals";
import { parkAfterMs, parkingLogPorts, parkingPorts } from "../../src/app/parked-waits.ts";
import { ApiKey } from "../../src/model/api-key.ts";
import type { ForwardLogsPorts } from "../../src/reconcile/logs/forward-ports.ts";
import type { ReconcilePorts } from "../../src/reconcile/ports.ts";
import { anInstance } from "../support/builders/declare.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

const key = new ApiKey("a-key-that-is-never-used");

type Calls = Readonly<Record<string, (...parameters: readonly unknown[]) => Promise<unknown>>>;

const callsOfWaf = [
  "readOrigins",
  "readList",
  "addEntry",
  "removeEntry",
  "addOrigin",
  "removeOrigin",
  "clearCache",
] as const;

test.each([...callsOfWaf, "queryLogs", "scrollLogs"])("%s parks after 500 ms, and until it ends", async (call) => {
  const clock = createVirtualClock();
  const { promise, resolve } = Promise.withResolvers<string>();
  const given: unknown[] = [];
  const hanging: unknown = {
    [call]: async (...parameters: readonly unknown[]) => {
      given.push(...parameters);
      return await promise;
    },
  };
  let parked = 0;
  const park = () => {
    parked += 1;
    return () => void (parked -= 1);
  };
  const open: unknown = { clock, openWaf: () => hanging, openLogs: () => hanging };
  const isOfWaf = callsOfWaf.some((one) => one === call);
  const opened: unknown = isOfWaf
    ? parkingPorts(open as ReconcilePorts, park).openWaf(anInstance(), key)
    : parkingLogPorts(open as ForwardLogsPorts, park).openLogs(anInstance(), key);
  const ending = (opened as Calls)[call]?.("first", "second");
  await clock.advance(parkAfterMs - 1);
  expect([parked, given[0]]).toStrictEqual([0, "first"]);
  await clock.advance(1);
  expect(parked).toBe(1);
  resolve("the response");
  expect(await ending).toBe("the response");
  expect(parked).toBe(0);
});
