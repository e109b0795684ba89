import { describe, expect, test } from "@jest/globals";
import { markChanges } from "../../../src/cli/report/change-marks.ts";
import type { FocusView } from "../../../src/cli/report/report-data.ts";
import { writeOwners } from "../../../src/model/entry-owners.ts";
import { readObservedEntry } from "../../../src/model/entry.ts";
import type { HistoryEvent } from "../../../src/model/history.ts";
import { LogReport } from "../../../src/cli/report/report-statistics.ts";

const hourMs = 3_600_000;
const summary = new LogReport({ startMs: 0, endMs: 24 * hourMs }).summary(1);

function added(hour: number, ...values: readonly string[]): HistoryEvent {
  const owners = writeOwners([{ kind: "WafIpRule", name: "shop/scanners", source: undefined }]);
  return { atMs: hour * hourMs, kind: "Added", target: "blocklist", values, owners, note: "" };
}

function focusOn(text: string): FocusView {
  return {
    entry: readObservedEntry(text),
    lists: { state: "NotListed" },
    inside: { blocklist: [], allowlist: [] },
    why: [],
  };
}

describe("the marks of changes", () => {
  test("share a number within a bar, and combine simultaneous changes", () => {
    const events = [added(3.5, "192.0.2.1"), added(3.5, "192.0.2.2"), added(3.9, "192.0.2.3"), added(7, "192.0.2.4")];
    const { marks, changes, left } = markChanges(events, summary, []);
    expect(marks).toStrictEqual([
      { bar: 3, label: "1" },
      { bar: 7, label: "2" },
    ]);
    expect(changes.map(({ mark, event }) => [mark, event.values])).toStrictEqual([
      ["1", ["192.0.2.1", "192.0.2.2"]],
      ["1", ["192.0.2.3"]],
      ["2", ["192.0.2.4"]],
    ]);
    expect(left).toBe(0);
  });

  test("include only entries that cover a client in focus", () => {
    const events = [added(1, "192.0.2.0/24", "198.51.100.1"), added(2, "198.51.100.2")];
    const { changes } = markChanges(events, summary, [focusOn("192.0.2.7")]);
    expect(changes.map(({ event }) => event.values)).toStrictEqual([["192.0.2.0/24"]]);
  });

  test("show the newest hundred changes, and the number of all others", () => {
    const events = Array.from({ length: 130 }, (_, place) => added(place / 10, `192.0.2.${place}`));
    const { changes, left } = markChanges(events, summary, []);
    expect([changes.length, left, changes.at(-1)?.event.values]).toStrictEqual([100, 30, ["192.0.2.129"]]);
  });
});
