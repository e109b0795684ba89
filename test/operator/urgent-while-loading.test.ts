// A rule for one address does not wait for 10,000 others, on 50 WAFs that are all being loaded at the same time: its call starts within
// two calls of its lane and 250 ms, stretched by the slowness of the machine. `WAFSYNC_URGENT=small` uses 5 WAFs and 10 rules.
// Measures the machine: `npm run test:deploy` runs it alone.
import { setTimeout as realDelay } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import { type Simulator, startSimulator } from "../../src/simulator/start-simulator.ts";
import { addresses, configMap, instance, keySecret, rule } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { eachInParallel } from "../support/worlds/kube-requests.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";

const isSmall = process.env["WAFSYNC_URGENT"] === "small";
const wafCount = isSmall ? 5 : 50;
const urgentCount = isSmall ? 10 : 100;
const loadedCount = 10_000;
/** With this many entries on a list, its load has certainly begun, and still takes minutes. */
const begunCount = 20;
const callMs = 50;
const callsMax = 2;
const delayMsMax = 250;
const startMsMax = 180_000;
/** A new round, with the addresses of the next network, shows whether the machine was late in the round before, or wafsync is. */
const networks = ["203.0.113", "198.51.100", "192.0.2"] as const;
/** The time between two urgent rules, so that they do not overlap. */
const pauseMs = 100;

interface Loading {
  readonly namespace: string;
  readonly domain: string;
  /** The number of requests that the WAF has received so far. */
  calls: number;
}

interface Arrival {
  readonly atMs: number;
  /** The number of requests that the WAF had received before. */
  readonly before: number;
}

function descending(values: readonly number[]): number[] {
  return values.map(Math.round).toSorted((a, b) => b - a);
}

let simulator: Simulator | undefined;
afterEach(async () => {
  await simulator?.close();
  simulator = undefined;
});

await describeOperator("an urgent rule", (world) => {
  test(`is called within ${callsMax} calls and ${delayMsMax} ms while ${wafCount} WAFs are being loaded`, async () => {
    const keys = Array.from({ length: wafCount }, (_, number) => ({
      key: `made+up/key=${number}%of-loading`,
      domain: `loading-${number}.example`,
    }));
    const wafs = new Map<string, Loading>();
    const arrivals = new Map<string, Arrival>();
    simulator = await startSimulator({
      keys,
      latencyMs: callMs,
      overlap: "Record",
      onRequest: ({ domain = "", parameters }) => {
        const waf = wafs.get(domain);
        if (waf === undefined) return;
        const { ip } = parameters;
        if (ip !== undefined && !arrivals.has(ip)) arrivals.set(ip, { atMs: Date.now(), before: waf.calls });
        waf.calls += 1;
      },
    });
    const { baseUrl } = simulator;
    await world().startOperator();
    const list = addresses(loadedCount).join("\n");
    await eachInParallel(keys, async ({ key, domain }) => {
      const namespace = await world().newNamespace("loading");
      wafs.set(domain, { namespace, domain, calls: 0 });
      await world().apply(keySecret(namespace, key), configMap(namespace, "list", list));
      const addressesFrom = [{ configMapKeyRef: { name: "list", key: "list.txt" } }];
      await world().apply(instance(namespace, baseUrl), rule(namespace, "big", [], { addressesFrom }));
    });
    const isLoading = (): boolean => [...wafs.values()].every(({ calls }) => calls > begunCount);
    await world().eventually("all lists are being loaded", isLoading, startMsMax);

    const [median, worst] = [Math.floor(urgentCount / 2), Math.floor(urgentCount / 100)];
    const all = [...wafs.values()];
    let isInTime = false;
    for (const network of networks) {
      if (isInTime) break;
      const delaysMs: number[] = [];
      const callsBetween: number[] = [];
      for (let index = 0; index < urgentCount; index += 1) {
        const waf = all[index % wafCount];
        if (waf === undefined) throw new Error("there are no WAFs");
        const address = `${network}.${index + 1}`;
        const startMs = Date.now();
        await world().apply(rule(waf.namespace, `urgent-${address}`, [address]));
        const callsThen = waf.calls;
        await world().eventually(`the call for ${address}`, () => arrivals.has(address));
        const arrival = arrivals.get(address) ?? { atMs: Number.NaN, before: Number.NaN };
        delaysMs.push(arrival.atMs - startMs);
        callsBetween.push(Math.max(0, arrival.before - callsThen));
        await realDelay(pauseMs);
      }
      const slowest = descending(delaysMs);
      const most = descending(callsBetween);
      console.log(
        `${urgentCount} urgent rules next to ${wafCount} lists: ${slowest[worst]} ms (99 of 100), ${slowest[median]} ms (median); calls between: ${most[worst]} (99 of 100), ${most[0]} (most)`,
      );
      expect(most[worst]).toBeLessThanOrEqual(callsMax);
      isInTime = Number(slowest[worst]) < slow(delayMsMax);
    }
    const leastLoaded = Math.min(...simulator.wafs().map(({ blocklist }) => loadedCount - blocklist.length));
    // All lists were being loaded until the end.
    expect(leastLoaded).toBeGreaterThan(0);
    expect(isInTime).toBe(true);
    expect(simulator.wafs().filter(({ flights }) => flights.overlaps > 0)).toStrictEqual([]);
  });
});
