// The records of wafsync, which tenants with the roles edit and admin of the namespace must not be able to change, and the recovery
// steps of the documentation, which are run as printed.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import type { ApiRequest } from "../support/control-plane/api-request.ts";
import { addresses, apiVersion, instance, keySecret, rule } from "../support/builders/manifests.ts";
import { waitFor } from "../support/builders/cluster-objects.ts";
import { slow } from "../support/processes/slowness.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import { conditionOf, kustomization } from "../support/worlds/operator-world.ts";
import { commandsOfPage, runShell } from "../support/worlds/shell-commands.ts";

const foreign = ["198.51.100.1", "198.51.100.2", "198.51.100.3"];
const rightsMs = 60_000;
const component = join(import.meta.dirname, "../../deploy/kustomize/components/migrate-config-map-records");

interface StoredRecord {
  readonly metadata: {
    readonly name: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly unknown[];
  };
  readonly spec: {
    readonly type: string;
    readonly format: number;
    readonly part: number;
    readonly parts: number;
    readonly data: Data;
  };
}
type Data = Readonly<Record<string, string>>;

await describeOperator("the records of wafsync", (world) => {
  const records = (namespace: string): string => `/apis/${apiVersion}/namespaces/${namespace}/wafrecords`;

  async function stored(namespace: string): Promise<StoredRecord[]> {
    const { items } = (await world().requests.expect({ path: records(namespace) })) as { items: StoredRecord[] };
    // The history is written in batches, later than the other records, and affects no decisions.
    return items.filter(({ spec }) => spec.type !== "History");
  }

  async function uidOf(namespace: string): Promise<string> {
    const path = `/apis/${apiVersion}/namespaces/${namespace}/wafinstances/waf`;
    return ((await world().requests.expect({ path })) as { metadata: { uid: string } }).metadata.uid;
  }

  /** An inventory in the format of wafsync 0.1, with values for all of its sections. */
  async function leaveConfigMap(namespace: string, data: Data, token?: string): Promise<number> {
    const owner = { apiVersion, kind: "WafInstance", name: "waf", uid: await uidOf(namespace), controller: true };
    const metadata = {
      name: "waf-wafsync-inventory-1",
      labels: { "app.kubernetes.io/managed-by": "wafsync", "wafsync.dev/instance": "waf" },
      finalizers: ["wafsync.dev/keep-inventory"],
      ownerReferences: [{ ...owner, blockOwnerDeletion: false }],
    };
    const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    return (await world().cluster.request({ method: "POST", path, body }, token)).status;
  }

  /** Declares foreign entries as managed, and approves their removal. */
  function forgery(domain: string): Data {
    const blocklist = foreign.map((entry) => `${entry}\n`).join("");
    const sections = { allowlist: "", origins: "", refused: "", disputes: "", triggers: "" };
    const approval = `0123456789ab\n${foreign.map((entry) => `0123456789ab blocklist ${entry}\n`).join("")}`;
    return { format: "1", shard: "1/1", domain, blocklist, ...sections, approval };
  }

  async function tenant(namespace: string, role: string): Promise<string> {
    const { cluster } = world();
    await cluster.expectKubectl(["create", "serviceaccount", role, "-n", namespace]);
    const subject = [`--clusterrole=${role}`, `--serviceaccount=${namespace}:${role}`, "-n", namespace];
    await cluster.expectKubectl(["create", "rolebinding", role, ...subject]);
    const user = `--as=system:serviceaccount:${namespace}:${role}`;
    await waitFor("the rights of the tenant", rightsMs, async () => {
      const asked = await cluster.runKubectl([
        "auth",
        "can-i",
        "create",
        "wafiprules.wafsync.dev",
        "-n",
        namespace,
        user,
      ]);
      return asked.stdout.trim() === "yes" ? true : undefined;
    });
    return await cluster.tokenFor(namespace, role);
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

  describe("can't be forged", () => {
    test.each(["edit", "admin"])("by a tenant with the role %s", async (role) => {
      const { namespace } = await syncedInstance(`forge-${role}`);
      const token = await tenant(namespace, role);
      const before = await stored(namespace);
      const name = before[0]?.metadata.name ?? "";
      const body = { apiVersion, kind: "WafRecord", metadata: { name: "waf-inventory-2" }, spec: before[0]?.spec };
      const contentType = "application/merge-patch+json";
      const change = { spec: { data: { blocklist: `${foreign.join("\n")}\n` } } };
      const path = records(namespace);
      const attempts: ApiRequest[] = [
        { path },
        { path: `${path}/${name}` },
        { method: "POST", path, body },
        { method: "PATCH", path: `${path}/${name}`, body: change, contentType },
        { method: "PUT", path: `${path}/${name}`, body: before[0] },
        { method: "DELETE", path: `${path}/${name}` },
        { method: "DELETE", path },
      ];
      for (const attempt of attempts) {
        const answer = await world().cluster.request(attempt, token);
        expect([attempt.method, answer.status]).toStrictEqual([attempt.method, 403]);
      }
      expect(await stored(namespace)).toStrictEqual(before);
    });

    test("by a ConfigMap of version 0.1, even if the operator is asked to migrate such ConfigMaps", async () => {
      const { namespace, waf } = await syncedInstance("forge-old");
      const token = await tenant(namespace, "edit");
      expect(await leaveConfigMap(namespace, forgery(waf.domain), token)).toBe(201);
      await world().operator.end();
      // An instance that no operator has seen yet, which nothing else distinguishes from one of 0.1.
      const fresh = await world().newInstance("forge-fresh", { guards: { maxRemovalPercent: 100 } });
      fresh.waf.view.add("blocklist", foreign);
      const freshToken = await tenant(fresh.namespace, "edit");
      expect(await leaveConfigMap(fresh.namespace, forgery(fresh.waf.domain), freshToken)).toBe(201);
      await world().startOperator({ parameters: ["--migrate-config-map-records"] });
      await world().apply(rule(fresh.namespace, "own", addresses(5)), rule(namespace, "own", addresses(3)));
      await world().eventually("the rules are on the WAFs", () => {
        return waf.view.blocklist.length === 6 && fresh.waf.view.blocklist.length === 8;
      });
      await world().allReady(namespace);
      await world().allReady(fresh.namespace);
      expect(foreign.filter((entry) => !waf.view.has("blocklist", entry))).toStrictEqual([]);
      expect(foreign.filter((entry) => !fresh.waf.view.has("blocklist", entry))).toStrictEqual([]);
      const status = (await world().read("WafInstance", fresh.namespace, "waf"))?.status;
      expect(status).toMatchObject({ blocklist: { managed: 5, foreign: 3 } });
      await world().operator.end();
      await world().startOperator();
    });
  });

  test("are shown by kubectl, with columns, but not among the kinds that users declare", async () => {
    const { namespace } = await syncedInstance("shown");
    const { cluster } = world();
    const table = await cluster.expectKubectl(["get", "wafrec", "-n", namespace]);
    expect(table.split("\n")[0]?.split(/ +/)).toStrictEqual(["NAME", "INSTANCE", "TYPE", "PART", "AGE"]);
    expect(table).toMatch(/^waf-inventory-1 +waf +Inventory +1 /m);
    expect(await cluster.expectKubectl(["get", "wafsync", "-n", namespace, "-o", "name"])).not.toContain("wafrecord");
    const yaml = await cluster.expectKubectl(["get", "wafrec", "-n", namespace, "-o", "yaml"]);
    expect(yaml).toMatch(/^ +blocklist: \|\n +198\.18\.0\.0 /m);
    const explained = await cluster.expectKubectl(["explain", "wafrecord"]);
    expect(explained.replaceAll(/\s+/g, " ")).toContain("Written by wafsync; do not edit.");
  });

  describe("the documented recovery", () => {
    test("of a damaged record works, and the instance starts from scratch", async () => {
      const { namespace, waf } = await syncedInstance("damaged", { deletionPolicy: "Delete" });
      const path = `${records(namespace)}/waf-inventory-1`;
      const contentType = "application/merge-patch+json";
      await world().requests.expect({ method: "PATCH", path, body: { spec: { format: 99 } }, contentType });
      await world().patch(instance(namespace, ""), {
        metadata: { annotations: { "wafsync.dev/requested-at": "now" } },
      });
      await world().eventually("it is unreadable", async () => {
        const synced = conditionOf(await world().read("WafInstance", namespace, "waf"), "Synced");
        return synced?.reason === "InventoryUnreadable" && synced.message.includes("waf-inventory-1");
      });
      const name = { namespace, name: "waf" };
      const ended = await runShell(
        world().cluster,
        await commandsOfPage("docs/troubleshooting.md", "kubectl delete wafrecords", name),
      );
      expect([ended.code, ended.stderr]).toStrictEqual([0, ""]);
      await world().allReady(namespace);
      expect(await stored(namespace)).toMatchObject([{ spec: { format: 2 } }]);
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

  describe("of version 0.1", () => {
    let folder: string;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "wafsync-migrate-"));
    });
    afterAll(async () => await rm(folder, { recursive: true, force: true }));

    /** Restores the state of 0.1: the same inventory in a ConfigMap, and no WafRecord. */
    async function backToConfigMaps(namespace: string): Promise<void> {
      const [record] = await stored(namespace);
      const { data, format, part, parts } = record?.spec ?? { data: {}, format: 0, part: 0, parts: 0 };
      const former = { ...data, format: String(format), shard: `${part}/${parts}` };
      expect(await leaveConfigMap(namespace, former)).toBe(201);
      await deleteRecords(namespace);
    }

    async function deleteRecords(namespace: string): Promise<void> {
      const script = await commandsOfPage("docs/troubleshooting.md", "kubectl delete wafrecords", {
        namespace,
        name: "waf",
      });
      expect(await runShell(world().cluster, script)).toMatchObject({ code: 0 });
    }

    async function eventOf(namespace: string, reason: string): Promise<string | undefined> {
      return (await world().events(namespace)).find((event) => event.reason === reason)?.message;
    }

    async function grantMigration(): Promise<void> {
      const text = [
        "apiVersion: kustomize.config.k8s.io/v1beta1",
        "kind: Kustomization",
        `resources: ["${relative(folder, kustomization)}"]`,
        `components: ["${relative(folder, component)}"]`,
      ];
      await writeFile(join(folder, "kustomization.yaml"), text.join("\n"));
      const rendered = await world().cluster.expectKubectl(["kustomize", folder]);
      expect(rendered).toContain("- --migrate-config-map-records");
      const role = parseAllDocuments(rendered)
        .map((document) => document.toJS() as { kind: string; metadata: { name: string } })
        .find(({ kind, metadata }) => kind === "ClusterRole" && metadata.name === "wafsync-operator");
      await world().cluster.expectKubectl(["apply", "--server-side", "--force-conflicts", "-f", "-"], {
        input: JSON.stringify(role),
      });
      await waitFor("the rights of the operator", rightsMs, async () => {
        const user = "--as=system:serviceaccount:wafsync-system:wafsync";
        const asked = await world().cluster.runKubectl(["auth", "can-i", "delete", "configmaps", "-A", user]);
        return asked.stdout.trim() === "yes" ? true : undefined;
      });
    }

    test("are ignored without the option, an event reports them, and the commands in the event remove them", async () => {
      const { namespace } = await syncedInstance("obsolete");
      await world().operator.end();
      await backToConfigMaps(namespace);
      await world().startOperator();
      await world().eventually("an event", async () => (await eventOf(namespace, "ObsoleteRecord")) !== undefined);
      await world().eventually("nothing is managed", async () => {
        const status = (await world().read("WafInstance", namespace, "waf"))?.status as {
          blocklist: { managed: number };
        };
        return status.blocklist.managed === 0;
      });
      const message = (await eventOf(namespace, "ObsoleteRecord")) ?? "";
      const commands = message.slice(message.indexOf("kubectl delete"));
      const ended = await runShell(world().cluster, commands);
      expect([ended.code, ended.stderr]).toStrictEqual([0, ""]);
      const left = ["get", "configmap", "-n", namespace, "-l", "wafsync.dev/instance", "-o", "name"];
      expect(await world().cluster.expectKubectl(left)).toBe("");
    });

    test("are migrated with the option, even after a start without it, and their entries are managed again", async () => {
      const { namespace, waf } = await syncedInstance("moved");
      await world().operator.end();
      await backToConfigMaps(namespace);
      await world().startOperator();
      await world().eventually("a record of its own", async () => (await stored(namespace)).length === 1);
      await world().operator.end();
      await deleteRecords(namespace);
      await grantMigration();
      await world().startOperator({ parameters: ["--migrate-config-map-records"] });
      await world().eventually("the ConfigMap is gone", async () => {
        const left = ["get", "configmap", "-n", namespace, "-l", "wafsync.dev/instance", "-o", "name"];
        return (await world().cluster.expectKubectl(left)) === "";
      });
      await world().apply(keySecret(namespace, waf.key));
      await world().remove(rule(namespace, "own", []));
      await world().eventually("what was its own is removed", () => waf.view.blocklist.length === foreign.length);
      expect(await eventOf(namespace, "ObsoleteRecord")).toBeDefined();
    });
  });
});
