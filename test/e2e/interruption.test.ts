// A process that is stopped or killed at any moment exits in time, and the next process continues its work.
// Long: `npm run test:deploy` runs it.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { FaultRule } from "../../src/simulator/fault-rule.ts";
import type { RequestRecord } from "../../src/simulator/simulated-waf.ts";
import { ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";
import { ownedIn } from "./random-folder.ts";
import { timeLimit, within } from "../support/processes/slowness.ts";
import { type FinishedProcess, startWafsync } from "../support/processes/wafsync-process.ts";

const addresses = Array.from({ length: 60 }, (_, index) => `203.0.113.${index + 1}`);
const foreign = "198.51.100.7";
const endsWithinMs = 2_000;

/** Brings the folder to its declared state, and checks that each address was added once and is managed. */
async function expectGoesOn(folder: WafFolder): Promise<void> {
  const { simulator, files } = folder;
  simulator.faults.clear();
  simulator.settings.latencyMs = 0;
  const waf = simulator.waf(testKey);
  const finished = await folder.run("apply");
  expect(finished).toMatchObject({ code: 0, stderr: "" });
  expect(waf.blocklist.toSorted()).toStrictEqual([foreign, ...addresses].toSorted());
  const added = waf.requests.filter(({ method, status }) => method === "POST" && status === 200);
  expect(new Set(added.map(({ parameters }) => parameters["ip"])).size).toBe(added.length);
  expect(waf.counters.refusals).toBe(0);
  expect(waf.flights.overlaps).toBe(0);
  const inventory = await readFile(join(files.path, ".wafsync/inventory/shop/main.txt"), "utf8");
  expect(ownedIn(inventory)).toStrictEqual(new Set(addresses));
}

interface Interrupted {
  readonly folder: WafFolder;
  readonly finished: FinishedProcess;
  /** How long the process took to exit; undefined if it did not. */
  readonly delay: string | undefined;
}

/** A folder whose process gets the signal as soon as the simulator receives the request that `when` selects. */
async function interruptedAt(
  signal: NodeJS.Signals,
  when: (record: Readonly<RequestRecord>, count: number) => boolean,
  faults: readonly FaultRule[] = [],
): Promise<Interrupted> {
  let count = 0;
  const seen = Promise.withResolvers<void>();
  const folder = await wafFolder({
    onRequest: (record) => {
      count += 1;
      if (when(record, count)) seen.resolve();
    },
  });
  folder.simulator.waf(testKey).add("blocklist", [foreign]);
  folder.simulator.addFaults(...faults);
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses }));
  const running = startWafsync(["apply", ...folder.from]);
  await seen.promise;
  const limit = timeLimit(endsWithinMs);
  running.child.kill(signal);
  await once(running.child, "exit");
  const delay = limit.isOver() ? limit.describe() : undefined;
  return { folder, finished: await running.ended, delay };
}

const isPost = ({ method }: Readonly<RequestRecord>): boolean => method === "POST";
const slowWrite: FaultRule = { match: { method: "POST", nth: 20 }, effect: { kind: "Slow", delayMs: 60_000 } };
const askedToWait: FaultRule = {
  match: { method: "POST", nth: 20 },
  effect: { kind: "RateLimited", retryAfter: "60" },
};
const unreachable: FaultRule = { match: { method: "GET" }, times: 50, effect: { kind: "ServerError" } };

const moments: readonly (readonly [
  string,
  (record: Readonly<RequestRecord>, count: number) => boolean,
  FaultRule[],
])[] = [
  ["during the first read", (_, count) => count === 1, []],
  [
    "during a read that hangs",
    (_, count) => count === 2,
    [{ match: { path: "/api/blocklist_ips" }, effect: { kind: "Timeout" } }],
  ],
  ["in the middle of the writes", (_, count) => count === 33, []],
  ["during the read that verifies the writes", (_, count) => count === 4 + addresses.length, []],
  ["while a write is answered slowly", (record, count) => isPost(record) && count === 23, [slowWrite]],
  ["while it waits because of a 429", (record, count) => isPost(record) && count === 23, [askedToWait]],
  ["while it backs off", (_, count) => count === 1, [unreachable]],
];

test.each(moments)(
  "%s, a signal ends the process within a second, and the next one continues",
  async (_, when, faults) => {
    const signal = faults.length === 0 ? "SIGINT" : "SIGTERM";
    const { folder, finished, delay } = await interruptedAt(signal, when, faults);
    await using _folder = folder;
    expect(delay).toBeUndefined();
    expect(finished.signal).toBeUndefined();
    expect(finished.stderr).toContain("run the command again to continue");
    // The table agrees with the summary.
    expect(finished.stdout).toMatch(/ feed +(\d+)\/60 [^]*\(\1 managed|^(?![^]*managed)/);
    expect(finished.code).toBe(130);
    await expectGoesOn(folder);
  },
);

test("a signal stops `plan` while a read hangs, and it does not report that there is nothing to do", async () => {
  const hangs = Promise.withResolvers<void>();
  await using folder = await wafFolder({
    onRequest: ({ path }) => {
      if (path === "/api/blocklist_ips") hangs.resolve();
    },
  });
  folder.simulator.addFaults({ match: { path: "/api/blocklist_ips" }, effect: { kind: "Timeout" } });
  const running = startWafsync(["plan", ...folder.from]);
  await hangs.promise;
  const finished = await within(endsWithinMs, async () => {
    running.child.kill("SIGINT");
    return await running.ended;
  });
  const stderr = "Stopped before the plan was complete.\n";
  expect(finished).toStrictEqual({ code: 130, signal: undefined, stdout: "", stderr });
});
