// How slow this machine is right now, so that a promise about time stays tight on a quiet machine and can still be judged
// on a busy one. By default the slowness is measured: how many times its own processor time a piece of work takes. Only
// the work of others counts in this, so a slow processor without other work has a slowness of 1. `WAFSYNC_SLOW=5` sets
// the slowness for a run instead: time limits, lease times and fast clocks of all tests are then stretched five times.

const variable = "WAFSYNC_SLOW";
/** So that what lasts half a minute, such as a request timeout, is never taken for what has to end within a second. */
const slownessMax = 20;
/** The timeouts of a fast clock last four times as long as what they wait for, and more. */
const slownessOfFastClocks = 4;
/** Long enough for the scheduler to give every other process its turn, several times. */
const probeCpuMs = 100;
const probeLoops = 20_000;

/** At least 1. Takes a tenth of a second of processor time, unless the environment sets it. */
export function slowness(environment: NodeJS.ProcessEnv = process.env, probe = probeSlowness): number {
  const given = environment[variable];
  if (given === undefined || given === "") return Math.min(Math.max(probe(), 1), slownessMax);
  const factor = Number(given);
  if (!(factor >= 1 && factor <= slownessMax)) {
    throw new RangeError(`${variable} is ${given}: set it to a number from 1 to ${slownessMax}, or leave it out`);
  }
  return factor;
}

/** A duration of a quiet machine, as long as it takes on this one now. In whatever unit it is given. */
export function slow(duration: number): number {
  return Math.round(duration * slowness());
}

/**
 * How many times as fast as real time a clock may run, so that its timeouts leave time for real work. The speed that is
 * given leaves enough until the machine is `slownessOfFastClocks`.
 */
export function fast(timesAsFast: number, measure = slowness): number {
  return Math.max(1, timesAsFast / Math.max(1, measure() / slownessOfFastClocks));
}

export interface TimeLimit {
  /** Whether the time is over, even for a machine as slow as this one. Asks how slow it is only when it matters. */
  isOver(): boolean;
  /** How long it took and how long it may take. */
  describe(): string;
}

/** @param limitMs the limit on a quiet machine; the time begins now */
export function timeLimit(limitMs: number, nowMs = () => performance.now(), measure = slowness): TimeLimit {
  const startMs = nowMs();
  let allowedMs = limitMs;
  return {
    isOver() {
      const tookMs = nowMs() - startMs;
      if (tookMs <= allowedMs) return false;
      allowedMs = Math.max(allowedMs, limitMs * measure());
      return tookMs > allowedMs;
    },
    describe() {
      const [took, allowed] = [nowMs() - startMs, allowedMs].map(Math.round);
      return `${took} ms have passed; the limit is ${limitMs} ms on a quiet machine and ${allowed} ms on this one`;
    },
  };
}

/** Does it, and rejects if that took longer than the limit allows on a machine as slow as this one. */
export async function within<T>(limitMs: number, act: () => Promise<T>): Promise<T> {
  const limit = timeLimit(limitMs);
  const result = await act();
  if (limit.isOver()) throw new Error(`It took too long: ${limit.describe()}.`);
  return result;
}

function probeSlowness(): number {
  const startMs = performance.now();
  const before = process.threadCpuUsage();
  let usedMs = 0;
  while (usedMs < probeCpuMs) {
    for (let loop = 0; loop < probeLoops; loop += 1) Math.sqrt(loop);
    const { user, system } = process.threadCpuUsage(before);
    usedMs = (user + system) / 1000;
  }
  return (performance.now() - startMs) / usedMs;
}
