// The commands for a directory, as scripts and people use them: exit codes, JSON and printed output, without any key.
import { readFile, stat } from "node:fs/promises";
import { describe, expect, test } from "@jest/globals";
import type { RequestHook } from "../../src/simulator/api-server.ts";
import {
  cacheClearDocument,
  instanceDocument,
  ruleDocument,
  secretDocument,
  testDomain,
  testKey,
  wafFolder,
  type WafFolder,
} from "../support/worlds/waf-folder.ts";
import { startWafsync } from "../support/processes/wafsync-process.ts";
import type { InstanceView } from "../../src/cli/instance-view.ts";

const blocked = ["192.0.2.1", "192.0.2.2", "2001:db8::1"];
const wrongKey = "a-wrong-key-0123456789";

function instanceIn(stdout: string): InstanceView {
  const { instances } = JSON.parse(stdout) as { instances: InstanceView[] };
  expect(instances).toHaveLength(1);
  return instances[0] as InstanceView;
}

async function folderWithRule(instanceSpec?: string, onRequest?: RequestHook): Promise<WafFolder> {
  const folder = await wafFolder({ onRequest }, instanceSpec);
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: blocked }));
  return folder;
}

test("plan exits with 1 while there are changes and with 0 if there are none; it writes nothing", async () => {
  await using folder = await folderWithRule();
  const { simulator } = folder;
  const planned = await folder.run("plan");
  expect(planned).toMatchObject({ code: 1, stderr: "" });
  expect(planned.stdout).toContain("Plan: 3 to add, 0 to remove, one call each.");
  expect(simulator.requests().every(({ method }) => method === "GET")).toBe(true);
  await expect(stat(`${folder.path}/.wafsync`)).rejects.toMatchObject({ code: "ENOENT" });

  const printed = await folder.run("plan -o json");
  expect(printed).toMatchObject({ code: 1, stderr: "" });
  const instance = instanceIn(printed.stdout);
  expect(instance).toMatchObject({
    namespace: "shop",
    name: "main",
    place: "main.yaml:2",
    domain: testDomain,
    end: "Done",
  });
  expect(instance.outcomes).toStrictEqual(
    blocked.map((value) => expect.objectContaining({ outcome: "Add", target: "blocklist", value }) as unknown),
  );
  expect(instance.objects.map(({ kind, name }) => `${kind} ${name}`)).toStrictEqual([
    "WafInstance main",
    "WafIpRule feed",
  ]);

  const applied = await folder.run("apply -o json");
  expect(applied).toMatchObject({ code: 0, stderr: "" });
  const result = instanceIn(applied.stdout);
  expect(result).toMatchObject({
    end: "Done",
    added: 3,
    removed: 0,
    outcomes: [],
    lists: { blocklist: { live: 3, managed: 3 } },
  });
  expect(result.objects.map(({ ready }) => ready)).toStrictEqual(["True", "True"]);

  expect(await folder.run("plan")).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringContaining("Nothing to do: the WAF matches the declared state.") as unknown,
  });
  const { length: before } = simulator.requests();
  const again = await folder.run("apply -o json");
  expect(again).toMatchObject({ code: 0, stderr: "" });
  // Unchanged lists cost three reads.
  expect(simulator.requests().length - before).toBe(3);
  expect(instanceIn(again.stdout)).toMatchObject({ added: 0, removed: 0 });
});

test("apply writes its events, with the entries and the rule that declares them, to a file", async () => {
  await using folder = await folderWithRule();
  await folder.run("apply");
  const lines = (await readFile(`${folder.path}/.wafsync/events.ndjson`, "utf8")).trim().split("\n");
  const told = { reason: "EntriesAdded", rule: "shop/feed", entries: blocked, count: 3 };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { kind: "WafInstance", name: "main", ...told },
    { kind: "WafIpRule", name: "feed", ...told },
  ]);
});

test("a cache clear is in the plan until it is complete; apply waits for its second attempt", async () => {
  await using folder = await wafFolder();
  await folder.files.write("clear.yaml", cacheClearDocument("after-release", "release-1"));
  const planned = await folder.run("plan");
  expect(planned.code).toBe(1);
  expect(planned.stdout).toContain("~ cache  shop/after-release  trigger release-1 is not handled yet");
  expect(planned.stdout).toContain("one call each, and one that clears the cache.");
  const waf = folder.simulator.waf(testKey);
  expect(waf.counters.cacheClears).toBe(0);

  folder.simulator.addFaults({ match: { path: "/clear" }, effect: { kind: "ServerError" } });
  const applied = await folder.run("apply -o json");
  expect(applied.code).toBe(0);
  expect(applied.stderr).toMatch(/^shop\/main: waiting \d s: 1 cache clear is pending\n$/);
  expect(instanceIn(applied.stdout).objects).toContainEqual(
    expect.objectContaining({ kind: "WafCacheClear", ready: "True", progress: "release-1" }),
  );
  expect(waf.counters.cacheClears).toBe(1);

  expect((await folder.run("plan")).code).toBe(0);
});

