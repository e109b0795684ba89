// Keeps the garbage of millions of rows small. Left alone, the engine lets the heap of a program that makes much garbage grow to some
// hundred megabytes, whatever is alive in it. Rows come no faster than the WAF sends them, so time for collecting it is there.
import { setFlagsFromString } from "node:v8";

/** How far the heap may grow between two collections, in percent of what was alive. */
const growthPercent = 20;

/** For a process that does nothing but read logs. Before the work begins. */
export function keepHeapSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
}
