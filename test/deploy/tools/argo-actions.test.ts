// The actions that Argo CD offers on our objects, run by the engine that it runs them with.
// Long: `npm run test:deploy` runs it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { parse } from "yaml";
import { judge } from "./judge.ts";
import { describeWithTools } from "./tools-suite.ts";

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
});
