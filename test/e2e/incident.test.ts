// An incident in a folder, with the bundle that ships: block an address while a long list is being applied, see why it is
// blocked, find it in the history, and unblock it; import a manually maintained list; approve removals.
// Long: `npm run test:deploy` runs it.
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { addresses } from "../support/builders/declare.ts";
import { slow } from "../support/processes/slowness.ts";
import { type FinishedProcess, runFaster, runWafsync, startWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import {
  configMapDocument,
  instanceDocument,
  ruleDocument,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";
import type { WhyView } from "../../src/cli/why-view.ts";

runFaster();

const urgent = "203.0.113.9";
const urgentRule = "shop/main-block-203-0-113-9";

function jsonOf({ stdout }: FinishedProcess): unknown {
  return JSON.parse(stdout) as unknown;
}

interface Happened {
  readonly events: readonly {
    readonly event: string;
    readonly values: readonly string[];
    readonly owners: readonly string[];
  }[];
}

/** How many calls the WAF received between the creation of the address's file and its own call. */
async function callsBefore({ path, simulator }: WafFolder, address: string): Promise<number> {
  const { ctimeMs } = await stat(join(path, `main-block-${address.replaceAll(".", "-")}.yaml`));
  const later = simulator.requests().filter(({ timeMs }) => timeMs > ctimeMs);
  return later.findIndex(({ method, parameters }) => method === "POST" && parameters["ip"] === address);
}

async function happenedTo(folder: WafFolder, address: string): Promise<readonly unknown[]> {
  const { events } = jsonOf(await folder.run(`history ${address} -o json`)) as Happened;
  return events.map(({ event, values, owners }) => [event, values, owners.map((owner) => owner.split(":")[0])]);
}

describe("An urgent address", () => {
  test("is blocked within three calls while a long list is being applied, explained, found in the history, and unblocked", async () => {
    // Slow enough that three calls are the time that the promise allows.
    await using folder = await wafFolder({ latencyMs: 100 });
    const waf = folder.simulator.waf(testKey);
    waf.add("blocklist", addresses(500, 60_000));
    await folder.files.write(
      "big.yaml",
      ruleDocument("big", { configMap: "list" }) + configMapDocument("list", addresses(10_000)),
    );
    const running = startWafsync(["run", ...folder.from]);
    await waitFor("the first entries", 30_000, async () => waf.blocklist.length > 510 || undefined);

    const blocked = await folder.run(`block ${urgent} --for 2h --reason scans -o json`);
    expect([blocked.code, blocked.stderr]).toStrictEqual([0, expect.stringContaining("another process is using")]);
    expect(waf.has("blocklist", urgent)).toBe(true);
    expect(jsonOf(blocked)).toMatchObject({ instance: "shop/main", state: "Settled" });
    expect([0, 1, 2]).toContain(await callsBefore(folder, urgent));

    const why = await folder.run(`why ${urgent} -o json`);
    expect(why.code).toBe(0);
    const [found] = (jsonOf(why) as { instances: WhyView[] }).instances;
    expect(found).toMatchObject({
      verdict: "Blocked",
      coverings: [{ entry: urgent, state: "OnList", management: "Managed" }],
    });
    expect(found?.coverings[0]?.owners).toMatchObject([
      { rule: urgentRule, places: ["main-block-203-0-113-9.yaml:17"] },
    ]);
    await waitFor("the history of the block", 30_000, async () => {
      return (await happenedTo(folder, urgent)).length > 0 || undefined;
    });

    const unblocked = await folder.run(`unblock ${urgent}`);
    expect([unblocked.code, unblocked.stdout]).toStrictEqual([0, expect.stringContaining(`${urgent} is not blocked`)]);
    expect(waf.has("blocklist", urgent)).toBe(false);
    expect(await readdir(folder.path)).not.toContain("main-block-203-0-113-9.yaml");
    expect((await folder.run(`why ${urgent}`)).code).toBe(1);

    // Long enough for the command to see it on the list, even on a busy machine.
    const brief = `${Math.ceil(slow(5_000) / 1_000)}s`;
    expect((await folder.run(`block ${urgent} --for ${brief}`)).code).toBe(0);
    await waitFor("the end of the block", 30_000, async () => !waf.has("blocklist", urgent) || undefined);
    // Neither command waited for the list.
    expect(waf.blocklist.length).toBeLessThan(10_500);
    running.child.kill("SIGTERM");
    await running.ended;
    expect(waf.flights.overlaps).toBe(0);
    expect(await happenedTo(folder, urgent)).toStrictEqual(
      ["Added", "Removed", "Added", "Removed"].map((event) => [event, [urgent], [`WafIpRule ${urgentRule}`]]),
    );
  });
});

describe("A manually maintained list", () => {
  test("is written to no file if a response is truncated", async () => {
    await using folder = await wafFolder();
    await using scratch = await scratchDirectory();
    folder.simulator.addFaults({
      match: { method: "GET", path: "/api/allowlist_ips" },
      effect: { kind: "TruncatedBody" },
    });
    const words = ["import", "--base-url", folder.simulator.baseUrl, "--allow-insecure-http", "--instance", "main"];
    const environment = { WAFSYNC_API_KEY: testKey };
    const cut = await runWafsync([...words, "--out", join(scratch.path, "waf")], { environment });
    expect([cut.code, cut.stderr]).toStrictEqual([2, expect.stringContaining("cannot be read")]);
    expect(await readdir(scratch.path)).toStrictEqual([]);
  });
});

describe("Removals on hold", () => {
  test("are grouped by the rule that last declared them, and approved without losing comments", async () => {
    await using folder = await wafFolder();
    const waf = folder.simulator.waf(testKey);
    const rules = async (count: number, ofTeam: number): Promise<void> => {
      const team = ruleDocument("team", { addresses: addresses(ofTeam, 1_000) });
      await folder.files.write("rule.yaml", `${ruleDocument("feed", { addresses: addresses(count) })}${team}`);
    };
    await rules(40, 40);
    const main = await readFile(join(folder.path, "main.yaml"), "utf8");
    await folder.files.write(
      "main.yaml",
      `# Ask the platform team.\n${main}  # Keep this short.\n  resyncInterval: 5m # often\n`,
    );
    expect((await folder.run("apply")).code).toBe(0);
    await rules(2, 3);
    expect((await folder.run("apply")).code).toBe(1);

    const status = await folder.run("status");
    expect([status.code, status.stdout]).toStrictEqual([
      1,
      expect.stringMatching(
        /38 removals from the blocklist, last declared by WafIpRule shop\/feed[^]*wafsync approve -f/,
      ),
    ]);
    const few = (await folder.run("approve")).stdout;
    expect(few).toMatch(/38 removals from the blocklist, [^]*198\.18\.0\.\d+, \S+, \S+, …\n/);
    const removed = addresses(40).slice(2).toSorted();
    const listed = (await folder.run("approve --list")).stdout.split("\n").map((line) => line.trim());
    expect(listed.filter((line) => removed.includes(line)).toSorted()).toStrictEqual(removed);
    const { groups } = jsonOf(await folder.run("approve -o json")) as { groups: { examples: string[] }[] };
    expect(groups[0]?.examples.toSorted()).toStrictEqual(removed);
    const asked = await folder.run("approve");
    expect([asked.code, asked.stderr]).toStrictEqual([2, expect.stringContaining("--yes")]);
    const none = await folder.run("approve --rule other");
    expect([none.code, none.stderr]).toStrictEqual([2, expect.stringContaining("was last declared by shop/other")]);
    expect((await folder.run("approve --rule feed --yes")).stdout).toContain("38 removals are on hold");
    const text = await readFile(join(folder.path, "main.yaml"), "utf8");
    for (const kept of ["# Ask the platform team.", "# Keep this short.", "# often"]) expect(text).toContain(kept);
    expect((await folder.run("apply")).code).toBe(1);
    expect(waf.blocklist).toHaveLength(42);
    expect((await folder.run("approve --yes")).code).toBe(0);
    expect((await folder.run("apply")).code).toBe(0);
    expect(waf.blocklist).toHaveLength(5);
    expect((await folder.run("approve")).stdout).toContain("Nothing is on hold");
    const { events } = jsonOf(await folder.run("history -o json")) as Happened;
    expect(new Set(events.map(({ event }) => event))).toStrictEqual(new Set(["Added", "Approved", "Removed"]));
  });

  test("are not approved in a file whose annotations are an alias: the command says what to add, and writes nothing", async () => {
    await using folder = await wafFolder();
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(40) }));
    expect((await folder.run("apply")).code).toBe(0);
    await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses(2) }));
    const shared = 'metadata: {labels: &shared {team: "shop"}, annotations: *shared, name: main, namespace: shop}';
    const main = instanceDocument(folder.simulator.baseUrl).replace(/metadata: .*/, shared);
    await folder.files.write("main.yaml", main);
    const { code, stderr } = await folder.run("approve --yes");
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /in .*main\.yaml cannot be edited by wafsync\n {2}Add this line to its metadata\.annotations: wafsync\.dev\/approve-removals: "\w+"/,
    );
    expect(await readFile(join(folder.path, "main.yaml"), "utf8")).toBe(main);
  });
});
