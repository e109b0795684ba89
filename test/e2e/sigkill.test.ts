// The bundle that ships is killed without warning at random moments while it reconciles a directory. Afterwards, the record and
// the WAF always agree, and the next process continues the work.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { originDocument, ruleDocument, testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";
import { everythingPrinted, startWafsync } from "../support/processes/wafsync-process.ts";

const kills = caseCount(80);
const seed = 20_261_121;
const foreign = ["198.51.100.7", "198.51.100.8"];
const poolSize = 120;
const rulesOf = ["one", "two", "three"];
const guards = "  guards: {maxRemovals: 10000, maxRemovalPercent: 100}\n";

/** Changes the declared state at random, and returns the expected blocklist. */
async function declareAtRandom({ files }: WafFolder, random: () => number): Promise<Set<string>> {
  const wanted = new Set<string>();
  for (const name of rulesOf) {
    const from = Math.floor(random() * poolSize);
    const count = 5 + Math.floor(random() * 40);
    const addresses = Array.from({ length: count }, (_, index) => `203.0.113.${(from + index) % poolSize}`);
    for (const address of addresses) wanted.add(address);
    await files.write(`${name}.yaml`, ruleDocument(name, { addresses }));
  }
  const type = random() < 0.5 ? "Alternate" : "Backup";
  await files.write("origin.yaml", originDocument("spare", "spare.shop.example", type));
  return wanted;
}

async function owned({ files }: WafFolder): Promise<Set<string>> {
  const text = await readFile(join(files.path, ".wafsync/inventory/shop/main.txt"), "utf8").catch(() => "");
  // The record also names removals. Only the line of a managed entry refers to its owners.
  return new Set(text.match(/^203\.0\.113\.\d+(?= )/gm));
}

test(`the bundle is killed ${kills} times, and no entry is lost or forgotten`, async () => {
  const random = seededRandom(seed);
  let requests = 0;
  let reached: () => void = () => undefined;
  await using folder = await wafFolder(
    {
      onRequest: () => {
        requests += 1;
        reached();
      },
    },
    `${guards}  consistencyWindow: 100ms\n`,
  );
  const { simulator } = folder;
  const waf = simulator.waf(testKey);
  waf.add("blocklist", foreign);
  simulator.settings.latencyMs = 3;
  const killedAt: number[] = [];
  let wanted = new Set<string>();
  for (let kill = 0; kill < kills; kill += 1) {
    wanted = await declareAtRandom(folder, random);
    // Some processes die while they start, most of them between two requests or during one.
    const after = random() < 0.15 ? 0 : 1 + Math.floor(random() * 30);
    const moreMs = random() * (after === 0 ? 300 : 8);
    requests = 0;
    const running = startWafsync(["run", ...folder.from]);
    if (after > 0) {
      const enough = new Promise<void>((resolve) => (reached = () => (requests >= after ? resolve() : undefined)));
      await Promise.race([enough, realDelay(10_000, undefined, { ref: false })]);
    }
    await realDelay(moreMs);
    running.child.kill("SIGKILL");
    await once(running.child, "exit");
    killedAt.push(requests);
    // The call that was in flight may still arrive.
    await realDelay(10);
    const known = await owned(folder);
    const unowned = waf.blocklist.filter((text) => !known.has(text) && !foreign.includes(text));
    expect({ kill, after, unowned }).toStrictEqual({ kill, after, unowned: [] });
    expect(waf.blocklist).toStrictEqual(expect.arrayContaining(foreign));
  }
  simulator.settings.latencyMs = 0;
  // The second run reads the lists again, so that removed entries leave the record.
  for (const _ of ["first", "second"]) {
    const once = await folder.run("apply");
    expect(once.code).toBe(0);
  }
  expect(new Set(waf.blocklist)).toStrictEqual(new Set([...foreign, ...wanted]));
  expect(await owned(folder)).toStrictEqual(wanted);
  expect(waf.origins.map(({ host }) => host)).toContain("spare.shop.example");
  expect(waf.flights.overlaps).toBe(0);
  expect(simulator.internalErrors).toStrictEqual([]);
  const texts = `${everythingPrinted()}${await folder.everyFile()}`;
  expect([testKey, encodeURIComponent(testKey)].filter((spelling) => texts.includes(spelling))).toStrictEqual([]);
  const inTheMiddle = killedAt.filter((count) => count > 3).length;
  process.stdout.write(`\nSIGKILL over a directory: ${kills} kills, ${inTheMiddle} of them after the first reads.\n`);
});
