// Starts etcd, kube-apiserver and kube-controller-manager on free ports of the loopback interface: with RBAC, service account
// tokens, and a data folder that is removed at the end.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ClusterAccess, connectToCluster, writeKubeconfig } from "./cluster-access.ts";
import { findFreePorts } from "./free-ports.ts";
import {
  apiServerFlags,
  auditPolicy,
  controllerManagerFlags,
  type ControlPlaneLayout,
  etcdFlags,
  etcdUrl,
  filesIn,
} from "./server-flags.ts";
import { Servers } from "./servers.ts";

export interface StartOptions {
  /** The program that is all servers: see `findControlPlane`. */
  readonly file: string;
  /** Whether kube-apiserver logs each request; see audit-log.ts. */
  readonly audits?: boolean;
  /** The folder for data, logs and kubeconfig, which is kept at the end. The default is a temporary folder. */
  readonly directory?: string;
}

export interface ControlPlane extends ClusterAccess {
  /**
   * Ends kube-apiserver and waits until it has exited. After SIGTERM, it refuses new connections immediately and keeps open
   * watches for up to a minute; SIGKILL closes them.
   */
  stopApiServer(signal: NodeJS.Signals): Promise<void>;
  /** Restarts it on the same port with the same data; resolves when it is ready. */
  startApiServer(): Promise<void>;
  restartApiServer(signal: NodeJS.Signals): Promise<void>;
  /**
   * Compacts etcd, so that reads from older revisions fail, as they do after some minutes of normal operation. A watch from an old
   * revision gets 410 only after an additional restart, because kube-apiserver keeps a window of changes in memory.
   */
  compactEtcd(): Promise<void>;
  /** Ends all processes immediately, and removes the data unless the caller named the folder. */
  stop(): Promise<void>;
}

const startAttemptsMax = 3;

/** Rejects with the last lines of the logs if a server does not start. */
export async function startControlPlane(options: StartOptions): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "wafsync-control-plane-")));
    const servers = new Servers(options.file, directory);
    const stop = async (): Promise<void> => {
      await servers.endAll();
      if (options.directory === undefined) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    };
    try {
      return { ...(await startIn(directory, options, servers)), stop };
    } catch (error) {
      await stop();
      // Most likely another process took one of the ports in the meantime.
      if (attempt === startAttemptsMax) throw error;
    }
  }
}

async function startIn(
  directory: string,
  { file, audits = false }: StartOptions,
  servers: Servers,
): Promise<Omit<ControlPlane, "stop">> {
  const [etcdPort = 0, etcdPeerPort = 0, apiPort = 0] = await findFreePorts(3);
  const layout: ControlPlaneLayout = { directory, etcdPort, etcdPeerPort, apiPort, audits };
  const { auditPolicy: auditPolicyFile, servingCertificate: caFile } = filesIn(directory);
  const adminToken = await writeCredentials(directory);
  if (audits) await writeFile(auditPolicyFile, JSON.stringify(auditPolicy));
  await servers.start("etcd", etcdFlags(layout));
  await servers.start("kube-apiserver", apiServerFlags(layout));

  const kubeconfig = join(directory, "admin.kubeconfig");
  const url = `https://127.0.0.1:${apiPort}`;
  await writeKubeconfig(kubeconfig, { url, caFile, token: adminToken });
  await servers.waitUntil("the certificate of kube-apiserver", async () => (await access(caFile)) === undefined);
  const kubectl = [file, "kubectl"] as const;
  const cluster = await connectToCluster({ url, caFile, adminToken, kubeconfig, directory, kubectl });
  const answersWell = async (path: string): Promise<boolean> => (await cluster.request({ path })).status === 200;
  await servers.waitUntil("kube-apiserver", () => answersWell("/readyz"));
  await servers.start("kube-controller-manager", controllerManagerFlags(layout, kubeconfig));
  // It has no health port here. The first object that it creates shows that it works.
  const madeFirst = "/api/v1/namespaces/default/serviceaccounts/default";
  await servers.waitUntil("kube-controller-manager", () => answersWell(madeFirst));
  const stopApiServer = (signal: NodeJS.Signals): Promise<void> => servers.end("kube-apiserver", signal);
  const startApiServer = async (): Promise<void> => {
    await servers.start("kube-apiserver", apiServerFlags(layout));
    await servers.waitUntil("kube-apiserver", () => answersWell("/readyz"));
  };
  return {
    ...cluster,
    stopApiServer,
    startApiServer,
    async restartApiServer(signal) {
      await stopApiServer(signal);
      await startApiServer();
    },
    async compactEtcd() {
      const status = await askEtcd(layout, "/v3/maintenance/status", {});
      const { revision } = (status as { header: { revision: string } }).header;
      await askEtcd(layout, "/v3/kv/compaction", { revision, physical: true });
    },
  };
}

/** By its JSON gateway. */
async function askEtcd(layout: ControlPlaneLayout, path: string, body: unknown): Promise<unknown> {
  const response = await fetch(new URL(path, etcdUrl(layout)), { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd ${path}: HTTP ${response.status} ${await response.text()}`);
  return response.json();
}

/** Creates the key pair for service account tokens and the admin token, and returns the token. */
async function writeCredentials(directory: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const keys = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const files = filesIn(directory);
  const secret = { mode: 0o600 };
  await writeFile(files.privateKey, keys.privateKey, secret);
  await writeFile(files.publicKey, keys.publicKey);
  const adminToken = randomBytes(24).toString("hex");
  await writeFile(files.tokens, `${adminToken},wafsync-test-admin,wafsync-test-admin,"system:masters"\n`, secret);
  return adminToken;
}
