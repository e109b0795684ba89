// The actions that Argo CD offers on our objects, run by the engine that it runs them with.
// Long: `npm run test:deploy` runs it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { parseResource } from "../../../src/kinds/parse-resource.ts";
import type { Answer } from "../../support/deploy/judge.ts";
import { judge } from "../../support/deploy/judge.ts";
import { describeWithTools } from "../../support/deploy/tools-suite.ts";

const settingsFile = join(import.meta.dirname, "..", "..", "..", "deploy", "argocd", "argocd-cm.yaml");

interface Actions {
  readonly "discovery.lua": string;
  readonly definitions: readonly { readonly name: string; readonly "action.lua": string }[];
}

function anObject(kind: string, spec: object, more: object = {}): Readonly<Record<string, unknown>> {
  const metadata = { name: "shop", namespace: "edge", uid: "6d0f7d1e-5d5c-4d53-9a53-5a3a5b1a7a11", generation: 1 };
  return { apiVersion: "wafsync.dev/v1alpha1", kind, metadata, spec, ...more };
}

const instanceSpec = {
  baseUrl: "https://waf.example.com",
  apiKeySecretRef: { name: "key", key: "apiKey" },
  guards: {},
};

await describeWithTools("the actions in Argo CD", ["judge"], ({ files }) => {
  async function actionsOf(kind: string): Promise<Actions> {
    const settings = parse(await readFile(settingsFile, "utf8")) as { data: Record<string, string> };
    return parse(settings.data[`resource.customizations.actions.wafsync.dev_${kind}`] ?? "") as Actions;
  }

  async function offered(object: Readonly<Record<string, unknown>>): Promise<string[]> {
    const actions = await actionsOf(String(object["kind"]));
    const [answer] = await judge(files.judge, "discovery", [{ object, script: actions["discovery.lua"] }]);
    const enabled = Object.entries(answer?.actions ?? {}).filter(([, { disabled }]) => disabled !== true);
    return enabled.map(([name]) => name).sort();
  }

  async function run(name: string, object: Readonly<Record<string, unknown>>): Promise<Answer | undefined> {
    const { definitions } = await actionsOf(String(object["kind"]));
    const script = definitions.find((definition) => definition.name === name)?.["action.lua"] ?? "";
    return (await judge(files.judge, "action", [{ object, script }]))[0];
  }

  test("are offered where they make sense", async () => {
    const running = anObject("WafInstance", instanceSpec);
    expect(await offered(running)).toStrictEqual(["clear-cache", "suspend", "sync-now"]);
    const suspended = anObject("WafInstance", { ...instanceSpec, suspend: true });
    expect(await offered(suspended)).toStrictEqual(["clear-cache", "resume", "sync-now"]);
    const held = anObject("WafInstance", instanceSpec, { status: { heldPlan: "0123456789ab" } });
    expect(await offered(held)).toStrictEqual(["approve-removals", "clear-cache", "suspend", "sync-now"]);
    expect(await offered(anObject("WafIpRule", {}))).toStrictEqual(["sync-now"]);
    expect(await offered(anObject("WafOrigin", {}))).toStrictEqual(["sync-now"]);
    expect(await offered(anObject("WafCacheClear", { suspend: true }))).toStrictEqual(["resume", "sync-now"]);
  });

  test("have a script for each that can be offered", async () => {
    for (const kind of ["WafInstance", "WafIpRule", "WafOrigin", "WafCacheClear"]) {
      const actions = await actionsOf(kind);
      const object = anObject(kind, {});
      const [answer] = await judge(files.judge, "discovery", [{ object, script: actions["discovery.lua"] }]);
      expect(actions.definitions.map(({ name }) => name).sort()).toStrictEqual(
        Object.keys(answer?.actions ?? {}).sort(),
      );
    }
  });

  test("sync-now asks for a reconcile at this time, and changes nothing else", async () => {
    const object = anObject("WafIpRule", { addresses: ["192.0.2.7"] });
    const answer = await run("sync-now", object);
    expect(answer?.error).toBeUndefined();
    expect(answer?.resources).toStrictEqual([
      {
        operation: "patch",
        resource: {
          ...object,
          metadata: {
            ...(object["metadata"] as object),
            annotations: { "wafsync.dev/requested-at": expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
          },
        },
      },
    ]);
  });

  test("suspend and resume set spec.suspend, and leave empty maps what they are", async () => {
    const object = anObject("WafInstance", instanceSpec);
    const suspended = (await run("suspend", object))?.resources?.[0]?.resource;
    expect(suspended).toStrictEqual({ ...object, spec: { ...instanceSpec, suspend: true } });
    const resumed = (await run("resume", suspended ?? {}))?.resources?.[0]?.resource;
    expect(resumed).toStrictEqual({ ...object, spec: { ...instanceSpec, suspend: false } });
  });

  test("approve-removals approves the plan that is held now, and fails where none is", async () => {
    const held = anObject("WafInstance", instanceSpec, { status: { heldPlan: "0123456789ab" } });
    expect((await run("approve-removals", held))?.resources).toStrictEqual([
      {
        operation: "patch",
        resource: expect.objectContaining({
          metadata: expect.objectContaining({ annotations: { "wafsync.dev/approve-removals": "0123456789ab" } }),
        }),
      },
    ]);
    expect((await run("approve-removals", anObject("WafInstance", instanceSpec)))?.error).toContain(
      "No removals are on hold",
    );
  });

  test("clear-cache creates a valid WafCacheClear that belongs to the instance and goes by itself", async () => {
    const object = anObject("WafInstance", instanceSpec);
    const [created] = (await run("clear-cache", object))?.resources ?? [];
    expect(created?.operation).toBe("create");
    expect(created?.resource).toMatchObject({
      kind: "WafCacheClear",
      metadata: {
        name: expect.stringMatching(/^shop-\d{14}$/),
        namespace: "edge",
        ownerReferences: [{ kind: "WafInstance", name: "shop", uid: (object["metadata"] as { uid: string }).uid }],
      },
      spec: { instanceRef: { name: "shop" }, ttlSecondsAfterFinished: 3600 },
    });
    expect(parseResource(created?.resource, { defaultNamespace: "edge" })).toMatchObject({ ok: true });
  });
});
