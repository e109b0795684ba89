// A thread of its own for `startSlownessProbe`: works for a moment, tells how long that took, and sleeps.
import { setTimeout as delay } from "node:timers/promises";
import { parentPort } from "node:worker_threads";

/** As long as the scheduler lets a process run before another one. */
const workCpuMs = 5;
const workLoops = 5_000;
const sleepMs = 45;

export interface Moment {
  readonly startMs: number;
  readonly endMs: number;
  readonly cpuMs: number;
}

for (;;) {
  const startMs = Date.now();
  const startedMs = performance.now();
  const before = process.threadCpuUsage();
  let cpuMs = 0;
  while (cpuMs < workCpuMs) {
    for (let loop = 0; loop < workLoops; loop += 1) Math.sqrt(loop);
    const { user, system } = process.threadCpuUsage(before);
    cpuMs = (user + system) / 1000;
  }
  const moment: Moment = { startMs, endMs: startMs + performance.now() - startedMs, cpuMs };
  parentPort?.postMessage(moment, []);
  await delay(sleepMs);
}
