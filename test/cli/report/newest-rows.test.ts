import { expect, test } from "@jest/globals";
import { NewestRows } from "../../../src/cli/report/newest-rows.ts";
import { reportTextLengthMax } from "../../../src/cli/report/row-texts.ts";
import { row } from "../../support/fakes/scripted-logs.ts";

test("The newest rows are kept in any order of arrival, with truncated strings, and without rows that have no time", () => {
  const newest = new NewestRows(3);
  const times = [5, 1, 9, 3, 7, 2, 8, 4, 6];
  for (const timeMs of times) newest.add(row(`/${timeMs}?${"x".repeat(1_000)}`), timeMs);
  newest.add(row("/never"), Number.NaN);
  const rows = newest.ranked();
  expect(rows.map(({ timeMs }) => timeMs)).toStrictEqual([9, 8, 7]);
  expect(rows.map(({ path }) => path.length)).toStrictEqual([
    reportTextLengthMax,
    reportTextLengthMax,
    reportTextLengthMax,
  ]);
});
