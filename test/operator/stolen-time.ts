// On a virtual machine, the host can take the processors away ("steal" in proc(5)). What is measured meanwhile says nothing about the
// programs on the machine.
import { readFileSync } from "node:fs";

/** In clock ticks since the start of the machine. */
export interface ProcessorTimes {
  /** While programs of this machine ran. */
  readonly busy: number;
  /** While they could have run, but the host did not let them. */
  readonly stolen: number;
}

/** Zeros if the system does not tell. */
export function processorTimes(read = readSystemTimes): ProcessorTimes {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = read()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { busy: user + nice + system + irq + softirq, stolen };
}

/** The share of the wanted time that the host took away, from 0 to 1. */
export function stolenShare(before: ProcessorTimes, after: ProcessorTimes): number {
  const stolen = after.stolen - before.stolen;
  const wanted = after.busy - before.busy + stolen;
  return wanted <= 0 ? 0 : stolen / wanted;
}

/** The line of all processors: `cpu` and its times. */
function readSystemTimes(): string {
  try {
    return readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "";
  } catch {
    return "";
  }
}
