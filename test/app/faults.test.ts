// Every fault that the simulator supports, at the first, a middle and the last write, and at every read: from the files to the
// simulator's lists, through everything in between. Files and sockets are real, but time is not: it advances only when all of
// them are idle, so that no timeout depends on the load of the machine.
// Long: `npm run test:deploy` runs it.
import { subscribe } from "node:diagnostics_channel";
import { readFile } from "node:fs/promises";
import type { ClientRequest, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { openStandalone } from "../../src/app/standalone.ts";
import type { InstanceResult } from "../../src/app/standalone.ts";
import { createStopping } from "../../src/app/stopping.ts";
import { Redactor } from "../../src/model/redactor.ts";
import { type FaultKind, faultKinds } from "../../src/simulator/fault-rule.ts";
import type { FaultEffect, FaultMatch } from "../../src/simulator/fault-rule.ts";
import { startSimulator } from "../../src/simulator/start-simulator.ts";
import type { Simulator } from "../../src/simulator/start-simulator.ts";
import { caseCount } from "../support/builders/case-count.ts";
import { createVirtualClock } from "../support/fakes/virtual-clock.ts";
import type { VirtualClock } from "../support/fakes/virtual-clock.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import type { ScratchDirectory } from "../support/worlds/scratch-directory.ts";
import {
  instanceDocument,
  keySpellings,
  originDocument,
  ruleDocument,
  secretDocument,
  testDomain,
  testKey,
} from "../support/worlds/waf-folder.ts";

// Whether a request of this process is still being transmitted. A busy machine may deliver it late, and a test clock that advances in
// the meantime would let a request time out although its response has been sent.
const sent = new Set<ClientRequest>();
let handled = 0;

subscribe("http.client.request.start", (message) => {
  const { request } = message as { readonly request: ClientRequest };
  sent.add(request);
  request.once("close", () => sent.delete(request));
});
subscribe("http.server.request.start", (message) => {
  handled += 1;
  const { response } = message as { readonly response: ServerResponse };
  response.once("close", () => void (handled -= 1));
});

/** False if the servers of this process have received every request that a client waits for, even if they never respond. */
function areRequestsInFlight(): boolean {
  return sent.size > handled;
}

const foreignBlocked = "198.51.100.200";
const foreignAllowed = "192.0.2.200";
const blockedBefore = ["203.0.113.1", "203.0.113.2", "203.0.113.3"];
const blockedAfter = ["203.0.113.3", "203.0.113.4", "2001:db8::5"];
const allowedBefore = ["192.0.2.1", "192.0.2.2"];
const allowedAfter = ["192.0.2.2", "192.0.2.3"];

/** From before to after: an Allow-add, two Block-adds, two Block-removals, an Allow-removal. */
const writes: Readonly<Record<string, FaultMatch>> = {
  "the first write": { method: "POST", path: "/api/allowlist_ip" },
  "a middle write": { method: "POST", path: "/api/blocklist_ip", nth: 2 },
  "the first removal": { method: "DELETE", path: "/api/blocklist_ip" },
  "the last write": { method: "DELETE", path: "/api/allowlist_ip" },
};
const reads: Readonly<Record<string, FaultMatch>> = {
  "the read of the origins": { method: "GET", path: "/api/origins" },
  "the first read of the blocklist": { method: "GET", path: "/api/blocklist_ips" },
  "the first read of the allowlist": { method: "GET", path: "/api/allowlist_ips" },
  "the last read of the blocklist": { method: "GET", path: "/api/blocklist_ips", nth: 2 },
  "the last read of the allowlist": { method: "GET", path: "/api/allowlist_ips", nth: 2 },
};

const either = (effect: FaultEffect): FaultEffect[] => [
  { ...effect, afterEffect: false },
  { ...effect, afterEffect: true },
];
const effects: readonly FaultEffect[] = [
  ...either({ kind: "Timeout" }),
  ...either({ kind: "Reset" }),
  ...either({ kind: "RateLimited", retryAfterSeconds: 1 }),
  { kind: "RateLimited" },
  { kind: "RateLimited", retryAfterDateInMs: 1000 },
  ...either({ kind: "ServerError" }),
  ...either({ kind: "SuccessFalse" }),
  ...either({ kind: "Redirect" }),
  ...either({ kind: "EchoKey" }),
  ...either({ kind: "EchoKey", status: 500 }),
  ...either({ kind: "Respond", body: "{}" }),
  ...either({ kind: "NotJson" }),
  { kind: "Slow", delayMs: 20 },
  { kind: "TruncatedBody" },
  { kind: "CutJson" },
  { kind: "WrongDomain" },
  { kind: "HugeBody", bytes: 66 * 1_048_576 },
  { kind: "ListAsObject" },
  { kind: "StaleList" },
  { kind: "StaleList", delayMs: 60_000 },
  { kind: "Late" },
];

const instanceSpec = "  guards: {maxRemovals: 1000, maxRemovalPercent: 100}\n";
const inventoryFile = ".wafsync/inventory/shop/main.txt";
/** Refused writes are not retried before this time. */
const refusedForMs = 3_660_000;
/** How often a person repeats `apply` after it has given up. */
const runsMax = 4;
/** The time of one run with all its timeouts and backoffs. */
const runMsMax = 3_600_000;

let clock: VirtualClock;
let simulator: Simulator;
/** The inventory after the former rules are applied. */
let stateBefore: string | undefined;
const told: string[] = [];

beforeAll(async () => {
  clock = createVirtualClock({ startMs: Date.now(), isBusy: areRequestsInFlight });
  simulator = await startSimulator({ keys: [{ key: testKey, domain: testDomain }], clock });
});

afterAll(async () => {
  await simulator.close();
});

beforeEach(() => {
  simulator.reset();
  told.length = 0;
});

/** Does one `apply`. Only the files remain of the previous one. */
async function applyOnce(files: ScratchDirectory): Promise<InstanceResult> {
  const opened = await openStandalone({
    directory: files.path,
    stateDirectory: `${files.path}/.wafsync`,
    baseUrls: { allowInsecureHttp: true, allowedBaseUrls: undefined, allowPrivateNetworks: true },
    feedPolicy: { allowInsecureHttp: true, allowPrivateFeeds: true },
    version: "0.0.0",
    environmentKey: undefined,
    isDryRun: false,
    command: "wafsync apply",
    clock,
    random: () => 0.5,
    redactor: new Redactor(),
    stopping: createStopping(clock),
    observer: { waiting: (_instance, why) => told.push(why) },
    onEvent: (_meta, event) => told.push(event.message),
  });
  if (!opened.ok) throw new Error(opened.problem);
  try {
    const [result] = await opened.standalone.applyOnce(async () => undefined);
    if (result === undefined) throw new Error("There is no instance.");
    return result;
  } finally {
    await opened.standalone.close();
  }
}

async function runOnce(files: ScratchDirectory): Promise<InstanceResult> {
  let isOver = false;
  const running = applyOnce(files).finally(() => (isOver = true));
  running.catch(() => undefined);
  await clock.advanceUntil(() => isOver, runMsMax);
  return await running;
}

async function runUntilSynced(files: ScratchDirectory): Promise<void> {
  for (let run = 1; run <= runsMax; run += 1) {
    const { outcome } = await runOnce(files);
    told.push(JSON.stringify(outcome.result));
    if (outcome.result.kind === "Done" && outcome.facts?.plan?.operations.length === 0) return;
  }
  throw new Error(`The declared state was not reached: ${told.join("\n")}`);
}

async function declare(files: ScratchDirectory, block: readonly string[], allow: readonly string[]): Promise<void> {
  const rules =
    ruleDocument("block", { addresses: block }) + ruleDocument("allow", { action: "Allow", addresses: allow });
  await files.write("rules.yaml", rules);
}

/** A 400: the API reports that it refused the write. With `afterEffect`, this is wrong. */
function isRefusal({ kind, status }: FaultEffect): boolean {
  return kind === "EchoKey" && status === undefined;
}

/** Faults of pages of logs, which `apply` does not read. */
const logFaults: ReadonlySet<FaultKind> = new Set(["RepeatedPage", "MissingRows", "BrokenEntry"]);

describe("Every kind of fault", () => {
  test("of the lists and origins occurs in this file", () => {
    const kinds = faultKinds.filter((kind) => !logFaults.has(kind));
    expect(new Set(effects.map(({ kind }) => kind))).toStrictEqual(new Set(kinds));
  });
});

/** The WAF and the state directory after the current rules are applied. */
async function syncedFiles(): Promise<ScratchDirectory> {
  const files = await scratchDirectory({
    "main.yaml": instanceDocument(simulator.baseUrl, { spec: instanceSpec }),
    "secret.yaml": secretDocument(),
  });
  const waf = simulator.waf(testKey);
  waf.add("blocklist", [foreignBlocked]);
  waf.add("allowlist", [foreignAllowed]);
  await declare(files, blockedBefore, allowedBefore);
  if (stateBefore === undefined) {
    await runUntilSynced(files);
    stateBefore = await readFile(join(files.path, inventoryFile), "utf8");
  } else {
    waf.add("blocklist", blockedBefore);
    waf.add("allowlist", allowedBefore);
    await files.write(inventoryFile, stateBefore);
  }
  await declare(files, blockedAfter, allowedAfter);
  return files;
}

async function expectDeclared(files: ScratchDirectory): Promise<void> {
  const waf = simulator.waf(testKey);
  expect(waf.counters.faults).toBe(1);
  expect(waf.blocklist.toSorted()).toStrictEqual([foreignBlocked, ...blockedAfter].toSorted());
  expect(waf.allowlist.toSorted()).toStrictEqual([foreignAllowed, ...allowedAfter].toSorted());
  const { changes, refusals } = waf.counters;
  await runUntilSynced(files);
  expect(waf.counters).toMatchObject({ changes, refusals });
  expect(waf.overlaps).toBe(0);
  expect(simulator.internalErrors).toStrictEqual([]);
  const everythingTold = told.join("\n");
  expect(keySpellings().filter((spelling) => everythingTold.includes(spelling))).toStrictEqual([]);
}

const named = (effect: FaultEffect) => [JSON.stringify(effect), effect] as const;

/** Testing every effect at every moment takes minutes, so most runs test each effect at only one moment, in rotation. */
function playedAt(moments: Readonly<Record<string, FaultMatch>>, effect: FaultEffect): [string, FaultMatch][] {
  const all = Object.entries(moments);
  const first = effects.indexOf(effect) % all.length;
  return [...all.slice(first), ...all.slice(0, first)].slice(0, caseCount(all.length));
}

const withoutAnswer = [
  ...either({ kind: "Timeout" }),
  ...either({ kind: "Reset" }),
  ...either({ kind: "ServerError" }),
  ...either({ kind: "RateLimited", retryAfterSeconds: 1 }),
  { kind: "CutJson" } as const,
];

describe.each(["POST", "DELETE"])("A write of an origin (%s)", (method) => {
  test.each(withoutAnswer.map(named))("that meets %s is made exactly once in the end", async (_, effect) => {
    await using files = await syncedFiles();
    const waf = simulator.waf(testKey);
    if (method === "DELETE") {
      await files.write("origin.yaml", originDocument("old", "old.shop.example"));
      await runUntilSynced(files);
      await files.remove("origin.yaml");
    }
    await files.write("new.yaml", originDocument("new", "new.shop.example", "Backup"));
    simulator.addFaults({ match: { method, path: "/api/origins" }, effect });
    await runUntilSynced(files);
    await expectDeclared(files);
    expect(waf.origins).toStrictEqual([{ host: "new.shop.example", type: "backup" }]);
  });
});

describe.each(effects.map(named))("After %s", (_, effect) => {
  test.each(playedAt(writes, effect))("at %s, exactly the declared state is reached and managed", async (_, match) => {
    await using files = await syncedFiles();
    const waf = simulator.waf(testKey);
    simulator.addFaults({ match, effect });
    await runUntilSynced(files);
    if (isRefusal(effect)) {
      await clock.advance(refusedForMs);
      await runUntilSynced(files);
    }
    await expectDeclared(files);

    // Managed entries are removed when no rule declares them any longer.
    await declare(files, [], []);
    await runUntilSynced(files);
    // An entry that exists although the API refused to add it was added by another writer.
    const disowned = isRefusal(effect) && effect.afterEffect === true && match.method === "POST" ? 1 : 0;
    expect(waf.blocklist.length + waf.allowlist.length).toBe(2 + disowned);
    expect(waf.has("blocklist", foreignBlocked) && waf.has("allowlist", foreignAllowed)).toBe(true);
  });
});

describe.each(effects.filter(({ afterEffect }) => afterEffect !== true).map(named))("After %s", (_, effect) => {
  test.each(playedAt(reads, effect))("at %s, the declared state is reached", async (_, match) => {
    await using files = await syncedFiles();
    simulator.addFaults({ match, effect });
    await runUntilSynced(files);
    await expectDeclared(files);
  });
});
