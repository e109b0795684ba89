// A plan has a hash, by which `apply` writes what was reviewed and nothing else, and `--base` tells a change from drift.
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { runFaster, runWafsync } from "../support/processes/wafsync-process.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";
import {
  cacheClearDocument,
  instanceDocument,
  originDocument,
  ruleDocument,
  testDomain,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";

runFaster();

interface PlanJson {
  readonly hash: string;
  readonly instances: readonly {
    readonly outcomes: readonly { readonly value: string; readonly isDrift?: true }[];
  }[];
}

async function planOf(folder: WafFolder, ...more: readonly string[]): Promise<PlanJson> {
  const { stdout } = await folder.run("plan -o json", ...more);
  return JSON.parse(stdout) as PlanJson;
}

async function hashOf(folder: WafFolder): Promise<string> {
  return (await planOf(folder)).hash;
}

async function declare(folder: WafFolder, addresses: readonly string[], spec = ""): Promise<void> {
  await folder.files.write("rule.yaml", ruleDocument("hosts", { addresses, spec }));
}

function blocked({ simulator }: WafFolder): readonly string[] {
  return simulator.waf(testKey).blocklist;
}

function writes({ simulator }: WafFolder): number {
  return simulator.requests().filter(({ method }) => method !== "GET").length;
}

describe("The hash of a plan", () => {
  test("is the same in every format, and on another machine with the same files, state and WAF", async () => {
    await using folder = await wafFolder();
    await declare(folder, ["192.0.2.1", "192.0.2.2"]);
    expect((await folder.run("apply")).code).toBe(0);
    await declare(folder, ["192.0.2.2", "192.0.2.3", "192.0.2.4"]);
    const hash = await hashOf(folder);
    expect(hash).toMatch(/^[0-9a-f]{12}$/);
    expect((await folder.run("plan")).stdout).toContain(`\nPlan hash: ${hash}\n`);
    expect((await folder.run("plan -o markdown")).stdout).toContain(`<p>Plan hash: ${hash}</p>`);

    await using other = await scratchDirectory({});
    await cp(folder.path, join(other.path, "elsewhere"), { recursive: true });
    await other.remove("elsewhere/rule.yaml");
    const lines = ["192.0.2.4", "192.0.2.3", "192.0.2.2"];
    await other.write("elsewhere/a/renamed.yaml", ruleDocument("renamed", { addresses: lines }));
    const from = ["-f", join(other.path, "elsewhere"), "--allow-insecure-http"];
    const later = { laterMs: 3_600_000 };
    const { stdout } = await runWafsync(["plan", ...from, "-o", "json"], later);
    expect((JSON.parse(stdout) as PlanJson).hash).toBe(hash);
  });

  test("changes with everything that apply would do", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovals: 1}\n");
    const hashes: string[] = [await hashOf(folder)];
    const note = async (): Promise<void> => void hashes.push(await hashOf(folder));
    for (const [file, document] of [
      ["rule", ruleDocument("hosts", { addresses: ["192.0.2.1"] })],
      ["rule", ruleDocument("hosts", { addresses: ["192.0.2.9"] })],
      ["rule", ruleDocument("hosts", { action: "Allow", addresses: ["192.0.2.9"] })],
      ["origin", originDocument("standby", "standby.example.com")],
      ["origin", originDocument("standby", "standby.example.com", "Backup")],
      ["clear", cacheClearDocument("release", "one")],
    ] as const) {
      await folder.files.write(`${file}.yaml`, document);
      await note();
    }
    await declare(folder, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    expect((await folder.run("apply")).code).toBe(0);
    expect(await hashOf(folder)).toBe(hashes[0]);
    await declare(folder, ["192.0.2.1"]);
    await note();
    await declare(folder, ["192.0.2.2"]);
    await note();
    folder.simulator.waf(testKey).add("blocklist", ["198.51.100.7"]);
    await declare(folder, ["192.0.2.2", "198.51.100.7"]);
    await note();
    const adopted = ruleDocument("hosts", { addresses: ["192.0.2.2", "198.51.100.7"] });
    await folder.files.write("rule.yaml", adopted.replace("shop}", 'shop, annotations: {wafsync.dev/adopt: "true"}}'));
    await note();
    expect(new Set(hashes).size).toBe(hashes.length - 1);
    // An unmanaged entry that a rule declares is no change that `apply` makes.
    expect(hashes.at(-2)).toBe(hashes.at(-3));
  });

  test("is one for all instances of the folder", async () => {
    const keys = [
      { key: testKey, domain: testDomain },
      { key: "second-key-0123456789", domain: "www.second.example" },
    ];
    await using folder = await wafFolder({ keys });
    const second = instanceDocument(folder.simulator.baseUrl, { name: "second" }).replace("waf-key", "second-key");
    const secret = `---\napiVersion: v1\nkind: Secret\nmetadata: {name: second-key, namespace: shop}\nstringData: {apiKey: second-key-0123456789}\n`;
    await folder.files.write("second.yaml", second + secret);
    await declare(folder, ["192.0.2.1"]);
    const first = await hashOf(folder);
    const other = ruleDocument("other", { addresses: ["192.0.2.2"] }).replace("{name: main}", "{name: second}");
    await folder.files.write("other.yaml", other);
    const { code } = await folder.run("apply", "--plan", first);
    expect([code, writes(folder)]).toStrictEqual([1, 0]);
    expect((await folder.run("apply", "--plan", await hashOf(folder))).code).toBe(0);
    expect(folder.simulator.waf("second-key-0123456789").blocklist).toStrictEqual(["192.0.2.2"]);
  });
});

