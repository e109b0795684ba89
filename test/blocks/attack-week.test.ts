import { expect, test } from "@jest/globals";
import { readObservedEntry } from "../../src/address/entry.ts";
import { NetworkIndex } from "../../src/address/ranges.ts";
import { attackWeek, exemptClients, judgeWeek, scoreOf } from "../support/worlds/attack-week.ts";

const week = attackWeek(1);
const result = judgeWeek(week);

test("a week of attacks in background noise: nearly all attackers are listed, and hardly any other client", () => {
  const { precision, recall } = scoreOf(week, result.listed);
  process.stdout.write(`${week.rows.length} rows: precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}\n`);
  expect(precision).toBeGreaterThan(0.99);
  expect(recall).toBeGreaterThan(0.95);
});

test("no exempt client is ever listed, neither alone nor in a network", () => {
  const index = new NetworkIndex(result.listed.map(({ entry }) => entry));
  expect(exemptClients.filter((client) => index.overlaps(readObservedEntry(client)) !== undefined)).toStrictEqual([]);
});

test("attackers that return are listed for longer, and every entry ends on time", () => {
  expect(result.overdue).toBe(0);
  const lengths = (entry: string): number[] =>
    result.listed
      .filter((one) => one.entry === entry && one.by === "fast")
      .map(({ sinceMs, untilMs }) => (untilMs - sinceMs) / 3_600_000);
  expect(lengths("185.220.2.66")).toStrictEqual([1, 2, 4]);
  expect(lengths("185.220.0.66")).toStrictEqual([1]);
});
