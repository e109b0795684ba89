// An instance that is deleted, recreated, renamed or moved: its entries stay on the WAF and stay managed.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { cacheClear, instance, keySecret, type Manifest, origin, rule } from "../support/builders/manifests.ts";
import { manyAddresses } from "../support/builders/feed-texts.ts";
import { runWafsync } from "../support/processes/wafsync-process.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, type TestWaf } from "../support/worlds/operator-world.ts";

await describeOperator("an instance under another name", (world) => {
  beforeAll(async () => {
    await world().startOperator();
  });

  /** How many writes the WAF has received, cache clears included. */
  function writesTo({ view: { counters } }: TestWaf): number {
    return counters.changes + counters.cacheClears;
  }

  function all(namespace: string, name = "waf"): Manifest[] {
    const spec = { instanceRef: { name } };
    return [
      rule(namespace, "feed", manyAddresses(300), spec),
      rule(namespace, "office", ["198.51.100.7"], { ...spec, action: "Allow" }),
      origin(namespace, "standby", "standby.example.com", spec),
      cacheClear(namespace, "deployed", { ...spec, trigger: "release 1" }),
    ];
  }

  /** The same instance, which continues another one. */
  function continuing(namespace: string, former: string, name: string): Manifest {
    const { metadata, ...rest } = instance(namespace, world().simulator.baseUrl);
    return { ...rest, metadata: { ...metadata, name, annotations: { "wafsync.dev/continues": former } } };
  }

  async function synced(namespace: string, name: string, managed: number): Promise<void> {
    await world().eventually(`${namespace}/${name} is Ready`, async () => {
      const read = await world().read("WafInstance", namespace, name);
      const blocklist = read?.status?.["blocklist"] as { managed?: number } | undefined;
      return conditionOf(read, "Ready")?.status === "True" && blocklist?.managed === managed;
    });
  }

  test("moves to another namespace under another name with 300 entries, without a write", async () => {
    const { namespace, waf } = await world().newInstance("moving");
    await world().apply(...all(namespace));
    await world().allReady(namespace);
    expect(waf.view.blocklist).toHaveLength(300);
    const writes = writesTo(waf);

    const target = await world().newNamespace("moved");
    await world().apply(keySecret(target, waf.key));
    await world().apply(continuing(target, `${namespace}/waf`, "front"));
    await world().eventually("the former instance says who continues it", async () => {
      const former = conditionOf(await world().read("WafInstance", namespace, "waf"), "Ready");
      return former?.reason === "Blocked" && former.message.includes(`${target}/front`);
    });
    // Its rules still refer to the former instance: their entries are not removed meanwhile.
    await world().eventually("the new instance keeps their entries", async () => {
      const held = conditionOf(await world().read("WafInstance", target, "front"), "SourceBroken");
      return held?.message.includes(`continues WafInstance ${namespace}/waf, which the object refers to`) === true;
    });
    await world().apply(...all(target, "front"));
    await synced(target, "front", 300);
    await world().remove(...all(namespace), instance(namespace, ""));
    await world().eventually(
      "the former instance is gone",
      async () => (await world().read("WafInstance", namespace, "waf")) === undefined,
    );
    await world().allReady(target);
    expect(writesTo(waf)).toBe(writes);
    expect(waf.view.blocklist).toHaveLength(300);
    expect((await world().events(target)).map(({ reason }) => reason)).toContain("RecordContinued");
    const words = ["--kubeconfig", world().cluster.kubeconfig, "-n", target, "-o", "json"];
    await world().eventually("the history is that of the former instance", async () => {
      const { stdout } = await runWafsync(["history", ...words]);
      const { events } = JSON.parse(stdout) as { events: { event: string; values: string[]; owners: string[] }[] };
      const added = events.filter(
        ({ event, owners }) => event === "Added" && owners[0] === `WafIpRule ${namespace}/feed`,
      );
      return added.flatMap(({ values }) => values).length === 300;
    });
  });
});
