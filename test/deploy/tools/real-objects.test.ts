// A real operator and real objects on a real API server: what Argo CD and Flux make of them, and what the actions of
// Argo CD do to them.
// Long: `npm run test:deploy` runs it.
import { actionsOf, deployText, settingsIn } from "../deploy-files.ts";
import { beforeAll, expect, test } from "@jest/globals";
import { parseAllDocuments } from "yaml";
import type { ResourceKind } from "../../../src/model/resource.ts";
import { judge } from "./judge.ts";
import { describeOperator } from "../../support/worlds/operator-suite.ts";
import { withToolsIn } from "./tools-suite.ts";
import { addresses, cacheClear, keySecret, type Manifest, origin, rule } from "../../support/builders/manifests.ts";
import type { WafsyncObject } from "../../support/worlds/status-history.ts";

/** The fields below each top-level field, such as `{ "f:spec": ["f:suspend"] }`. */
function namesOf(fields: Readonly<Record<string, object>>): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, inner]) => [name, Object.keys(inner).filter((one) => one !== ".")]),
  );
}

await withToolsIn(describeOperator, "GitOps tools and a real operator", (tools, world) => {
  let settings: Readonly<Record<string, string>>;
  beforeAll(async () => {
    settings = await settingsIn("argocd/argocd-cm.yaml");
    await world().startOperator();
  });

  async function present(kind: ResourceKind, namespace: string, name: string): Promise<WafsyncObject> {
    const object = await world().read(kind, namespace, name);
    if (object === undefined) throw new Error(`there is no ${kind} ${namespace}/${name}`);
    return object;
  }

  /** Such as "Healthy, Current": what Argo CD and Flux say. */
  async function verdict(kind: ResourceKind, namespace: string, name: string): Promise<string> {
    const object = await present(kind, namespace, name);
    const script = settings[`resource.customizations.health.wafsync.dev_${kind}`] ?? "";
    const [argo] = await judge(tools.files.judge, "health", [{ object, script }]);
    const [flux] = await judge(tools.files.judge, "kstatus", [{ object }]);
    return `${argo?.status ?? argo?.error}, ${flux?.status ?? flux?.error}`;
  }

  async function becomes(kind: ResourceKind, namespace: string, name: string, wanted: string): Promise<void> {
    const look = async (): Promise<boolean> => (await verdict(kind, namespace, name)) === wanted;
    await world().eventually(`${kind} ${name} is ${wanted}`, look);
  }

  /** Runs an action as Argo CD does: the patch, or what is to be created, is sent to the API server. */
  async function act(name: string, kind: ResourceKind, namespace: string, objectName: string): Promise<WafsyncObject> {
    const object = await present(kind, namespace, objectName);
    const script = (await actionsOf(kind)).definitions.find((one) => one.name === name)?.["action.lua"] ?? "";
    const [answer] = await judge(tools.files.judge, "action", [{ object, script }]);
    const [impacted] = answer?.resources ?? [];
    if (impacted === undefined) throw new Error(`${name} on ${objectName}: ${answer?.error}`);
    const resource = impacted.resource as unknown as WafsyncObject & Manifest;
    if (impacted.operation === "create") await world().apply(resource);
    else {
      const { annotations } = resource.metadata;
      await world().patch(resource, { metadata: { annotations: annotations ?? {} }, spec: resource.spec });
    }
    return resource;
  }

  /** What others than the GitOps tool own outside the status: whoever owns a field too would take it from Git. */
  async function fieldsOfOthers(namespace: string, tool: string): Promise<string[]> {
    return (await world().objects(namespace)).flatMap(({ kind, metadata }) =>
      metadata.managedFields
        .filter(({ manager, subresource }) => manager !== tool && subresource !== "status")
        .map(({ fieldsV1 }) => `${kind} ${JSON.stringify(namesOf(fieldsV1))}`),
    );
  }

  test("what is as declared is Healthy and Current, and pauses, keys and requests show", async () => {
    const { namespace, waf } = await world().newInstance("gitops", { resyncInterval: "1h" });
    await world().apply(
      rule(namespace, "scanners", addresses(3)),
      origin(namespace, "spare", "spare.example.com"),
      cacheClear(namespace, "once"),
    );
    await world().allReady(namespace);
    for (const [kind, name] of [
      ["WafInstance", "waf"],
      ["WafIpRule", "scanners"],
      ["WafOrigin", "spare"],
      ["WafCacheClear", "once"],
    ] as const) {
      await becomes(kind, namespace, name, "Healthy, Current");
    }

    await act("suspend", "WafInstance", namespace, "waf");
    await world().apply(rule(namespace, "later", addresses(1, 10)));
    await becomes("WafInstance", namespace, "waf", "Suspended, InProgress");
    await becomes("WafIpRule", namespace, "later", "Suspended, InProgress");
    await becomes("WafIpRule", namespace, "scanners", "Healthy, Current");
    await act("resume", "WafInstance", namespace, "waf");
    await becomes("WafInstance", namespace, "waf", "Healthy, Current");
    await becomes("WafIpRule", namespace, "later", "Healthy, Current");

    const asked = await act("sync-now", "WafIpRule", namespace, "later");
    const at = (asked as unknown as Manifest).metadata.annotations?.["wafsync.dev/requested-at"];
    await world().eventually("the request is heard", async () => {
      const { status } = await present("WafIpRule", namespace, "later");
      return status?.["lastHandledRequest"] === at;
    });

    await world().apply(keySecret(namespace, "made+up/no=such%key"));
    await act("sync-now", "WafInstance", namespace, "waf");
    await becomes("WafInstance", namespace, "waf", "Degraded, Failed");
    await world().apply(keySecret(namespace, waf.key));
    await becomes("WafInstance", namespace, "waf", "Healthy, Current");
  });

  test("held removals are Suspended, and continue when they are approved from Argo CD", async () => {
    const { namespace, waf } = await world().newInstance("held", { resyncInterval: "1h" });
    await world().apply(rule(namespace, "many", addresses(20)));
    await world().allReady(namespace);
    await world().apply(rule(namespace, "many", addresses(1)));
    await becomes("WafInstance", namespace, "waf", "Suspended, Failed");
    expect(waf.view.blocklist).toHaveLength(20);
    await act("approve-removals", "WafInstance", namespace, "waf");
    await becomes("WafInstance", namespace, "waf", "Healthy, Current");
    expect(waf.view.blocklist).toHaveLength(1);
  });

  test("the example for Argo CD becomes Healthy wave by wave, and nothing differs from Git afterwards", async () => {
    const waf = world().newWaf();
    const { cluster, simulator } = world();
    await cluster.expectKubectl(["create", "namespace", "shop"]);
    const secret = ["create", "secret", "generic", "shop-waf-key", "-n", "shop", `--from-literal=apiKey=${waf.key}`];
    await cluster.expectKubectl(secret);
    const input = (await deployText("argocd/example/shop.yaml")).replaceAll(
      "https://waf.example.com",
      simulator.baseUrl,
    );
    const serverSide = ["--server-side", "--field-manager=argocd-controller", "-f", "-"];
    const waves = new Map<string, Manifest[]>();
    for (const document of parseAllDocuments(input)) {
      const manifest = document.toJS() as Manifest;
      const wave = manifest.metadata.annotations?.["argocd.argoproj.io/sync-wave"] ?? "";
      waves.set(wave, [...(waves.get(wave) ?? []), manifest]);
    }
    expect([...waves.keys()]).toStrictEqual(["0", "1", "2"]);
    for (const manifests of waves.values()) {
      const list = { apiVersion: "v1", kind: "List", items: manifests };
      await cluster.expectKubectl(["apply", ...serverSide], { input: JSON.stringify(list) });
      for (const { kind, metadata } of manifests) {
        await becomes(kind as ResourceKind, "shop", metadata.name, "Healthy, Current");
      }
    }
    expect(waf.view.blocklist).toHaveLength(2);
    expect(await fieldsOfOthers("shop", "argocd-controller")).toStrictEqual([
      'WafInstance {"f:metadata":["f:finalizers"]}',
    ]);

    await act("sync-now", "WafInstance", "shop", "shop");
    await act("suspend", "WafInstance", "shop", "shop");
    await becomes("WafInstance", "shop", "shop", "Suspended, InProgress");
    const differs = async (): Promise<string> =>
      (await cluster.runKubectl(["diff", ...serverSide, "--force-conflicts"], { input })).stdout;
    expect(await differs()).toBe("");
    // The check itself sees what is different from Git.
    await world().patch(rule("shop", "scanners", []), { spec: { addresses: [] } });
    expect(await differs()).toContain("198.51.100.0/24");
  });

  test("the cache is cleared from Argo CD", async () => {
    const { namespace } = await world().newInstance("clearing", { resyncInterval: "1h" });
    await world().allReady(namespace);
    const created = await act("clear-cache", "WafInstance", namespace, "waf");
    await becomes("WafCacheClear", namespace, created.metadata.name, "Healthy, Current");
  });
});