describe("apply --plan", () => {
  test("applies the plan with this hash, and writes nothing if the plan is another one", async () => {
    await using folder = await wafFolder();
    await declare(folder, ["192.0.2.1"]);
    const hash = await hashOf(folder);
    await declare(folder, ["192.0.2.1", "192.0.2.2"]);
    const refused = await folder.run("apply", "--plan", hash);
    const now = await hashOf(folder);
    expect([refused.code, writes(folder)]).toStrictEqual([1, 0]);
    expect(refused.stdout).toContain("+ blocklist  192.0.2.2");
    expect(refused.stdout).toContain(
      `\nNothing was changed: this plan has another hash than "${hash}".\nPlan hash: ${now}\n`,
    );
    expect(refused.stderr).toContain(`error: the plan has another hash than "${hash}", so nothing was changed.`);
    expect(refused.stderr).toContain(`wafsync apply ${folder.from.join(" ")} --plan ${now}\n`);
    const markdown = await folder.run("apply -o markdown", "--plan", hash);
    expect(markdown.stdout).toContain(`<p>Nothing was changed: this plan has another hash than &#34;${hash}&#34;.</p>`);

    const applied = await folder.run("apply", "--plan", now);
    expect([applied.code, applied.stderr]).toStrictEqual([0, ""]);
    expect(blocked(folder)).toStrictEqual(["192.0.2.1", "192.0.2.2"]);
    const again = await folder.run("apply", "--plan", now);
    expect([again.code, writes(folder)]).toStrictEqual([1, 2]);
    for (const text of ["", "yes"]) {
      const none = await folder.run("apply", `--plan=${text}`);
      expect([none.code, none.stderr]).toStrictEqual([1, expect.stringContaining(`another hash than "${text}"`)]);
    }
    // The hash of a plan without changes permits none.
    expect((await folder.run("apply", "--plan", await hashOf(folder))).code).toBe(0);
  });

  test("approves exactly the removals on hold of the plan, and once", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovals: 1}\n");
    const all = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
    await declare(folder, all);
    expect((await folder.run("apply")).code).toBe(0);
    await declare(folder, ["192.0.2.4"]);
    const hash = await hashOf(folder);
    const held = await folder.run("apply");
    expect([held.code, blocked(folder)]).toStrictEqual([1, all]);

    await folder.files.remove("rule.yaml");
    expect((await folder.run("apply", "--plan", hash)).code).toBe(1);
    expect(blocked(folder)).toStrictEqual(all);

    await declare(folder, ["192.0.2.4"]);
    const approved = await folder.run("apply", "--plan", hash);
    expect([approved.code, approved.stderr]).toStrictEqual([0, ""]);
    expect(blocked(folder)).toStrictEqual(["192.0.2.4"]);
    expect(await folder.everyFile()).toContain("3 removals are approved by `apply --plan`: ");

    await declare(folder, all);
    expect((await folder.run("apply")).code).toBe(0);
    await declare(folder, ["192.0.2.4"]);
    const again = await folder.run("apply", "--plan", hash);
    expect([again.code, blocked(folder).length]).toStrictEqual([1, all.length]);
    expect(await hashOf(folder)).not.toBe(hash);
  });

  test("records what an annotation approves first", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovals: 0}\n");
    await declare(folder, ["192.0.2.1", "192.0.2.3"]);
    await folder.files.write("other.yaml", ruleDocument("other", { addresses: ["192.0.2.2", "192.0.2.4"] }));
    expect((await folder.run("apply")).code).toBe(0);
    await declare(folder, ["192.0.2.3"]);
    await folder.files.write("other.yaml", ruleDocument("other", { addresses: ["192.0.2.4"] }));
    const approved = await folder.run("approve --yes --rule hosts --instance main");
    expect([approved.code, approved.stderr]).toStrictEqual([0, ""]);
    const applied = await folder.run("apply", "--plan", await hashOf(folder));
    expect([applied.code, applied.stderr]).toStrictEqual([0, ""]);
    expect(blocked(folder)).toStrictEqual(["192.0.2.3", "192.0.2.4"]);
  });

  test("adds what the approved removals make room for", async () => {
    await using folder = await wafFolder({}, "  guards: {maxRemovals: 0}\n  blocklist: {maxEntries: 1}\n");
    await declare(folder, ["192.0.2.1"]);
    expect((await folder.run("apply")).code).toBe(0);
    await declare(folder, ["192.0.2.2"]);
    const hash = await hashOf(folder);
    await declare(folder, ["192.0.2.3"]);
    expect((await folder.run("apply", "--plan", hash)).code).toBe(1);
    await declare(folder, ["192.0.2.2"]);
    expect((await folder.run("apply", "--plan", hash)).code).toBe(0);
    expect(blocked(folder)).toStrictEqual(["192.0.2.2"]);
  });

  test.each([
    ["an addition", ruleDocument("late", { addresses: ["192.0.2.99"] }), "AddEntry blocklist 192.0.2.99"],
    [
      "an adoption",
      ruleDocument("late", { addresses: ["192.0.2.98"] }).replace(
        "shop}",
        'shop, annotations: {wafsync.dev/adopt: "true"}}',
      ),
      "Adopt blocklist 192.0.2.98",
    ],
    ["a cache clear", cacheClearDocument("late", "one"), "ClearCache shop/late"],
  ])("stops before %s that was not reviewed, if the files change meanwhile", async (_, document, effect) => {
    await using folder = await wafFolder();
    folder.simulator.waf(testKey).add("blocklist", ["192.0.2.98"]);
    const addresses = Array.from({ length: 40 }, (_unused, index) => `198.51.100.${index}`);
    await declare(folder, addresses);
    const hash = await hashOf(folder);
    folder.simulator.settings.latencyMs = 50;
    const applying = folder.run("apply", "--plan", hash);
    while (blocked(folder).length < 4) await new Promise((resolve) => setTimeout(resolve, 20));
    await folder.files.write("late.yaml", document);
    const { code, stderr } = await applying;
    expect([code, stderr]).toStrictEqual([
      1,
      expect.stringContaining(`stopped before a change that was not reviewed (shop/main ${effect})`),
    ]);
    expect(blocked(folder)).not.toContain("192.0.2.99");
    expect(await folder.everyFile()).not.toMatch(/^192\.0\.2\.98 /m);
    expect(folder.simulator.waf(testKey).counters.cacheClears).toBe(0);
  });
});

