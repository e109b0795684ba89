// The records of wafsync: what kubectl shows of them, and the recovery steps of the documentation, which are run as printed.
// Long: `npm run test:deploy` runs it.
import { chmod } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { addresses, apiVersion, instance, rule } from "../support/builders/manifests.ts";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import { type Ended, runToEnd } from "../support/control-plane/run-to-end.ts";
import { slow } from "../support/processes/slowness.ts";
import { readPage } from "../support/tidy/markdown-pages.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf } from "../support/worlds/operator-world.ts";
import { scratchDirectory } from "../support/worlds/scratch-directory.ts";

/** Ends commands that hang: a command that waits for a finalizer can wait forever. */
const timeoutMs = 120_000;

/** The page's block of commands that starts with this text, changed for an instance other than `shop` in the namespace `shop`. */
async function commandsOfPage(
  page: string,
  beginning: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const blocks = [...(await readPage(page)).matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, block = ""]) => block);
  const block = blocks.find((text) => text.trimStart().startsWith(beginning));
  if (block === undefined) throw new Error(`no block of commands on ${page} starts with ${beginning}`);
  return block
    .replaceAll("-n shop shop", `-n ${namespace} ${name}`)
    .replaceAll("-n shop", `-n ${namespace}`)
    .replaceAll("=shop", `=${name}`);
}

/** Stops at the first command that fails. */
async function runShell(cluster: ClusterAccess, script: string): Promise<Ended> {
  await using folder = await scratchDirectory();
  const kubectl = cluster.kubectl.map((word) => `'${word}'`).join(" ");
  await folder.write("kubectl", `#!/bin/sh\nexec ${kubectl} "$@"\n`);
  await chmod(join(folder.path, "kubectl"), 0o755);
  const environment = {
    PATH: `${folder.path}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: folder.path,
    KUBECONFIG: cluster.kubeconfig,
  };
  return await runToEnd("/bin/sh", ["-e", "-c", script], { environment, timeoutMs });
}

const foreign = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];

interface StoredRecord {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly unknown[];
  };
  readonly spec: {
    readonly type: string;
    readonly format: number;
    readonly text: string;
  };
}

await describeOperator("the records of wafsync", (world) => {
  const records = (namespace: string): string => `/apis/${apiVersion}/namespaces/${namespace}/wafrecords`;

  async function stored(namespace: string): Promise<StoredRecord[]> {
    const { items } = (await world().requests.expect({ path: records(namespace) })) as { items: StoredRecord[] };
    // The history is written in batches, later than the other records, and affects no decisions.
    return items.filter(({ spec }) => spec.type !== "History");
  }

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
    expect(yaml).toMatch(/^ +\[blocklist\]\n +198\.18\.0\.0 /m);
    const explained = await cluster.expectKubectl(["explain", "wafrecord"]);
    expect(explained.replaceAll(/\s+/g, " ")).toContain("Written by wafsync; do not edit.");
  });

  describe("the documented recovery", () => {
    test("of a damaged record works, and the instance starts from scratch", async () => {
      const { namespace, waf } = await syncedInstance("damaged", { deletionPolicy: "Delete" });
      const path = `${records(namespace)}/waf-inventory`;
      const contentType = "application/merge-patch+json";
      await world().requests.expect({ method: "PATCH", path, body: { spec: { format: 99 } }, contentType });
      await world().patch(instance(namespace, ""), {
        metadata: { annotations: { "wafsync.dev/requested-at": "now" } },
      });
      await world().eventually("it is unreadable", async () => {
        const ready = conditionOf(await world().read("WafInstance", namespace, "waf"), "Ready");
        return ready?.reason === "Blocked" && ready.message.includes("waf-inventory");
      });
      const name = { namespace, name: "waf" };
      const ended = await runShell(
        world().cluster,
        await commandsOfPage("docs/troubleshooting.md", "kubectl delete wafrecords", name),
      );
      expect([ended.code, ended.stderr]).toStrictEqual([0, ""]);
      await world().allReady(namespace);
      expect(await stored(namespace)).toMatchObject([{ spec: { format: 1 } }]);
      expect(waf.view.blocklist).toHaveLength(8);
    });

    test.each(["Delete", "Retain"])("of a namespace without an operator works with the policy %s", async (policy) => {
      const { namespace, waf } = await syncedInstance(`ending-${policy.toLowerCase()}`, { deletionPolicy: policy });
      const isKept = policy === "Delete";
      const [record] = await stored(namespace);
      expect(record?.metadata.finalizers ?? []).toStrictEqual(isKept ? ["wafsync.dev/keep-record"] : []);
      expect(record?.metadata.ownerReferences ?? []).toHaveLength(isKept ? 1 : 0);
      await world().operator.end();
      const { cluster } = world();
      await cluster.expectKubectl(["delete", "namespace", namespace, "--wait=false"]);
      const commands = await commandsOfPage("docs/concepts/ownership.md", "kubectl patch wafinstance", {
        namespace,
        name: "waf",
      });
      // With Retain, only the finalizer of the instance has to be removed.
      const ended = await runShell(cluster, isKept ? commands : (commands.split("\n")[0] ?? ""));
      expect([ended.code, ended.stderr]).toStrictEqual([0, ""]);
      await cluster.expectKubectl(["wait", "--for=delete", `namespace/${namespace}`, `--timeout=${slow(60)}s`]);
      expect(waf.view.blocklist).toHaveLength(8);
      await world().startOperator();
    });
  });
});
