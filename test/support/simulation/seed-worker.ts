// A worker of `npm run simulate`: runs the seeds that it receives, one after another.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort } from "node:worker_threads";
import { type SeedReport, simulateSeed } from "./simulate-seed.ts";

export interface SeedAnswer {
  readonly report: SeedReport;
  /** The heap size of this worker without garbage, measured after some of the seeds. */
  readonly heapMb: number | undefined;
}

const measuredEvery = 25;
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
let played = 0;

parentPort?.on("message", (seed: number) => void answer(seed));

async function answer(seed: number): Promise<void> {
  const report = await simulateSeed(seed);
  played += 1;
  const heapMb = played % measuredEvery === 0 ? heapInMb() : undefined;
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
  parentPort?.postMessage({ report, heapMb } satisfies SeedAnswer);
}

function heapInMb(): number {
  collectGarbage();
  return Math.round(process.memoryUsage().heapUsed / 1e6);
}
