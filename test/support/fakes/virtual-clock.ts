// A clock that stands still until a test advances it. Sleepers wake one after another in the order of their times, and
// the work that they start (microtasks, calls over loopback sockets, files) settles before the next one wakes.
import { sleepBy } from "../../../src/async/clock.ts";
import type { CancelTimer, Clock } from "../../../src/async/clock.ts";
import type { TimeLimit } from "../processes/slowness.ts";
import { timeLimit } from "../processes/slowness.ts";

export interface VirtualClock extends Clock {
  /** Advances the time, and wakes each sleeper at its own time. */
  advance(delayMs: number): Promise<void>;
  /** Advances the time from sleeper to sleeper until the condition is true; throws if it is not true within the limit. */
  advanceUntil(condition: () => boolean, limitMs: number): Promise<void>;
  /** Waits until all work that does not depend on this clock has settled. */
  settle(): Promise<void>;
  /** Sets only the wall clock, as an administrator or NTP does; monotonic time and sleepers are not affected. */
  jumpWallClock(deltaMs: number): void;
  /** Advances both clocks without waking sleepers, as if the process were busy: sleepers wake late. */
  hold(delayMs: number): void;
  /** The number of pending sleeps and scheduled actions. */
  sleeperCount(): number;
}

interface Sleeper {
  readonly wakeAtMs: number;
  readonly order: number;
  readonly wake: () => void;
}

const quietRoundsMin = 12;
/** Requests to the system end by themselves, but not always soon on a machine under load: these rounds are of real time. */
const busyRoundsMax = 5000;
const busyRoundsQuick = 100;
/** The real time that `advanceUntil` waits for input and output when nothing is sleeping. */
const idleMsMax = 1_000;

export interface VirtualClockOptions {
  readonly startMs?: number;
  /** True while work is in progress that does not depend on this clock: the clock stands still until it has ended. */
  readonly isBusy?: () => boolean;
}

export function createVirtualClock({
  startMs = Date.UTC(2026, 0, 1),
  isBusy = () => false,
}: VirtualClockOptions = {}): VirtualClock {
  const sleepers = new Set<Sleeper>();
  let elapsedMs = 0;
  let wallOffsetMs = startMs;
  let order = 0;

  function nextDue(limitMs: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of sleepers) {
      if (sleeper.wakeAtMs > limitMs) continue;
      if (first === undefined || sleeper.wakeAtMs < first.wakeAtMs) first = sleeper;
      else if (sleeper.wakeAtMs === first.wakeAtMs && sleeper.order < first.order) first = sleeper;
    }
    return first;
  }

  /** Runs the event loop until no system request was pending for several turns. */
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

  async function wakeNext(limitMs: number): Promise<boolean> {
    const due = nextDue(limitMs);
    if (due === undefined) return false;
    elapsedMs = Math.max(elapsedMs, due.wakeAtMs);
    sleepers.delete(due);
    due.wake();
    await settle();
    return true;
  }

  async function advance(delayMs: number): Promise<void> {
    const targetMs = elapsedMs + delayMs;
    await settle();
    while (await wakeNext(targetMs));
    elapsedMs = targetMs;
    await settle();
  }

  async function advanceUntil(condition: () => boolean, limitMs: number): Promise<void> {
    const targetMs = elapsedMs + limitMs;
    let idle: TimeLimit | undefined;
    await settle();
    while (!condition()) {
      if (await wakeNext(targetMs)) continue;
      idle ??= timeLimit(idleMsMax);
      if (idle.isOver()) throw new Error(`The condition did not come true within ${limitMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  function schedule(delayMs: number, act: () => void): CancelTimer {
    order += 1;
    const sleeper: Sleeper = { wakeAtMs: elapsedMs + Math.max(delayMs, 0), order, wake: act };
    sleepers.add(sleeper);
    return () => void sleepers.delete(sleeper);
  }

  return {
    nowMs: () => wallOffsetMs + elapsedMs,
    monotonicMs: () => elapsedMs,
    sleep: async (delayMs, signal) => await sleepBy({ schedule }, delayMs, signal),
    schedule,
    advance,
    advanceUntil,
    settle,
    jumpWallClock: (deltaMs) => void (wallOffsetMs += deltaMs),
    hold: (delayMs) => void (elapsedMs += delayMs),
    sleeperCount: () => sleepers.size,
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
