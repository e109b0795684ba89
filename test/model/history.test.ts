import { describe, expect, test } from "@jest/globals";
import type { HistoryEvent } from "../../src/model/history.ts";
import { joinEvents, keepNewest, valuesOfEventMax } from "../../src/model/history.ts";
import { unknownOwners, writeOwners } from "../../src/model/entry-owners.ts";
import { decodeEvent, decodeEvents, encodeEvent, timeOfEvent } from "../../src/records/history-records.ts";
import { addresses } from "../support/builders/declare.ts";

const nowMs = Date.UTC(2026, 10, 22, 9, 30);
const limits = { eventsMax: 100, ageMsMax: 3_600_000, bytesMax: 10_000 };

function anEvent(overrides: Partial<HistoryEvent> = {}): HistoryEvent {
  const owners = writeOwners([{ kind: "WafIpRule", name: "shop/scanners", source: undefined }]);
  return { atMs: nowMs, kind: "Added", target: "blocklist", values: ["192.0.2.7"], owners, note: "", ...overrides };
}

describe("Events of the history", () => {
  test("of the same second and rules are merged", () => {
    const events = [anEvent(), anEvent({ atMs: nowMs + 999, values: ["192.0.2.8"] }), anEvent({ kind: "Removed" })];
    expect(joinEvents(events).map(({ kind, values }) => [kind, values])).toStrictEqual([
      ["Added", ["192.0.2.7", "192.0.2.8"]],
      ["Removed", ["192.0.2.7"]],
    ]);
    expect(joinEvents([anEvent(), anEvent({ atMs: nowMs + 1_000 })])).toHaveLength(2);
  });

  test("with many values are split", () => {
    const joined = joinEvents([anEvent({ values: addresses(valuesOfEventMax + 1) })]);
    expect(joined.map(({ values }) => values.length)).toStrictEqual([valuesOfEventMax, 1]);
  });

  test("are stored as one line each, whatever the API's message, and are read back unchanged", () => {
    const owners = writeOwners([
      { kind: "WafIpRule", name: "shop/a", source: "ConfigMap shop/list, key list" },
      { kind: "WafIpRule", name: "shop/b", source: undefined },
    ]);
    for (const event of [
      anEvent(),
      anEvent({ owners }),
      anEvent({ owners: unknownOwners, kind: "Refused", note: "no,\n 100 % \u2028 of - it" }),
      anEvent({ target: "origins", values: ["standby.example.com"] }),
      anEvent({ values: ["?no address, at all"] }),
    ]) {
      const line = encodeEvent(event);
      expect(line).not.toMatch(/[\r\n\u2028]/);
      expect(decodeEvent(line)).toStrictEqual(event);
    }
  });

  test("that are invalid are skipped, and the others stay", () => {
    const text = ["", "nonsense", encodeEvent(anEvent()), "2026-11-22T09:30:00Z Burnt blocklist 192.0.2.7 - -"].join(
      "\n",
    );
    expect(decodeEvents(text)).toStrictEqual([anEvent()]);
  });
});

describe("The history keeps the newest events", () => {
  const lines = Array.from({ length: 200 }, (_, index) =>
    encodeEvent(anEvent({ atMs: nowMs - (200 - index) * 60_000 })),
  );

  test.each([
    ["by number", { ...limits, ageMsMax: Number.POSITIVE_INFINITY, bytesMax: Number.POSITIVE_INFINITY }, 100],
    ["by age", { ...limits, bytesMax: Number.POSITIVE_INFINITY }, 60],
    ["by size", { ...limits, bytesMax: 10 * ((lines[0]?.length ?? 0) + 1) }, 10],
  ])("%s", (_, limit, count) => {
    expect(keepNewest(lines, limit, nowMs, timeOfEvent)).toStrictEqual(lines.slice(-count));
  });
});
