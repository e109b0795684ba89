// What the recipe for Argo CD writes to people: its template, run by the template engine that Helm shares with it, with the health that the Lua
// of wafsync finds in the statuses of the operator.
// Long: `npm run test:deploy` runs it.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { createHelm, type Helm } from "./chart.ts";
import { judge } from "./judge.ts";
import { statusCases } from "./status-cases.ts";
import { settingsIn } from "../deploy-files.ts";
import { describeWithTools } from "./tools-suite.ts";

await describeWithTools("the notifications", ({ files }) => {
  let helm: Helm;
  beforeAll(async () => (helm = await createHelm(files.helm)));
  afterAll(async () => await helm.end());

  async function rendered(template: string, data: object): Promise<string> {
    const chart = join(helm.folder, "template");
    await mkdir(join(chart, "templates"), { recursive: true });
    await writeFile(join(chart, "Chart.yaml"), "apiVersion: v2\nname: template\nversion: 0.0.0\n");
    await writeFile(join(chart, "templates/text.yaml"), "text: {{ tpl .Values.text .Values.data | quote }}\n");
    await writeFile(join(chart, "values.yaml"), JSON.stringify({ text: template, data }));
    const { code, stdout, stderr } = await helm.run(["template", chart]);
    if (code !== 0) throw new Error(stderr);
    return (parse(stdout) as { readonly text: string }).text;
  }

  test("Argo CD names each object that needs a person, with the message of its condition, and no other", async () => {
    const checks = await settingsIn("argocd/argocd-cm.yaml");
    const { "template.waf-attention": text = "" } = await settingsIn("notifications/argocd.yaml");
    const { message } = parse(text) as { readonly message: string };
    const cases = statusCases();
    const answers = await judge(
      files.judge,
      "health",
      cases.map(({ object }) => ({
        object,
        script: checks[`resource.customizations.health.wafsync.dev_${String(object["kind"])}`] ?? "",
      })),
    );
    const resources = cases.map(({ object }, place) => ({
      group: "wafsync.dev",
      version: "v1alpha1",
      kind: object["kind"],
      namespace: "shop",
      name: `object-${place}`,
      health: { status: answers[place]?.status, message: answers[place]?.message },
    }));
    const others = [
      // The core group has no name, and some objects have no health.
      { version: "v1", kind: "Service", namespace: "shop", name: "web", health: { status: "Degraded", message: "no" } },
      { group: "wafsync.dev", version: "v1alpha1", kind: "WafIpRule", namespace: "shop", name: "new" },
    ];
    const app = {
      metadata: { name: "wafs" },
      status: { health: { status: "Degraded" }, resources: [...others, ...resources] },
    };
    const lines = (await rendered(message, { app })).trimEnd().split("\n");
    const concerned = resources.filter(({ health }) => ["Degraded", "Suspended"].includes(health.status ?? ""));
    expect(concerned.length).toBeGreaterThan(20);
    expect(lines).toStrictEqual([
      "Application wafs is Degraded.",
      ...concerned.map(
        ({ kind, name, health }) => `${String(kind)} shop/${name} is ${health.status}: ${health.message}`,
      ),
    ]);
  });
});
