// Two operators with different selectors in one cluster: each calls only the WAFs of its own instances, also while an instance moves.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, apiVersion, instance, keySecret, rule } from "../support/builders/manifests.ts";
import type { OperatorProcess } from "../support/processes/operator-process.ts";
import { fast } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";

const label = "wafsync.dev/shard";
const leases = "/apis/coordination.k8s.io/v1/namespaces/wafsync-system/leases";

await describeOperator("several operators", (world) => {
  let first: OperatorProcess;

  beforeAll(async () => {
    const parameters = ["--leader-elect", "--lease-namespace", "wafsync-system", "--selector"];
    // An operator waits half a minute before its first call to an instance that it takes over.
    const haste = fast(8);
    first = await world().startOperator({ haste, parameters: [...parameters, `!${label}`] });
    await world().startOperator({ haste, parameters: [...parameters, `${label}=a`] });
  });

  async function labelled(prefix: string, labels: Readonly<Record<string, string>>) {
    const namespace = await world().newNamespace(prefix);
    const waf = world().newWaf();
    const declared = instance(namespace, world().simulator.baseUrl);
    const manifest = { ...declared, metadata: { ...declared.metadata, labels } };
    await world().apply(keySecret(namespace, waf.key));
    await world().apply(manifest);
    return { namespace, waf, manifest };
  }

  test("each hold a Lease, and reconcile all instances together", async () => {
    const made = [await labelled("plain", {}), await labelled("shard", { [label]: "a" })];
    for (const { namespace } of made) await world().apply(rule(namespace, "own", addresses(3)));
    // An object that refers to no instance belongs to the operator of its own labels.
    const lonely = rule(await world().newNamespace("lonely"), "lonely", addresses(1));
    await world().apply({ ...lonely, metadata: { ...lonely.metadata, labels: { [label]: "a" } } });
    await world().becomes("WafIpRule", lonely.metadata.namespace, "lonely", "Ready", "False InstanceNotFound");
    for (const { namespace, waf } of made) {
      await world().allReady(namespace);
      expect(waf.view.blocklist).toHaveLength(3);
    }
    const { items } = (await world().requests.expect({ path: leases })) as { items: { spec: object }[] };
    expect(items).toHaveLength(2);
  });

  test("hand an instance over when its labels change, and the former one makes no further call", async () => {
    const { namespace, waf, manifest } = await labelled("moves", {});
    await world().apply(rule(namespace, "own", addresses(3)));
    await world().allReady(namespace);
    await world().apply(rule(namespace, "own", addresses(4)));
    await world().allReady(namespace);
    // Nothing but the labels changes.
    const { requests } = waf.view.counters;
    await world().patch(manifest, { metadata: { labels: { [label]: "a" } } });
    await world().eventually("the other operator takes over", () => waf.view.counters.requests > requests);
    await world().apply(rule(namespace, "own", addresses(5)));
    await world().eventually("the other operator applies the change", () => waf.view.blocklist.length === 5);
    await world().allReady(namespace);
    await first.end();
    await world().apply(rule(namespace, "own", addresses(6)));
    await world().eventually("the other operator works alone", () => waf.view.blocklist.length === 6);
    const path = `/apis/${apiVersion}/namespaces/${namespace}/wafrecords`;
    const { items } = (await world().requests.expect({ path })) as { items: unknown[] };
    expect(items.length).toBeGreaterThan(0);
  });
});
