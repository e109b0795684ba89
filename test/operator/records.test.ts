// The records of wafsync: what kubectl shows of them, and that they keep a namespace until their finalizers are removed.
// Long: `npm run test:deploy` runs it.
import { beforeAll, expect, test } from "@jest/globals";
import { addresses, apiVersion, instance, rule } from "../support/builders/manifests.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";

const foreign = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];

interface StoredRecord {
  readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] };
}

await describeOperator("the records of wafsync", (world) => {
  async function syncedInstance(prefix: string, spec: object = {}) {
    const made = await world().newInstance(prefix, { guards: { maxRemovalPercent: 100 }, ...spec });
    made.waf.view.add("blocklist", foreign);
    await world().apply(rule(made.namespace, "own", addresses(5)));
    await world().allReady(made.namespace);
    return made;
  }

  beforeAll(async () => {
    await world().startOperator();
  });

  test("are shown by kubectl, with columns, but not among the kinds that users declare", async () => {
    const { namespace } = await syncedInstance("shown");
    const { cluster } = world();
    const table = await cluster.expectKubectl(["get", "wafrec", "-n", namespace]);
    expect(table.split("\n")[0]?.split(/ +/)).toStrictEqual(["NAME", "INSTANCE", "TYPE", "AGE"]);
    expect(table).toMatch(/^waf-inventory +waf +Inventory +/m);
    expect(await cluster.expectKubectl(["get", "wafsync", "-n", namespace, "-o", "name"])).not.toContain("wafrecord");
    const yaml = await cluster.expectKubectl(["get", "wafrec", "-n", namespace, "-o", "yaml"]);
    expect(yaml).toMatch(/^ +"blocklist": \[\n[^\]]*"entries": \[\n +"198\.18\.0\.0",$/m);
    const explained = await cluster.expectKubectl(["explain", "wafrecord"]);
    expect(explained.replaceAll(/\s+/g, " ")).toContain("Written by wafsync; do not edit.");
  });

  // The commands for this are on docs/concepts/ownership.md, and run by test/pages/cluster.test.ts.
  test("without an operator, a namespace is gone once the finalizers of the instance and of its records are removed", async () => {
    const { namespace, waf } = await syncedInstance("ending", { deletionPolicy: "Delete" });
    const path = `/apis/${apiVersion}/namespaces/${namespace}/wafrecords`;
    const { items } = (await world().requests.expect({ path })) as { items: StoredRecord[] };
    const kept = items.filter(({ metadata }) => metadata.finalizers?.includes("wafsync.dev/keep-record"));
    expect(kept.map(({ metadata }) => metadata.name)).toContain("waf-inventory");
    await world().operator.end();
    const { cluster } = world();
    await cluster.expectKubectl(["delete", "namespace", namespace, "--wait=false"]);
    for (const { metadata } of [instance(namespace, ""), ...kept]) {
      const kind = metadata.name === "waf" ? "wafinstance" : "wafrecord";
      const change = ["--type=merge", "-p", '{"metadata":{"finalizers":null}}'];
      await cluster.expectKubectl(["patch", kind, metadata.name, "-n", namespace, ...change]);
    }
    await cluster.expectKubectl(["wait", "--for=delete", `namespace/${namespace}`, `--timeout=${slow(60)}s`]);
    expect(waf.view.blocklist).toHaveLength(8);
  });

  test("are for no role of people; the role edit writes rules, and only admins write instances", async () => {
    const { cluster } = world();
    const namespace = await world().newNamespace("people");
    const roles = ["view", "edit", "admin"] as const;
    for (const role of roles) {
      const binding = ["create", "rolebinding", role, `--clusterrole=${role}`, `--user=${role}`, "-n", namespace];
      await cluster.expectKubectl(binding);
    }
    const may = async (user: string, verb: string, resource: string): Promise<boolean> => {
      const asked = ["auth", "can-i", verb, `${resource}.wafsync.dev`, "-n", namespace, `--as=${user}`];
      return (await cluster.runKubectl(asked)).stdout.trim() === "yes";
    };
    await world().eventually("the aggregated roles", async () => await may("admin", "create", "wafinstances"));
    expect(await Promise.all(roles.map(async (role) => await may(role, "get", "wafinstances")))).not.toContain(false);
    expect(await Promise.all(roles.map(async (role) => await may(role, "create", "wafiprules")))).toStrictEqual([
      false,
      true,
      true,
    ]);
    expect(await may("edit", "create", "wafinstances")).toBe(false);
    for (const role of roles) {
      const verbs = ["get", "list", "create", "update", "patch", "delete", "deletecollection"];
      const allowed = await Promise.all(verbs.map(async (verb) => await may(role, verb, "wafrecords")));
      expect([role, ...allowed]).not.toContain(true);
    }
  });
});
