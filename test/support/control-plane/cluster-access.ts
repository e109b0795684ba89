// What a test may do with a running control plane, also one that another process started: everything here is
// made from a description that is plain JSON.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ApiAnswer, ApiRequest } from "./api-request.ts";
import { requestApi } from "./api-request.ts";
import type { KubectlOptions } from "./kubectl.ts";
import { runKubectl } from "./kubectl.ts";
import type { Program } from "./program.ts";
import type { Ended } from "./run-to-end.ts";

export interface ClusterDescription {
  readonly url: string;
  readonly caFile: string;
  /** Of a user in the group system:masters. */
  readonly adminToken: string;
  /** A file with the admin's rights. */
  readonly kubeconfig: string;
  /** Where the control plane keeps its data; files that are made later are put here too. */
  readonly directory: string;
  readonly kubectl: Program;
  /** Whether kube-controller-manager runs: garbage collection, namespace deletion, Jobs, workloads. */
  readonly controllerManager: boolean;
}

export interface ClusterAccess extends ClusterDescription {
  /** With the admin's rights unless a token is given. */
  request(wanted: ApiRequest, token?: string): Promise<ApiAnswer>;
  /** With the admin's rights unless another kubeconfig is named. */
  runKubectl(args: readonly string[], options?: Partial<KubectlOptions>): Promise<Ended>;
  /** As runKubectl, but rejects with what kubectl said unless it exits with 0; gives its stdout. */
  expectKubectl(args: readonly string[], options?: Partial<KubectlOptions>): Promise<string>;
  /** A fresh token of a service account that exists. */
  tokenFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Writes a kubeconfig with a fresh token of a service account that exists; gives its path. */
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
}

const tokenSeconds = 6 * 3600;

/** Needs the files that the description names; asks the server nothing. */
export async function connectToCluster(description: ClusterDescription): Promise<ClusterAccess> {
  const { url, caFile, adminToken, directory, kubectl } = description;
  const ca = await readFile(caFile, "utf8");
  const access: ClusterAccess = {
    ...description,
    request: (wanted, token = adminToken) => requestApi({ url, ca, token }, wanted),
    runKubectl: (args, options = {}) =>
      runKubectl(kubectl, args, { kubeconfig: description.kubeconfig, cacheDirectory: directory, ...options }),
    async expectKubectl(args, options) {
      const ended = await access.runKubectl(args, options);
      if (ended.code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
      return ended.stdout;
    },
    async tokenFor(namespace, serviceAccount) {
      const answer = await access.request({
        method: "POST",
        path: `/api/v1/namespaces/${namespace}/serviceaccounts/${serviceAccount}/token`,
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: { expirationSeconds: tokenSeconds },
        },
      });
      if (answer.status !== 201) throw new Error(`no token: HTTP ${answer.status} ${JSON.stringify(answer.body)}`);
      return (answer.body as { status: { token: string } }).status.token;
    },
    async kubeconfigFor(namespace, serviceAccount) {
      const token = await access.tokenFor(namespace, serviceAccount);
      const path = join(directory, `${namespace}-${serviceAccount}.kubeconfig`);
      await writeKubeconfig(path, { url, caFile, token, namespace });
      return path;
    },
  };
  return access;
}

export interface KubeconfigContent {
  readonly url: string;
  readonly caFile: string;
  readonly token: string;
  readonly namespace?: string;
}

/** JSON is YAML: every reader of a kubeconfig takes it. */
export async function writeKubeconfig(path: string, content: KubeconfigContent): Promise<void> {
  const { url, caFile, token, namespace = "default" } = content;
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "wafsync-test", cluster: { server: url, "certificate-authority": caFile } }],
    users: [{ name: "user", user: { token } }],
    contexts: [{ name: "wafsync-test", context: { cluster: "wafsync-test", user: "user", namespace } }],
    "current-context": "wafsync-test",
  };
  await writeFile(path, `${JSON.stringify(kubeconfig, undefined, 2)}\n`, { mode: 0o600 });
}
