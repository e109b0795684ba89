// Measures whether the operator's memory stays constant while it reads its WAFs every second and nothing changes.
import { setTimeout as sleep } from "node:timers/promises";
import { startFleet } from "./fleet.ts";
import type { MeasureOptions } from "./measure.ts";
import { allReady } from "./measure.ts";
import type { Memory } from "./measured-operator.ts";
import { startMeasured } from "./measured-operator.ts";

export interface SoakResult {
  readonly samples: readonly { readonly atMs: number; readonly memory: Memory }[];
  readonly reconciles: number;
  /** The difference between the medians of the second and the first half, in bytes. */
  readonly growth: number;
}

const samplesCount = 60;
/** The time until caches are filled and the code is compiled. */
const warmUpMs = 20_000;

/** Returns undefined if no control plane is available. */
export async function soakOperator(
  options: MeasureOptions & { readonly durationMs: number },
): Promise<SoakResult | undefined> {
  const { latencyMs = 5, report = () => undefined, durationMs } = options;
  await using fleet = await startFleet({ ...options, latencyMs, resyncInterval: "1s" });
  if (fleet === undefined) return undefined;
  await using operator = await startMeasured({ ...options, kubeconfig: fleet.kubeconfig });
  await allReady(fleet, options, operator);
  await sleep(warmUpMs);
  report(`soaking for ${durationMs / 1000} s`);
  const runs = async (): Promise<number> =>
    await operator.metric(String.raw`wafsync_reconcile_total\{controller="instances",result="success"\}`);
  const before = await runs();
  const samples: SoakResult["samples"][number][] = [];
  for (let index = 1; index <= samplesCount; index += 1) {
    await sleep(durationMs / samplesCount);
    samples.push({ atMs: (index * durationMs) / samplesCount, memory: await operator.memory() });
  }
  const half = samplesCount / 2;
  const growth = medianOf(samples.slice(half)) - medianOf(samples.slice(0, half));
  return { samples, reconciles: (await runs()) - before, growth };
}

function medianOf(samples: SoakResult["samples"]): number {
  const sizes = samples.map(({ memory }) => memory.now).toSorted((a, b) => a - b);
  return sizes[Math.floor(sizes.length / 2)] ?? 0;
}
