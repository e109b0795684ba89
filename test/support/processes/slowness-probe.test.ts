import { expect, test } from "@jest/globals";
import { slownessOf, startSlownessProbe } from "./slowness-probe.ts";

test("The slowness of a period is the elapsed time divided by the CPU time of the moments in it", () => {
  const moments = [
    { startMs: 0, endMs: 5, cpuMs: 5 },
    { startMs: 50, endMs: 65, cpuMs: 5 },
    { startMs: 100, endMs: 105, cpuMs: 5 },
  ];
  expect(slownessOf(moments, 0, 20)).toBe(1);
  expect(slownessOf(moments, 60, 62)).toBe(3);
  expect(slownessOf(moments, 40, 200)).toBe(2);
  expect(slownessOf(moments, 70, 90)).toBe(1);
});

test("A probe measures while its process is busy, which does not make the machine slow", async () => {
  await using probe = await startSlownessProbe();
  const startMs = Date.now();
  while (Date.now() - startMs < 300) Math.sqrt(startMs);
  await new Promise((resolve) => setImmediate(resolve));
  const found = probe.during(startMs, Date.now());
  expect(found).toBeGreaterThanOrEqual(1);
  expect(found).toBeLessThan(20);
});
