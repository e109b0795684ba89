// The namespace for the states of folders, as the guide sets it up, and a way to its API server that can break at any request.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { Agent, request } from "undici";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import { installDefinitions } from "../builders/cluster-objects.ts";

const guide = join(import.meta.dirname, "../../../docs/guides/pipelines.md");
export const serviceAccount = "waf-pipeline";

/** @param namespace instead of the guide's. @returns a kubeconfig of the guide's service account */
export async function setUpClusterState(cluster: ClusterAccess, namespace: string): Promise<string> {
  await installDefinitions(cluster);
  const section = (await readFile(guide, "utf8")).split("## Keep the state in a cluster\n")[1] ?? "";
  const objects = /^```yaml\n(?<yaml>.*?)^```$/ms.exec(section)?.groups?.["yaml"] ?? "";
  const input = objects.replaceAll("waf-state", namespace);
  await cluster.expectKubectl(["apply", "-f", "-"], { input });
  return await cluster.kubeconfigFor(namespace, serviceAccount);
}

export interface ApiProxy extends AsyncDisposable {
  readonly kubeconfig: string;
}

/** @param onRequest called for each request with the number of the request, before it is sent and after it was answered */
export async function apiProxy(
  cluster: ClusterAccess,
  kubeconfig: string,
  folder: string,
  onRequest: (serial: number, moment: "Before" | "After") => void,
): Promise<ApiProxy> {
  const dispatcher = new Agent({ connect: { ca: await readFile(cluster.caFile, "utf8") }, allowH2: false });
  let serial = 0;
  const server = createServer((asked, answer) => {
    const number = (serial += 1);
    const forward = async (): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of asked) chunks.push(chunk as Buffer);
      onRequest(number, "Before");
      const { authorization = "", accept = "", "content-type": type = "application/json" } = asked.headers;
      const got = await request(`${cluster.url}${asked.url}`, {
        dispatcher,
        method: asked.method as "GET",
        headers: { authorization, accept, "content-type": type },
        body: chunks.length === 0 ? null : Buffer.concat(chunks),
      });
      const body = await got.body.text();
      onRequest(number, "After");
      answer.writeHead(got.statusCode, { "content-type": "application/json" }).end(body);
    };
    forward().catch(() => answer.destroy());
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const document = parse(await readFile(kubeconfig, "utf8")) as { clusters: { cluster: object }[] };
  for (const one of document.clusters) {
    one.cluster = { server: `http://127.0.0.1:${port}`, "insecure-skip-tls-verify": true };
  }
  const path = join(folder, "kubeconfig");
  await writeFile(path, JSON.stringify(document));
  return {
    kubeconfig: path,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await dispatcher.destroy();
    },
  };
}
