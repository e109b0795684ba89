import { describe, expect, test } from "@jest/globals";
import { array, assert, constantFrom, nat, property, record } from "fast-check";
import { entriesOverTime } from "../../src/pages/entries-over-time.ts";
import type { HistoryEvent, HistoryKind } from "../../src/model/history.ts";
import { historyKinds } from "../../src/model/history.ts";
import { unknownOwners } from "../../src/model/entry-owners.ts";

const nowMs = Date.UTC(2026, 10, 22, 12);
const minuteMs = 60_000;
const dayMs = 86_400_000;

function event(kind: HistoryKind, agoMs: number, count: number): HistoryEvent {
  const values = Array.from({ length: count }, (_, place) => `192.0.2.${place}`);
  return { atMs: nowMs - agoMs, kind, target: "blocklist", values, owners: unknownOwners, note: "" };
}

describe("The number of managed entries over time", () => {
  test("is computed backwards from the current number", () => {
    const events = [event("Added", 50 * minuteMs, 10), event("Removed", 20 * minuteMs, 4), event("Refused", 60_000, 9)];
    const over = entriesOverTime(events, { blocklist: 6, allowlist: 0 }, nowMs);
    expect(over?.stepMs).toBe(5 * minuteMs);
    expect(over?.counts.blocklist).toStrictEqual([0, 0, 10, 10, 10, 10, 10, 10, 6, 6, 6, 6, 6]);
    expect(new Set(over?.counts.allowlist)).toStrictEqual(new Set([0]));
  });

  test("is unknown without a history", () => {
    expect(entriesOverTime([], { blocklist: 6, allowlist: 0 }, nowMs)).toBeUndefined();
  });

  test("never has more than 90 steps, ends with now, and is never negative", () => {
    const arbitraryEvent = record({ kind: constantFrom(...historyKinds), agoMs: nat(200 * dayMs), count: nat(20) }).map(
      ({ kind, agoMs, count }) => event(kind, agoMs, count),
    );
    assert(
      property(array(arbitraryEvent, { minLength: 1 }), nat(50), (events, blocklist) => {
        const over = entriesOverTime(events, { blocklist, allowlist: 0 }, nowMs);
        const counts = over?.counts.blocklist ?? [];
        expect(counts.length).toBeLessThanOrEqual(90);
        expect(counts.at(-1)).toBe(blocklist);
        expect(Math.min(...counts)).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
