// The commands for people with a real API server, each with the permissions of its caller: a responder, who may write rules in one
// namespace but read neither Secrets nor records, and an administrator.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, configMap, instance, rule } from "../support/builders/manifests.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { slow } from "../support/processes/slowness.ts";
import { type FinishedProcess, runWafsync } from "../support/processes/wafsync-process.ts";
import { dayMs } from "../../src/model/texts.ts";
import { anEntry } from "../support/builders/log-entry.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { servePage } from "../support/worlds/open-page.ts";
import type { TestWaf } from "../support/worlds/operator-world.ts";

const rightsMs = 60_000;
const urgent = "203.0.113.9";

await describeOperator("the commands of an incident", (world) => {
  let namespace: string;
  let waf: TestWaf;
  let responder: string;

  const call = async (kubeconfig: string, ...words: string[]): Promise<FinishedProcess> =>
    await runWafsync([...words, "--kubeconfig", kubeconfig, "-n", namespace, "--allow-insecure-http"]);

  function jsonOf(finished: FinishedProcess): Record<string, unknown> {
    return JSON.parse(finished.stdout) as Record<string, unknown>;
  }

  beforeAll(async () => {
    await world().startOperator();
    ({ namespace, waf } = await world().newInstance("incident"));
    const { cluster } = world();
    const role = [
      ["rules", "create,get,list,patch,delete", "wafiprules.wafsync.dev"],
      ["instances", "get,list,patch", "wafinstances.wafsync.dev"],
      ["rest", "get,list", "waforigins.wafsync.dev,configmaps"],
    ] as const;
    await cluster.expectKubectl(["create", "serviceaccount", "responder", "-n", namespace]);
    for (const [name, verbs, resources] of role) {
      const what = [
        ...verbs.split(",").map((verb) => `--verb=${verb}`),
        ...resources.split(",").map((one) => `--resource=${one}`),
      ];
      await cluster.expectKubectl(["create", "role", name, ...what, "-n", namespace]);
      const to = [`--role=${name}`, `--serviceaccount=${namespace}:responder`, "-n", namespace];
      await cluster.expectKubectl(["create", "rolebinding", name, ...to]);
    }
    responder = await cluster.kubeconfigFor(namespace, "responder");
    const user = `--as=system:serviceaccount:${namespace}:responder`;
    await waitFor("the rights of the responder", rightsMs, async () => {
      const asked = await cluster.runKubectl(["auth", "can-i", "list", "configmaps", "-n", namespace, user]);
      return asked.stdout.trim() === "yes" ? true : undefined;
    });
  });

  test("a responder blocks an address among 500 foreign ones, sees why it is blocked, and ends the block", async () => {
    waf.view.add(
      "blocklist",
      addresses(500).map((text) => text.replace("198.18", "198.19")),
    );
    await world().apply(rule(namespace, "big", addresses(300)));
    const blocked = await call(responder, "block", urgent, "--for", "2h", "--reason", "scans", "-o", "json");
    expect([blocked.code, blocked.stderr]).toStrictEqual([0, expect.not.stringContaining("error")]);
    expect(waf.view.has("blocklist", urgent)).toBe(true);
    expect(jsonOf(blocked)).toMatchObject({ state: "Settled", rules: [{ name: "waf-block-203-0-113-9", namespace }] });
    await world().allReady(namespace);

    const why = await call(responder, "why", urgent, "-o", "json");
    expect(why.code).toBe(0);
    const [found] = jsonOf(why)["instances"] as { coverings: unknown[]; gaps: string[]; liveListsRead: boolean }[];
    expect(found).toMatchObject({
      verdict: "Blocked",
      liveListsRead: false,
      coverings: [
        {
          entry: urgent,
          state: "OnList",
          owners: [
            {
              rule: `${namespace}/waf-block-203-0-113-9`,
              places: ["spec.addresses[0]"],
              changedBy: `system:serviceaccount:${namespace}:responder`,
              changedWith: "wafsync-block",
            },
          ],
        },
      ],
    });
    expect(found?.gaps.join("\n")).toMatch(
      /not allowed to get Secret[^]*not allowed to list wafiprules in all namespaces[^]*not allowed to list wafrecords/,
    );

    const unblocked = await call(responder, "unblock", urgent);
    expect([unblocked.code, unblocked.stdout]).toStrictEqual([0, expect.stringContaining("the WAF shows the change")]);
    expect(waf.view.has("blocklist", urgent)).toBe(false);
    expect(await world().read("WafIpRule", namespace, "waf-block-203-0-113-9")).toBeUndefined();
    const reasons = (await world().events(namespace)).map(({ reason }) => reason);
    expect([reasons.includes("Ended"), reasons.includes("Expired")]).toStrictEqual([true, false]);
  });

  test("a rule that another command renews while `unblock` waits stays", async () => {
    const [address, name] = ["203.0.113.10", "waf-block-203-0-113-10"];
    await call(responder, "block", address);
    world().simulator.settings.latencyMs = slow(1_000);
    const unblocking = call(responder, "unblock", address);
    const stored = async () => await world().read("WafIpRule", namespace, name);
    await world().eventually("the rule expires", async () => (await stored())?.spec?.["expiresAt"] !== undefined);
    await world().patch(rule(namespace, name, []), { spec: { expiresAt: null } });
    world().simulator.settings.latencyMs = 0;
    expect([(await unblocking).code, waf.view.has("blocklist", address)]).toStrictEqual([1, true]);
    expect((await call(responder, "unblock", address)).code).toBe(0);
  });

  test("an administrator finds an address of a ConfigMap on the lists, with its line, and its complete history", async () => {
    const { kubeconfig } = world().cluster;
    await world().apply(
      configMap(namespace, "list", "# a feed\n192.0.2.0/26 # bad\n"),
      rule(namespace, "feed", [], { addressesFrom: [{ configMapKeyRef: { name: "list", key: "list.txt" } }] }),
    );
    await world().eventually("it is blocked", () => waf.view.has("blocklist", "192.0.2.0/26"));
    await world().allReady(namespace);
    const why = await call(kubeconfig, "why", "192.0.2.9", "-o", "json");
    const everywhere = ["--kubeconfig", kubeconfig, "-A", "--allow-insecure-http"];
    for (const words of [["status"], ["history"], ["why", "192.0.2.9"]]) {
      expect((await runWafsync([...words, ...everywhere])).stdout).toContain(`${namespace}/waf`);
    }
    expect(jsonOf(why)).toMatchObject({
      instances: [
        {
          verdict: "Blocked",
          liveListsRead: true,
          gaps: [],
          coverings: [
            {
              entry: "192.0.2.0/26",
              management: "Managed",
              owners: [{ rule: `${namespace}/feed`, places: [`ConfigMap ${namespace}/list, key list.txt, line 2`] }],
            },
          ],
        },
      ],
    });
    await world().eventually("the history is stored", async () => {
      const history = await call(kubeconfig, "history", urgent, "-o", "json");
      const events = (jsonOf(history)["events"] as { event: string }[]).map(({ event }) => event);
      return events.join(" ") === "Added Removed";
    });
    const refused = await call(responder, "history");
    expect([refused.code, refused.stderr]).toStrictEqual([
      2,
      expect.stringContaining("you are not allowed to list wafrecords"),
    ]);
  });

  test("a typo in the reference of a rule keeps its entries, and a command says the same about them as the operator", async () => {
    const { kubeconfig } = world().cluster;
    const right = rule(namespace, "typo", ["192.0.2.200"]);
    await world().apply(right);
    await world().eventually("it is blocked", () => waf.view.has("blocklist", "192.0.2.200"));
    const suspend = async (is: boolean): Promise<void> =>
      await world().patch(instance(namespace, ""), { spec: { suspend: is } });
    await suspend(true);
    await world().becomes("WafInstance", namespace, "waf", "Ready", "Unknown Suspended");
    await world().remove(right);
    const mistyped = rule(namespace, "typo", ["192.0.2.200"], { instanceRef: { name: "wav" } });
    await world().apply(mistyped);
    await suspend(false);
    const problem = `There is no WafInstance ${namespace}/wav; did you mean waf?`;
    await world().eventually("the operator says so", async () =>
      JSON.stringify(await world().read("WafInstance", namespace, "waf")).includes(problem),
    );
    const why = await call(kubeconfig, "why", "192.0.2.200");
    expect(why.stdout).toContain(problem);
    expect(waf.view.has("blocklist", "192.0.2.200")).toBe(true);
    await world().remove(mistyped);
    await world().eventually("it is let go", () => !waf.view.has("blocklist", "192.0.2.200"));
  });

  test("an administrator reads the blocked requests of an instance, and a responder without the Secret learns what to set", async () => {
    const { kubeconfig } = world().cluster;
    const timeMs = Date.now() - dayMs;
    const entry = anEntry({ timestamp: new Date(timeMs).toISOString(), request_path: `/?key=${waf.key}` });
    waf.view.logs.add({ ...entry, user_agent: "curl/8.5.0", country: "NL" }, timeMs);
    const period = ["--since", "yesterday", "--until", "yesterday"];
    const read = await call(kubeconfig, "logs", ...period, "-o", "ndjson");
    expect([read.code, JSON.parse(read.stdout)]).toMatchObject([0, { request_path: "/?key=[api key]" }]);
    const report = await call(kubeconfig, "report", ...period, "--instance", "waf", "--out", "-");
    expect([report.code, report.stderr]).toStrictEqual([0, expect.stringContaining("A report of 1 blocked request.")]);
    expect(report.stdout).toContain("Blocked requests of ");
    for (const command of ["logs", "report"]) {
      const refused = await call(responder, command);
      expect([refused.code, refused.stderr]).toStrictEqual([2, expect.stringMatching(/get Secret .*WAFSYNC_API_KEY/)]);
    }
    expect(read.stdout + report.stdout).not.toContain(waf.key);
  });

  test("a responder sees the removals on hold and approves exactly these", async () => {
    await world().apply(rule(namespace, "big", addresses(10)));
    await world().eventually("the removals are on hold", async () => {
      const status = await world().read("WafInstance", namespace, "waf");
      return typeof status?.status?.["heldPlan"] === "string";
    });
    const status = await call(responder, "status");
    expect([status.code, status.stdout]).toStrictEqual([
      1,
      expect.stringMatching(/290 removals from the blocklist, last declared by WafIpRule \S+\/big[^]*wafsync approve/),
    ]);
    // The status has only examples; who may read the lists and the record sees all.
    for (const [caller, count] of [
      [responder, 5],
      [world().cluster.kubeconfig, 290],
    ] as const) {
      const { groups } = jsonOf(await call(caller, "approve", "-o", "json")) as { groups: { examples: string[] }[] };
      expect(groups.map(({ examples }) => examples.length)).toStrictEqual([count]);
    }
    const { stdout } = await call(responder, "approve", "--list", "--rule", "big");
    expect(stdout).toMatch(/^Only the first removals of each rule are known: .*not allowed to /m);
    const approved = await call(responder, "approve", "--rule", "big", "--yes");
    expect([approved.code, approved.stdout]).toStrictEqual([0, expect.stringContaining("Approved on WafInstance")]);
    const left = () => addresses(300).filter((text) => waf.view.has("blocklist", text));
    await world().eventually("they are removed", () => left().length === 10);
    await world().allReady(namespace);
  });

  test("a viewer without permissions sees an explanation in wafsync ui, and no data", async () => {
    const { cluster } = world();
    const other = await world().newNamespace("blind");
    await cluster.expectKubectl(["create", "serviceaccount", "nobody", "-n", other]);
    const kubeconfig = await cluster.kubeconfigFor(other, "nobody");
    await using page = await servePage(["--kubeconfig", kubeconfig, "-n", namespace]);
    for (const path of ["/", `/instances/${namespace}/waf`, `/why?address=${urgent}`]) {
      const { status, text } = await page.get(path);
      expect([status, text.includes("You are not allowed to list wafinstances")]).toStrictEqual([403, true]);
      expect(text).not.toContain(waf.domain);
    }
    const { status, text } = await page.get("/summary");
    expect([status, JSON.parse(text)]).toStrictEqual([403, { error: expect.stringContaining("not allowed") }]);
    expect(page.process.printed()).toContain("warning: You are not allowed to list wafinstances");
  });
});
