// Starts etcd, kube-apiserver and, if requested, kube-controller-manager on free ports of the loopback interface:
// with RBAC, service account tokens, and a data folder that is removed at the end.
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterAccess } from "./cluster-access.ts";
import { connectToCluster, writeKubeconfig } from "./cluster-access.ts";
import { compactEtcd } from "./etcd-compaction.ts";
import { findFreePorts } from "./free-ports.ts";
import type { ControlPlanePrograms } from "./program.ts";
import type { ControlPlaneLayout } from "./server-flags.ts";
import {
  apiServerFlags,
  apiUrl,
  auditPolicy,
  auditPolicyFile,
  controllerManagerFlags,
  etcdFlags,
  etcdUrl,
  privateKeyFile,
  publicKeyFile,
  servingCertificateFile,
  tokensFile,
} from "./server-flags.ts";
import type { Supervisor } from "./supervisor.ts";
import { createSupervisor } from "./supervisor.ts";

export interface StartOptions {
  readonly programs: ControlPlanePrograms;
  readonly controllerManager: boolean;
  /** Whether kube-apiserver logs each request; see audit-log.ts. */
  readonly audits?: boolean;
  /** The port of kube-apiserver, if a specific port is required. */
  readonly apiPort?: number;
  /** Added after all other flags, so that they override them. */
  readonly moreApiServerFlags?: readonly string[];
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
   * Compacts etcd up to the current revision, and returns this revision. A watch from an old revision gets 410
   * only after an additional restart, because kube-apiserver keeps a window of changes in memory.
   */
  compactEtcd(): Promise<number>;
  /** The last lines of every log. */
  describeLogs(): Promise<string>;
  /** Ends all processes immediately, and removes the data unless the caller named the folder. */
  stop(): Promise<void>;
}

const startAttemptsMax = 3;

/** Rejects with the last lines of the logs if a server does not start. */
export async function startControlPlane(options: StartOptions): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    const directory = options.directory ?? (await mkdtemp(join(tmpdir(), "wafsync-control-plane-")));
    const supervisor = createSupervisor(directory);
    const stop = async (): Promise<void> => {
      await supervisor.endAll();
      if (options.directory === undefined) await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    };
    try {
      return await startIn(directory, options, supervisor, stop);
    } catch (error) {
      await stop();
      // Most likely another process took one of the ports in the meantime.
      if (attempt === startAttemptsMax) throw error;
    }
  }
}

async function startIn(
  directory: string,
  { programs, controllerManager, audits = false, apiPort: wantedPort, moreApiServerFlags = [] }: StartOptions,
  supervisor: Supervisor,
  stop: () => Promise<void>,
): Promise<ControlPlane> {
  const [etcdPort = 0, etcdPeerPort = 0, freePort = 0] = await findFreePorts(3);
  const apiPort = wantedPort ?? freePort;
  const layout: ControlPlaneLayout = { directory, etcdPort, etcdPeerPort, apiPort, controllerManager, audits };
  const adminToken = await writeCredentials(layout);
  if (audits) await writeFile(auditPolicyFile(layout), JSON.stringify(auditPolicy));
  await supervisor.start("etcd", programs.etcd, etcdFlags(layout));
  const apiServer = [...apiServerFlags(layout), ...moreApiServerFlags];
  await supervisor.start("kube-apiserver", programs.kubeApiserver, apiServer);

  const caFile = servingCertificateFile(layout);
  const kubeconfig = join(directory, "admin.kubeconfig");
  const url = apiUrl(layout);
  await writeKubeconfig(kubeconfig, { url, caFile, token: adminToken });
  await supervisor.waitUntil("the certificate of kube-apiserver", async () => (await access(caFile)) === undefined);
  const { kubectl } = programs;
  const cluster = await connectToCluster({
    url,
    caFile,
    adminToken,
    kubeconfig,
    directory,
    kubectl,
    controllerManager,
  });
  const answersWell = async (path: string): Promise<boolean> => (await cluster.request({ path })).status === 200;
  await supervisor.waitUntil("kube-apiserver", () => answersWell("/readyz"));
  if (controllerManager) {
    const program = programs.kubeControllerManager;
    if (program === undefined) throw new Error("kube-controller-manager is asked for, but there is none");
    await supervisor.start("kube-controller-manager", program, controllerManagerFlags(layout, kubeconfig));
    // It has no health port here. The first object that it creates shows that it works.
    const madeFirst = "/api/v1/namespaces/default/serviceaccounts/default";
    await supervisor.waitUntil("kube-controller-manager", () => answersWell(madeFirst));
  }
  const stopApiServer = (signal: NodeJS.Signals): Promise<void> => supervisor.end("kube-apiserver", signal);
  const startApiServer = async (): Promise<void> => {
    await supervisor.start("kube-apiserver", programs.kubeApiserver, apiServer);
    await supervisor.waitUntil("kube-apiserver", () => answersWell("/readyz"));
  };
  return {
    ...cluster,
    stopApiServer,
    startApiServer,
    async restartApiServer(signal) {
      await stopApiServer(signal);
      await startApiServer();
    },
    compactEtcd: () => compactEtcd(etcdUrl(layout)),
    describeLogs: () => supervisor.describeLogs(),
    stop,
  };
}

/** Creates the key pair for service account tokens and the admin token, and returns the token. */
async function writeCredentials(layout: ControlPlaneLayout): Promise<string> {
  await mkdir(layout.directory, { recursive: true });
  const keys = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const secret = { mode: 0o600 };
  await writeFile(privateKeyFile(layout), keys.privateKey, secret);
  await writeFile(publicKeyFile(layout), keys.publicKey);
  const adminToken = randomBytes(24).toString("hex");
  await writeFile(tokensFile(layout), `${adminToken},wafsync-test-admin,wafsync-test-admin,"system:masters"\n`, secret);
  return adminToken;
}
