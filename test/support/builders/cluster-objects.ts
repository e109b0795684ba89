// The set-up of most suites on a control plane: the CRDs and a new namespace.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { realClock } from "../../../src/async/clock.ts";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import { timeLimit } from "../processes/slowness.ts";

const repository = join(import.meta.dirname, "..", "..", "..");
const pollMs = 100;
const establishedMs = 60_000;

/** The folder with wafsync's CRDs. */
export const definitionsDirectory = join(repository, "crds");

/** Safe to call from several suites at once; resolves when the server serves the kinds. */
export async function installDefinitions(cluster: ClusterAccess): Promise<void> {
  const apply = ["apply", "--server-side", "--force-conflicts", "-o", "name", "-k", definitionsDirectory];
  const names = (await cluster.expectKubectl(apply)).trim().split("\n");
  // kubectl fails immediately if a new CRD has no conditions yet.
  await waitFor("the kinds of wafsync", establishedMs, async () => {
    const ended = await cluster.runKubectl(["wait", "--for=condition=Established", "--timeout=10s", ...names]);
    return ended.code === 0 ? true : undefined;
  });
  // For a moment, the server still responds that the storage of the kind is initializing.
  await waitFor("the storage of the kinds of wafsync", establishedMs, async () => {
    const plurals = names.map((name) => name.slice(name.indexOf("/") + 1).split(".")[0]);
    const paths = plurals.map((plural) => `/apis/wafsync.dev/v1alpha1/${plural}?limit=1`);
    const answers = await Promise.all(paths.map((path) => cluster.request({ path })));
    return answers.every(({ status }) => status === 200) ? true : undefined;
  });
}

/** Creates a namespace, and returns its name: the prefix and a random suffix. */
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

/** Calls the function until it returns a value other than undefined; rejects after the time limit. */
export async function waitFor<T>(what: string, timeoutMs: number, look: () => Promise<T | undefined>): Promise<T> {
  const limit = timeLimit(timeoutMs);
  while (!limit.isOver()) {
    const found = await look();
    if (found !== undefined) return found;
    await realClock.sleep(pollMs);
  }
  throw new Error(`${what} did not happen: ${limit.describe()}`);
}
