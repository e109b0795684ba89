// Measures the slowness of the machine again and again, because other processes may slow it down for a second only. A thread of its own
// measures, so a process that is late itself does not make the machine look slow.
import { Worker } from "node:worker_threads";
import { slowness } from "../support/processes/slowness.ts";
import type { Moment } from "./slowness-worker.ts";

export interface SlownessProbe extends AsyncDisposable {
  /** The slowness between these times of `Date.now`: see `slowness`. */
  during(startMs: number, endMs: number): number;
}

export async function startSlownessProbe(): Promise<SlownessProbe> {
  const moments: Moment[] = [];
  const worker = new Worker(new URL("slowness-worker.ts", import.meta.url));
  await new Promise<void>((resolve, reject) => {
    worker.once("error", reject);
    worker.on("message", (moment: Moment) => {
      moments.push(moment);
      resolve();
    });
  });
  return {
    during: (startMs, endMs) => slowness(process.env, () => slownessOf(moments, startMs, endMs)),
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}

/** The elapsed time divided by the CPU time of all moments that overlap with the period; 1 if there is none. */
export function slownessOf(moments: readonly Moment[], startMs: number, endMs: number): number {
  let [tookMs, cpuMs] = [0, 0];
  for (const moment of moments) {
    if (moment.endMs < startMs || moment.startMs > endMs) continue;
    tookMs += moment.endMs - moment.startMs;
    cpuMs += moment.cpuMs;
  }
  return cpuMs === 0 ? 1 : tookMs / cpuMs;
}
