// A run that waits for a WAF releases its worker, so that unresponsive WAFs do not delay other instances.
import type { Clock } from "../async/clock.ts";
import { sleepBy } from "../async/clock.ts";
import type { Park } from "../async/workers.ts";
import type { ForwardLogsPorts } from "../reconcile/logs/forward-ports.ts";
import type { LogPort } from "../reconcile/logs/log-ports.ts";
import type { ReconcilePorts, WafPort } from "../reconcile/ports.ts";

/** Shorter waits, which include most calls, keep the worker. */
export const parkAfterMs = 500;

/** The same ports, but every wait for a WAF or a timer parks the run. */
export function parkingPorts(ports: ReconcilePorts, park: Park): ReconcilePorts {
  const waiting = parkedWaiting(ports.clock, park);
  return {
    ...ports,
    clock: parkingClock(ports.clock, waiting),
    openWaf: (instance, key) => parkingWaf(ports.openWaf(instance, key), waiting),
  };
}

/** The same for a run that forwards logs. */
export function parkingLogPorts(ports: ForwardLogsPorts, park: Park): ForwardLogsPorts {
  const waiting = parkedWaiting(ports.clock, park);
  return {
    ...ports,
    clock: parkingClock(ports.clock, waiting),
    openLogs: (instance, key) => parkingLogs(ports.openLogs(instance, key), waiting),
  };
}

function parkedWaiting(clock: Clock, park: Park): Waiting {
  return async (act) => {
    let unpark: (() => void) | undefined;
    const cancel = clock.schedule(parkAfterMs, () => void (unpark = park()));
    try {
      return await act();
    } finally {
      cancel();
      unpark?.();
    }
  };
}

type Waiting = <T>(act: () => Promise<T>) => Promise<T>;

function parkingClock(clock: Clock, waiting: Waiting): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: async (delayMs, signal) => await waiting(async () => await sleepBy(clock, delayMs, signal)),
    schedule: (delayMs, act) => clock.schedule(delayMs, act),
  };
}

function parkingWaf(waf: WafPort, waiting: Waiting): WafPort {
  return {
    readOrigins: async (options) => await waiting(async () => await waf.readOrigins(options)),
    readList: async (list, options) => await waiting(async () => await waf.readList(list, options)),
    addEntry: async (list, text, options) => await waiting(async () => await waf.addEntry(list, text, options)),
    removeEntry: async (list, text, options) => await waiting(async () => await waf.removeEntry(list, text, options)),
    addOrigin: async (host, type, options) => await waiting(async () => await waf.addOrigin(host, type, options)),
    removeOrigin: async (host, options) => await waiting(async () => await waf.removeOrigin(host, options)),
    clearCache: async (options) => await waiting(async () => await waf.clearCache(options)),
  };
}

function parkingLogs(waf: LogPort, waiting: Waiting): LogPort {
  return {
    queryLogs: async (query, options) => await waiting(async () => await waf.queryLogs(query, options)),
    scrollLogs: async (scrollId, options) => await waiting(async () => await waf.scrollLogs(scrollId, options)),
  };
}
