// All benchmarks, in the order in which they run and are listed in bench/results.json. A new benchmark needs a module, a line
// here, and a placeholder `{{NAME.TABLE}}` in bench/performance-template.md.
import { blocksBench } from "./blocks.ts";
import type { Bench } from "./bench.ts";
import { bundleBench } from "./bundle.ts";
import { feedsBench } from "./feeds.ts";
import { logsBench } from "./logs.ts";
import { operatorBench } from "./operator.ts";
import { peersBench } from "./peers.ts";
import { planBench } from "./plan.ts";
import { serialBench } from "./serial.ts";

export const benches: readonly Bench[] = [
  serialBench,
  peersBench,
  planBench,
  feedsBench,
  bundleBench,
  operatorBench,
  logsBench,
  blocksBench,
];
