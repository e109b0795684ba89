import { describe, expect, test } from "@jest/globals";
import { HistoryKeeper } from "../../src/app/history-keeper.ts";
import { unknownOwners } from "../../src/model/entry-owners.ts";
import type { HistoryEvent } from "../../src/model/history.ts";
import type { ObjectName } from "../../src/model/resource.ts";
import { instanceName } from "../support/builders/declare.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";

function anEvent(value: string, atMs: number): HistoryEvent {
  return { atMs, kind: "Added", target: "blocklist", values: [value], owners: unknownOwners, note: "" };
}

function aKeeper() {
  const clock = createVirtualClock();
  const batches: (readonly HistoryEvent[])[] = [];
  const taken: string[] = [];
  const problems: string[] = [];
  let problem: string | undefined;
  const append = async (_: unknown, events: readonly HistoryEvent[]): Promise<string | undefined> => {
    if (problem === undefined) batches.push(events);
    return problem;
  };
  const takeOver = async (instance: ObjectName, former: ObjectName): Promise<string | undefined> => {
    if (problem === undefined) taken.push(`${former.name} by ${instance.name} after ${batches.length}`);
    return problem;
  };
  const keeper = new HistoryKeeper({ append, takeOver }, clock, (text) => problems.push(text));
  return { clock, batches, taken, problems, keeper, fail: (text: string | undefined) => void (problem = text) };
}

describe("The history keeper", () => {
  test("stores the first event within a second, and a stream of events in one batch every ten seconds", async () => {
    const { clock, batches, keeper } = aKeeper();
    for (let place = 0; place < 300; place += 1) {
      keeper.note(instanceName, [anEvent(`198.18.${place >> 8}.${place & 255}`, clock.nowMs())]);
      await clock.advance(100);
    }
    await keeper.flush();
    // At 1, 11 and 21 seconds, and at the end.
    expect(batches).toHaveLength(4);
    expect(batches.flat().flatMap(({ values }) => values)).toHaveLength(300);
  });

  test("keeps unstored events for the next batch, and reports the reason", async () => {
    const { clock, batches, problems, keeper, fail } = aKeeper();
    fail("The disk is full.");
    keeper.note(instanceName, [anEvent("192.0.2.1", clock.nowMs())]);
    await clock.advance(1_000);
    expect([batches, problems]).toStrictEqual([[], ["The disk is full."]]);
    fail(undefined);
    keeper.note(instanceName, [anEvent("192.0.2.2", clock.nowMs())]);
    await clock.advance(10_000);
    expect(batches.flat().flatMap(({ values }) => values)).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
  });

  test("takes over a former history immediately, after its buffered events, and retries if this fails", async () => {
    const { clock, problems, taken, keeper, fail } = aKeeper();
    const former = { namespace: "old", name: "shop" };
    fail("The disk is full.");
    keeper.continues(instanceName, former);
    await keeper.flush();
    expect([taken, problems[0]]).toStrictEqual([[], "The disk is full."]);
    fail(undefined);
    keeper.note(former, [anEvent("192.0.2.1", clock.nowMs())]);
    await keeper.flush();
    await keeper.flush();
    expect(taken).toStrictEqual([`shop by ${instanceName.name} after 1`]);
  });

  test("accepts 200,000 events in one call, as with adoptions and approvals, and keeps the newest", async () => {
    const { batches, keeper } = aKeeper();
    keeper.note(
      instanceName,
      Array.from({ length: 200_000 }, (_, place) => anEvent(String(place), 0)),
    );
    await keeper.flush();
    const stored = batches.flat().flatMap(({ values }) => values);
    expect([stored.length, stored[0], stored.at(-1)]).toStrictEqual([20_000, "180000", "199999"]);
  });

  test("drops the oldest events while the store is unavailable", async () => {
    const { clock, batches, keeper, fail } = aKeeper();
    fail("The disk is full.");
    for (let place = 0; place < 25_000; place += 1) keeper.note(instanceName, [anEvent(String(place), place)]);
    await clock.advance(20_000);
    fail(undefined);
    await keeper.flush();
    const stored = batches.flat().flatMap(({ values }) => values);
    expect([stored.length, stored[0], stored.at(-1)]).toStrictEqual([20_000, "5000", "24999"]);
  });
});