test("plan exits with 1 or 2 for removals on hold, a conflict and a suspended instance", async () => {
  await using folder = await wafFolder({}, "  guards: {maxRemovals: 0}\n");
  const addresses = [...blocked, "192.0.2.3"];
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses }));
  expect((await folder.run("apply")).code).toBe(0);
  await folder.files.write("rule.yaml", ruleDocument("feed", { addresses: addresses.slice(1) }));
  await folder.files.write("clear.yaml", cacheClearDocument("after-release", "release-1"));
  const plan = await folder.run("plan");
  expect(plan.code).toBe(1);
  expect(plan.stdout).toMatch(
    /! blocklist {2}192\.0\.2\.1 {2}on hold, last declared by WafIpRule shop\/feed: the guards/,
  );
  expect(plan.stdout).toContain(
    "Plan: 0 to add, 0 to remove, 1 on hold, one call each, and one that clears the cache.",
  );

  await folder.files.remove("clear.yaml");
  await folder.files.write("allow.yaml", ruleDocument("allow", { action: "Allow", addresses: addresses.slice(1, 2) }));
  const conflict = await folder.run("plan");
  expect(conflict.code).toBe(2);
  expect(conflict.stdout).toContain("WafIpRule shop/allow: Conflict, 1 entry is not applied");
  expect(conflict.stdout).toContain("1 on hold, 1 rejected.");

  await folder.files.remove("allow.yaml");
  await folder.files.write("more.yaml", ruleDocument("more", { addresses: ["192.0.2.99"] }));
  await folder.files.write("main.yaml", instanceDocument(folder.simulator.baseUrl, { spec: "  suspend: true\n" }));
  const unwritten = "(1 to add); not written, because the instance is suspended";
  expect((await folder.run("plan")).stdout).toContain(unwritten);
  const suspended = await folder.run("apply");
  expect([suspended.code, suspended.stdout]).toStrictEqual([1, expect.stringContaining(unwritten)]);

  // Nothing else is open.
  await folder.files.remove("more.yaml");
  const spec = "  suspend: true\n  guards: {maxRemovals: 0}\n";
  await folder.files.write("main.yaml", instanceDocument(folder.simulator.baseUrl, { spec }));
  const held = await folder.run("apply");
  expect([held.code, held.stdout]).toStrictEqual([1, expect.stringContaining("on hold")]);
});

test("apply exits with 1 if a person has to act an entry that the API rejected, which stays in the plan", async () => {
  await using folder = await folderWithRule();
  folder.simulator.addFaults({
    match: { method: "POST", ip: "192.0.2.2" },
    effect: { kind: "SuccessFalse", status: 400, message: "no such luck" },
    times: 10,
  });
  const applied = await folder.run("apply");
  expect(applied.code).toBe(1);
  expect(applied.stdout).toContain("rule.yaml:2: WafIpRule shop/feed: Rejected, 1 entry is not applied");
  expect(applied.stdout).toContain("no such luck");
  expect(applied.stdout).toMatch(/WafIpRule +shop +feed +2\/3 +False +Rejected/);
  const planned = await folder.run("plan");
  expect([planned.code, planned.stdout]).toStrictEqual([1, expect.stringContaining("0 to remove, 1 rejected.")]);
  const { stdout } = await folder.run("plan -o json");
  expect(instanceIn(stdout)).toMatchObject({
    outcomes: [{ outcome: "Rejected", value: "192.0.2.2", reason: expect.stringContaining("no such luck") }],
  });
  expect(folder.simulator.waf(testKey).blocklist.toSorted()).toStrictEqual(["192.0.2.1", "2001:db8::1"]);
});

