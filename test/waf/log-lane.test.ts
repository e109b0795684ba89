import { expect, test } from "@jest/globals";
import { readLogs } from "../../src/logs/read-logs.ts";
import { dayNumber, logKey, logWorld } from "../support/worlds/log-world.ts";

test("a write waits only for the page of logs in flight, and not for the remaining pages", async () => {
  let wanted: (() => void) | undefined;
  await using world = await logWorld({
    now: "2026-06-16T00:00:00Z",
    logRowsPerDay: 200,
    onRequest: ({ path }) => {
      if (path === "/api/logs/scroll") wanted?.();
    },
  });
  const written = Promise.withResolvers<void>();
  // A second caller of the same lane makes a call while the first scroll is in flight.
  wanted = () => {
    wanted = undefined;
    void world.waf.addEntry("blocklist", "192.0.2.1").then(() => written.resolve());
  };
  const day = dayNumber("2026-06-10");
  let rows = 0;
  for await (const piece of readLogs(world.ports, { days: { firstDay: day, lastDay: day }, perPage: 10 })) {
    if (piece.kind === "Page") rows += piece.newEntries.length;
  }
  await written.promise;
  const calls = world.simulator.requests().map(({ method, path }) => `${method} ${path}`);
  expect(calls.slice(0, 4)).toStrictEqual([
    "GET /api/logs/query",
    "GET /api/logs/scroll",
    "POST /api/blocklist_ip",
    "GET /api/logs/scroll",
  ]);
  expect(rows).toBe(200);
  expect(world.simulator.waf(logKey).flights.overlaps).toBe(0);
});
