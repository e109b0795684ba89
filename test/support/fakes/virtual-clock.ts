// A clock that stands still until a test advances it. Sleepers wake one after another in the order of their times, and
// the work that they start (microtasks, calls over loopback sockets, files) settles before the next one wakes.
import type { Clock } from "../../../src/async/clock.ts";
import { type TimeLimit, timeLimit } from "../processes/slowness.ts";
import { VirtualTime } from "./virtual-time.ts";

export type VirtualClock = ReturnType<typeof createVirtualClock>;

const quietRoundsMin = 12;
/** Requests to the system end by themselves, but not always soon on a machine under load: these rounds are of real time. */
const busyRoundsMax = 5000;
const busyRoundsQuick = 100;
/** The real time that `advanceUntil` waits for input and output when nothing is sleeping. */
const idleMsMax = 10_000;

export interface VirtualClockOptions {
  readonly startMs?: number;
  /** True while work is in progress that does not depend on this clock: the clock stands still until it has ended. */
  readonly isBusy?: () => boolean;
}

export function createVirtualClock({ startMs = Date.UTC(2026, 0, 1), isBusy = () => false }: VirtualClockOptions = {}) {
  const time = new VirtualTime(settle);
  let wallOffsetMs = startMs;

  /** Waits until all work that does not depend on this clock has settled: no system request was pending for several turns. */
  async function settle(): Promise<void> {
    let quietRounds = 0;
    let busyRounds = 0;
    while (quietRounds < quietRoundsMin && busyRounds < busyRoundsMax) {
      await new Promise((resolve) => (busyRounds < busyRoundsQuick ? setImmediate(resolve) : setTimeout(resolve, 1)));
      if (isSystemBusy() || isBusy()) {
        quietRounds = 0;
        busyRounds += 1;
      } else quietRounds += 1;
    }
  }

  /** Advances the time from sleeper to sleeper until the condition is true; throws if it is not true within the limit. */
  async function advanceUntil(condition: () => boolean, limitMs: number): Promise<void> {
    const targetMs = time.nowMs + limitMs;
    let idle: TimeLimit | undefined;
    await settle();
    while (!condition()) {
      if (await time.step(targetMs)) continue;
      idle ??= timeLimit(idleMsMax);
      if (idle.isOver()) throw new Error(`The condition did not come true within ${limitMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  const clock: Clock = {
    nowMs: () => wallOffsetMs + time.nowMs,
    monotonicMs: () => time.nowMs,
    sleep: async (delayMs, signal) => await time.sleep(delayMs, signal),
    schedule: (delayMs, act) => time.schedule(delayMs, act),
  };
  return {
    ...clock,
    /** Advances the time, and wakes each sleeper at its own time. */
    advance: async (delayMs: number): Promise<void> => {
      await time.advance(delayMs);
      await settle();
    },
    advanceUntil,
    settle,
    /** Sets only the wall clock, as an administrator or NTP does; monotonic time and sleepers are not affected. */
    jumpWallClock: (deltaMs: number) => void (wallOffsetMs += deltaMs),
    /** Advances both clocks without waking sleepers, as if the process were busy: sleepers wake late. */
    hold: (delayMs: number) => time.hold(delayMs),
    /** The number of pending sleeps and scheduled actions. */
    sleeperCount: () => time.pendingTimers,
  };
}

const systemRequests = new Set([
  "FSReqCallback",
  "FSReqPromise",
  "CloseReq",
  "GetAddrInfoReqWrap",
  "TCPConnectWrap",
  "WriteWrap",
  "ShutdownWrap",
]);

function isSystemBusy(): boolean {
  return process.getActiveResourcesInfo().some((resource) => systemRequests.has(resource));
}
