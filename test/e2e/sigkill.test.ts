// The bundle that ships is killed without warning at random moments while it reconciles a directory. Afterwards, the record and
// the WAF always agree, and the next process continues the work.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as realDelay } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { caseCount } from "../support/builders/case-count.ts";
import { seededRandom } from "../support/builders/seeded-random.ts";
import { testKey, wafFolder, type WafFolder } from "../support/worlds/waf-folder.ts";
import { declareAtRandom, ownedIn } from "./random-folder.ts";
import { runFaster, startWafsync } from "../support/processes/wafsync-process.ts";

runFaster();

const kills = caseCount(80);
const seed = 20_261_121;
const foreign = ["198.51.100.7", "198.51.100.8"];
const rules = { names: ["one", "two", "three"], poolSize: 120, counts: [5, 45] } as const;
const guards = "  guards: {maxRemovals: 10000, maxRemovalPercent: 100}\n";

async function owned({ files }: WafFolder): Promise<Set<string>> {
  const text = await readFile(join(files.path, ".wafsync/inventory/shop/main.txt"), "utf8").catch(() => "");
  return ownedIn(text);
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
    wanted = await declareAtRandom(folder, rules, random);
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
  const inTheMiddle = killedAt.filter((count) => count > 3).length;
  process.stdout.write(`\nSIGKILL over a directory: ${kills} kills, ${inTheMiddle} of them after the first reads.\n`);
});
