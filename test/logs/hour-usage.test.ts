import { hourMs } from "../../src/model/texts.ts";
import { expect, test } from "@jest/globals";
import { HourUsage, pagesPerHourMax } from "../../src/logs/forward-ports.ts";

const startMs = Date.UTC(2026, 2, 10, 12);

test("pages without rows are limited too, until the hour is over", () => {
  const usage = new HourUsage();
  for (let page = 0; page < pagesPerHourMax; page += 1) expect(usage.takePage(startMs + page)).toBe(true);
  expect([usage.takePage(startMs + 1), usage.endOf(startMs + 1, 1)]).toStrictEqual([false, startMs + hourMs]);
  expect(usage.takePage(startMs + hourMs)).toBe(true);
});

test("a clock that is set back begins a new hour, so no pause is longer than an hour", () => {
  const usage = new HourUsage();
  usage.rowsForwarded(startMs, 1000);
  expect(usage.rowsLeft(startMs - 24 * hourMs, 1000)).toBe(1000);
});
