// A run that waits for a WAF releases its worker, so that unresponsive WAFs do not delay other instances.
import type { Clock } from "../async/clock.ts";
import { sleepBy } from "../async/clock.ts";
import type { Park } from "../async/workers.ts";
import type { ForwardLogsPorts } from "../reconcile/logs/forward-ports.ts";
import type { ReconcilePorts } from "../reconcile/ports.ts";

/** Shorter waits, which include most calls, keep the worker. */
export const parkAfterMs = 500;

type Waiting = <T>(act: () => Promise<T>) => Promise<T>;

/** The same ports, but every wait for a WAF or a timer parks the run. */
export function parkingPorts(ports: ReconcilePorts, park: Park): ReconcilePorts {
  const waiting = parkedWaiting(ports.clock, park);
  return {
    ...ports,
    clock: parkingClock(ports.clock, waiting),
    openWaf: (instance, key) => parkingCalls(ports.openWaf(instance, key), waiting),
  };
}

/** The same for a run that forwards logs. */
export function parkingLogPorts(ports: ForwardLogsPorts, park: Park): ForwardLogsPorts {
  const waiting = parkedWaiting(ports.clock, park);
  return {
    ...ports,
    clock: parkingClock(ports.clock, waiting),
    openLogs: (instance, key) => parkingCalls(ports.openLogs(instance, key), waiting),
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

function parkingClock(clock: Clock, waiting: Waiting): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: async (delayMs, signal) => await waiting(async () => await sleepBy(clock, delayMs, signal)),
    schedule: (delayMs, act) => clock.schedule(delayMs, act),
  };
}

/** Every method of a client is a call of the WAF. */
function parkingCalls<Client extends object>(client: Client, waiting: Waiting): Client {
  return new Proxy(client, {
    get: (target, name) => {
      const call: unknown = Reflect.get(target, name, target);
      if (typeof call !== "function") return call;
      return async (...parameters: readonly unknown[]): Promise<unknown> =>
        await waiting(async () => await Reflect.apply(call, target, parameters));
    },
  });
}