describe("a wrong key", () => {
  test.each(["plan", "apply"])("makes %s exit with 2 after one to three calls, and say what to do", async (command) => {
    await using folder = await folderWithRule();
    await folder.files.write("secret.yaml", secretDocument(wrongKey));
    const finished = await folder.run(command);
    expect(finished.code).toBe(2);
    expect(finished.stderr).toMatch(
      /^error: main\.yaml:2: WafInstance shop\/main: .*refuses the API key .*Put a valid key into Secret shop\/waf-key \(spec\.apiKeySecretRef\) as apiKey/m,
    );
    expect(`${finished.stdout}${finished.stderr}`).not.toContain(wrongKey);
    expect(folder.simulator.requests().length).toBeLessThanOrEqual(3);
  });

  test("makes run wait, and continue as soon as the file has the right key", async () => {
    await using folder = await folderWithRule();
    await folder.files.write("secret.yaml", secretDocument(wrongKey));
    const running = startWafsync(["run", ...folder.from]);
    await running.hasPrinted(/Warning +WafInstance shop\/main +BadApiKey: .*Store the correct key in the Secret/);
    await folder.files.write("secret.yaml", secretDocument());
    await running.hasPrinted(/shop\/main: 3 added/);
    expect(folder.simulator.unauthorized).toBeLessThanOrEqual(3);
    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
  });
});

describe("run", () => {
  test("keeps a second process out of its state directory, and corrects changes by other writers", async () => {
    await using folder = await folderWithRule("  resyncInterval: 1s\n");
    const waf = folder.simulator.waf(testKey);
    const running = startWafsync(["run", ...folder.from]);
    await running.hasPrinted(/shop\/main.*: 3 added/);

    for (const command of ["apply", "run"]) {
      const second = await folder.run(command);
      expect(second.code).toBe(2);
      expect(second.stderr).toContain(`is in use by process ${running.child.pid}`);
      expect(second.stdout).toBe("");
    }
    expect((await folder.run("plan")).code).toBe(0);

    waf.remove("blocklist", ["192.0.2.2"]);
    await running.hasPrinted(/Warning +WafInstance shop\/main +DriftDetected: .*192\.0\.2\.2/);
    await running.hasPrinted(/shop\/main.*: 1 added, 0 removed/);
    expect(waf.blocklist.toSorted()).toStrictEqual(blocked.toSorted());

    running.child.kill("SIGTERM");
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(running.printed()).not.toMatch(/\n\s+at /);
    expect((await folder.run("apply")).code).toBe(0);
  });

  test("prints one JSON object per line with -o json, and continues while files are invalid", async () => {
    await using folder = await folderWithRule();
    const running = startWafsync(["run", ...folder.from, "-o", "json"]);
    await running.hasPrinted(/"added":3/);
    await folder.files.write("bad.yaml", ruleDocument("bad", { addresses: [] }).replace("action", "acton"));
    await running.hasPrinted(/error: bad\.yaml:7: spec\.acton: unknown field; did you mean action\?/);
    await folder.files.write("bad.yaml", ruleDocument("bad", { addresses: ["203.0.113.9"] }));
    await running.hasPrinted(/"added":1/);
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as InstanceView);
    expect(lines.every(({ namespace, name }) => `${namespace}/${name}` === "shop/main")).toBe(true);
    expect(lines.at(-1)?.objects.map(({ ready }) => ready)).toStrictEqual(["True", "True", "True"]);
  });
});

test("why shows the WAFs that concern the address, and counts the others in one line", async () => {
  const others = ["second", "third"].map((name) => ({ name, key: `${name}-key-0123456789` }));
  const keys = [
    { key: testKey, domain: testDomain },
    ...others.map(({ name, key }) => ({ key, domain: `${name}.example` })),
  ];
  await using folder = await wafFolder({ keys });
  for (const { name, key } of others) {
    const documents = instanceDocument(folder.simulator.baseUrl, { name }) + secretDocument(key);
    await folder.files.write(`${name}.yaml`, documents.replaceAll("waf-key", `${name}-key`));
  }
  folder.simulator.waf(testKey).add("blocklist", ["192.0.2.7"]);
  const onOne = await folder.run("why 192.0.2.7");
  expect(onOne.stdout).toMatch(
    /^192\.0\.2\.7 is blocked on shop\/main[^]*\n\n192\.0\.2\.7 is not blocked on 2 other instances\n$/,
  );
  expect([onOne.code, onOne.stdout.match(/ is /g)?.length]).toStrictEqual([0, 2]);
  const onNone = await folder.run("why 192.0.2.8");
  expect(onNone).toMatchObject({ code: 1, stdout: "192.0.2.8 is not blocked on 3 instances\n" });
  const json = await folder.run("why 192.0.2.8 -o json");
  expect(JSON.parse(json.stdout)).toHaveProperty("instances.length", 3);
});
