// What most suites on a control plane begin with: the custom resource definitions and a namespace of their own.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { realClock } from "../../../src/async/clock.ts";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import { timeLimit } from "../processes/slowness.ts";

const repository = join(import.meta.dirname, "..", "..", "..");
const pollMs = 100;
const establishedMs = 60_000;

/** The folder with the custom resource definitions of wafsync. */
export const definitionsDirectory = join(repository, "crds");

/** Safe to call from several suites at once; resolves when the server serves the kinds. */
export async function installDefinitions(cluster: ClusterAccess): Promise<void> {
  const apply = ["apply", "--server-side", "--force-conflicts", "-o", "name", "-k", definitionsDirectory];
  const names = (await cluster.expectKubectl(apply)).trim().split("\n");
  // kubectl gives up at once on a definition that is so new that it has no conditions yet.
  await waitFor("the kinds of wafsync", establishedMs, async () => {
    const ended = await cluster.runKubectl(["wait", "--for=condition=Established", "--timeout=10s", ...names]);
    return ended.code === 0 ? true : undefined;
  });
  // Right after that, the server still answers that the storage of a kind initializes.
  await waitFor("the storage of the kinds of wafsync", establishedMs, async () => {
    const plurals = names.map((name) => name.slice(name.indexOf("/") + 1).split(".")[0]);
    const paths = plurals.map((plural) => `/apis/wafsync.dev/v1alpha1/${plural}?limit=1`);
    const answers = await Promise.all(paths.map((path) => cluster.request({ path })));
    return answers.every(({ status }) => status === 200) ? true : undefined;
  });
}

/** Creates a namespace and gives its name: the prefix and something random. */
export async function createNamespace(
  cluster: ClusterAccess,
  prefix: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<string> {
  const name = `${prefix}-${randomBytes(4).toString("hex")}`;
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
  const answer = await cluster.request({ method: "POST", path: "/api/v1/namespaces", body });
  if (answer.status !== 201) throw new Error(`no namespace: HTTP ${answer.status} ${JSON.stringify(answer.body)}`);
  return name;
}

/** Looks again and again until the look gives something else than undefined; rejects when it took too long. */
export async function waitFor<T>(what: string, timeoutMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const limit = timeLimit(timeoutMs);
  while (!limit.isOver()) {
    const found = await look();
    if (found !== undefined) return found;
    await realClock.sleep(pollMs);
  }
  throw new Error(`${what} did not happen: ${limit.describe()}`);
}
