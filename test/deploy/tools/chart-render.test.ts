// The Helm chart as helm renders it: sound for every set of values, refused where it should be.
// Long: `npm run test:deploy` runs it.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { chartFolder, createHelm, type Helm, objectsIn, valueSets } from "./chart.ts";
import { servedDefinitions } from "../../../src/kinds/custom-resource.ts";
import { describeWithTools } from "./tools-suite.ts";

const sets = await valueSets();

await describeWithTools("the rendered chart", ({ files }) => {
  let helm: Helm;
  beforeAll(async () => {
    helm = await createHelm(files.helm);
  });
  afterAll(async () => await helm.end());

  test("passes helm lint, with every set of values", async () => {
    for (const [, values] of sets) {
      const file = join(helm.folder, "lint.yaml");
      await writeFile(file, JSON.stringify(values));
      const ended = await helm.run(["lint", "--strict", chartFolder, "--values", file]);
      expect([ended.stdout, ended.code]).toStrictEqual([expect.stringContaining("0 chart(s) failed"), 0]);
    }
  });

  test.each([
    ["a misspelt value", { replicas: 3 }, "additional properties 'replicas' not allowed"],
    ["a digest that is none", { image: { digest: "latest" } }, "/image/digest"],
    ["an unknown scope", { scope: "galaxy" }, "/scope"],
    ["a time to end that is too short to give the Lease back", { terminationGracePeriodSeconds: 5 }, "minimum"],
    ["a base URL with a blank", { operator: { allowedBaseUrls: ["https://a b"] } }, "/operator/allowedBaseUrls/0"],
    [
      "a ServiceMonitor of no Service",
      { metrics: { service: { enabled: false }, serviceMonitor: { enabled: true } } },
      "needs metrics.service.enabled",
    ],
  ])("refuses %s", async (_, values, said) => {
    await expect(helm.render(values)).rejects.toThrow(said);
  });

  test("passes a selector on as it stands", async () => {
    expect(await helm.render({})).not.toContain("--selector");
    const text = await helm.render({ operator: { selector: "!wafsync.dev/shard,tier in (a,b)" } });
    expect(text).toContain('- "--selector=!wafsync.dev/shard,tier in (a,b)"');
  });

  test("refuses a Kubernetes that is too old", async () => {
    const ended = await helm.run(["template", "wafsync", chartFolder, "--kube-version", "1.30"]);
    expect([ended.code, ended.stderr]).toStrictEqual([1, expect.stringContaining("requires kubeVersion: >=1.31.0-0")]);
  });

  test("pins the image by digest, and gives the operator no key, wildcard or right to list Secrets", async () => {
    const digest = `sha256:${"0123456789abcdef".repeat(4)}`;
    const text = await helm.render({ image: { repository: "registry.example.com/wafsync", digest } });
    expect(text).toContain(`image: "registry.example.com/wafsync@${digest}"`);
    const roles = objectsIn(text).filter(({ kind }) => kind.endsWith("Role"));
    expect(JSON.stringify(roles)).not.toContain('"*"');
  });

  test("keeps the definitions when the release goes, unless told otherwise", async () => {
    const definitions = async (values: object): Promise<(string | undefined)[]> =>
      objectsIn(await helm.render(values))
        .filter(({ kind }) => kind === "CustomResourceDefinition")
        .map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
    expect(await definitions({})).toStrictEqual(servedDefinitions.map(() => "keep"));
    expect(await definitions({ crds: { keep: false } })).toStrictEqual(servedDefinitions.map(() => undefined));
  });
});
