// Gives tests access to a running control plane, even if another process started it: everything here is
// created from a description in plain JSON.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent } from "undici";
import { type ApiAnswer, type ApiRequest, requestApi } from "./api-request.ts";
import { type Ended, runToEnd } from "./run-to-end.ts";

export interface ClusterDescription {
  readonly url: string;
  readonly caFile: string;
  /** Of a user in the group system:masters. */
  readonly adminToken: string;
  /** A file with admin permissions. */
  readonly kubeconfig: string;
  /** The folder for the control plane's data and for files that are created later. */
  readonly directory: string;
  /** The words that run kubectl. */
  readonly kubectl: readonly [file: string, ...parameters: string[]];
}

interface KubectlOptions {
  readonly kubeconfig?: string;
  /** What `-f -` reads. */
  readonly input?: string;
}

export interface ClusterAccess extends ClusterDescription {
  /** Uses admin permissions unless a token is given. */
  request(wanted: ApiRequest, token?: string): Promise<ApiAnswer>;
  /** Uses admin permissions unless a different kubeconfig is named. Never rejects: the exit code and stderr report failures. */
  runKubectl(args: readonly string[], options?: KubectlOptions): Promise<Ended>;
  /** Like runKubectl, but returns stdout, and rejects with kubectl's output unless the exit code is 0. */
  expectKubectl(args: readonly string[], options?: KubectlOptions): Promise<string>;
  /** Returns a new token for an existing service account. */
  tokenFor(namespace: string, serviceAccount: string): Promise<string>;
  /** Writes a kubeconfig with a new token for an existing service account, and returns its path. */
  kubeconfigFor(namespace: string, serviceAccount: string): Promise<string>;
}

const tokenSeconds = 6 * 3600;

/** Uses only the files that the description names, without requests to the server. */
export async function connectToCluster(description: ClusterDescription): Promise<ClusterAccess> {
  const { url, caFile, adminToken, directory, kubectl } = description;
  // Without keep-alive: a suite may restart the server between two requests.
  const dispatcher = new Agent({ connect: { ca: await readFile(caFile, "utf8") }, allowH2: false, pipelining: 0 });
  const access: ClusterAccess = {
    ...description,
    request: (wanted, token = adminToken) => requestApi({ url, token, dispatcher }, wanted),
    runKubectl: (args, { kubeconfig = description.kubeconfig, input } = {}) =>
      runToEnd(kubectl[0], [...kubectl.slice(1), ...args], {
        // Independent of the user's settings. The cache of kubectl is kept between calls.
        environment: {
          PATH: process.env["PATH"],
          HOME: directory,
          KUBECONFIG: kubeconfig,
          KUBECACHEDIR: join(directory, "kubectl-cache"),
          KUBERC: "off",
        },
        ...(input === undefined ? {} : { input }),
      }),
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

/** JSON is valid YAML, so every client accepts it as a kubeconfig. */
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
