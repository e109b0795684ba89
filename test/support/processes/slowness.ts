// Measures how slow this machine currently is, so that time limits are strict on a quiet machine and can still be checked
// on a busy one. By default, the slowness is the elapsed time of a piece of work divided by its CPU time. Only
// the load of other processes counts, so a slow but idle processor has a slowness of 1. `WAFSYNC_SLOW=5` sets
// the slowness for a run: time limits, Lease durations and accelerated clocks of all tests are then stretched five times.

const variable = "WAFSYNC_SLOW";
/** Low enough that a limit of a second never reaches the half minute of a request timeout. */
const slownessMax = 20;
/** The timeouts of an accelerated clock last at least four times as long as the work that they wait for. */
const slownessOfFastClocks = 4;
/** Long enough for the scheduler to run every other process several times. */
const probeCpuMs = 100;
const probeLoops = 20_000;

/** At least 1. Takes a tenth of a second of CPU time, unless the environment sets the value. */
export function slowness(environment: NodeJS.ProcessEnv = process.env, probe = probeSlowness): number {
  const given = environment[variable];
  if (given === undefined || given === "") return Math.min(Math.max(probe(), 1), slownessMax);
  const factor = Number(given);
  if (!(factor >= 1 && factor <= slownessMax)) {
    throw new RangeError(`${variable} is ${given}: set it to a number from 1 to ${slownessMax}, or leave it out`);
  }
  return factor;
}

/** Stretches a duration for a quiet machine to this machine's current slowness, in any unit. */
export function slow(duration: number): number {
  return Math.round(duration * slowness());
}

/**
 * The acceleration that a clock may have, so that its timeouts leave time for real work. The given speed
 * leaves enough time until the slowness exceeds `slownessOfFastClocks`.
 */
export function fast(timesAsFast: number, measure = slowness): number {
  return Math.max(1, timesAsFast / Math.max(1, measure() / slownessOfFastClocks));
}

export interface TimeLimit {
  /** Whether the limit has expired, even for a machine as slow as this one. Measures the slowness only when necessary. */
  isOver(): boolean;
  /** Describes the elapsed and the allowed time. */
  describe(): string;
}

/** @param limitMs the limit on a quiet machine; the time starts now */
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

/** Runs the function, and rejects if it takes longer than the limit allows on a machine as slow as this one. */
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
