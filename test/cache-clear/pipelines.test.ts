// What pipelines use, as it stands: the script of docs/guides/pipelines.md with the rights of deploy/cache-clear.
// Long: `npm run test:deploy` runs it.
import { join } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { instance, keySecret } from "../support/builders/manifests.ts";
import { readPage, root } from "../support/tidy/markdown-pages.ts";
import { describeOperator } from "../support/worlds/operator-suite.ts";
import type { TestWaf } from "../support/worlds/operator-world.ts";

const namespace = "shop";
const serviceAccount = "wafsync-clear-cache";

/** The manifest and the kubectl command of the job. */
async function jobOfPage(): Promise<{ readonly manifest: string; readonly wait: readonly string[] }> {
  const page = await readPage("docs/guides/pipelines.md");
  const yaml = /```yaml\n(?<yaml>clear-cache:\n.*?)```/su.exec(page)?.groups?.["yaml"] ?? "";
  const { "clear-cache": job } = parse(yaml) as { "clear-cache": { script: readonly [string, string] } };
  const [apply, wait] = job.script;
  const manifest = /^kubectl apply -f - <<EOF\n(?<text>.*)\nEOF\n$/su.exec(apply)?.groups?.["text"] ?? "";
  return { manifest, wait: wait.split(" ").slice(1) };
}

await describeOperator("a pipeline", (world) => {
  let waf: TestWaf;
  let kubeconfig: string;

  beforeAll(async () => {
    await world().startOperator();
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
    await world().requests.expect({ method: "POST", path: "/api/v1/namespaces", body });
    waf = world().newWaf();
    const shop = instance(namespace, world().simulator.baseUrl);
    await world().apply(keySecret(namespace, waf.key), { ...shop, metadata: { name: "shop", namespace } });
    await world().cluster.expectKubectl(["apply", "-n", namespace, "-k", join(root, "deploy/cache-clear")]);
    kubeconfig = await world().cluster.kubeconfigFor(namespace, serviceAccount);
    await world().allReady(namespace);
  });

  test("clears the cache once for each commit, and waits for it", async () => {
    const { manifest, wait } = await jobOfPage();
    const run = async (commit: string): Promise<number> => {
      const input = manifest.replace("$CI_COMMIT_SHA", commit);
      await world().cluster.expectKubectl(["apply", "-f", "-"], { kubeconfig, input });
      await world().cluster.expectKubectl(wait, { kubeconfig });
      return waf.view.counters.cacheClears;
    };
    expect([await run("f913b6c"), await run("f913b6c"), await run("a1b2c3d")]).toStrictEqual([1, 1, 2]);
  });
});