describe("plan --base", () => {
  test("marks what the plan of the folder without the change contains as well", async () => {
    await using folder = await wafFolder();
    await declare(folder, ["192.0.2.1", "192.0.2.2", "192.0.2.3"]);
    expect((await folder.run("apply")).code).toBe(0);
    await using base = await scratchDirectory({});
    await mkdir(join(base.path, "waf"));
    for (const file of ["main.yaml", "secret.yaml", "rule.yaml"]) {
      await cp(join(folder.path, file), join(base.path, "waf", file));
    }
    folder.simulator.waf(testKey).remove("blocklist", ["192.0.2.3"]);
    await declare(folder, ["192.0.2.2", "192.0.2.3"]);
    const without = await planOf(folder);
    const { hash, instances } = await planOf(folder, "--base", join(base.path, "waf"));
    expect(hash).toBe(without.hash);
    expect(instances[0]?.outcomes.map(({ value, isDrift }) => [value, isDrift])).toStrictEqual([
      ["192.0.2.3", true],
      ["192.0.2.1", undefined],
    ]);
    const { stdout } = await folder.run("plan", "--base", join(base.path, "waf"));
    expect(stdout).toMatch(/- blocklist {2}192\.0\.2\.1 .*[^t]$/m);
    expect(stdout).toMatch(/\+ blocklist {2}192\.0\.2\.3 .*; drift, not this change$/m);
    expect(stdout).toContain("Plan: 1 to add, 1 to remove, one call each. 1 of these is drift.");

    await base.write("waf/rule.yaml", "a: [");
    const faulty = await folder.run("plan", "--base", join(base.path, "waf"));
    expect(faulty.stderr).toContain("is incomplete: drift may not be marked");
  });
});

describe("apply -o markdown", () => {
  test("says what was done, and what is left to do", async () => {
    await using folder = await wafFolder();
    await declare(folder, ["192.0.2.1", "192.0.2.2/24"]);
    const { code, stdout } = await folder.run("apply -o markdown");
    expect(code).toBe(1);
    expect(stdout.split("\n").slice(0, 6)).toStrictEqual([
      "<!-- wafsync-apply -->",
      "### wafsync apply",
      "",
      `<p><strong><code>shop/main</code></strong> → <code>${testDomain}</code></p>`,
      "",
      "**Applied: 1 added, 0 removed; blocklist 1 (1 managed), allowlist 0 (0 managed).**",
    ]);
    expect(stdout).toContain("Added 1 entry for WafIpRule shop/hosts: 192.0.2.1.");
    expect(stdout).toContain("has host bits");
    await declare(folder, ["192.0.2.1"]);
    expect((await folder.run("apply -o markdown")).stdout).toContain(
      "\nApplied: nothing to change; blocklist 1 (1 managed), allowlist 0 (0 managed).",
    );
  });
});
