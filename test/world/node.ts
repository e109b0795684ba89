// Starts the only node of the world: containerd, kubelet and kube-scheduler, with pods on a bridge in the box.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";
import type { Supervisor } from "../support/control-plane/supervisor.ts";

export const nodeName = "world";
export const hostAddress = "10.244.0.1";
const podNetwork = "10.244.0.0/24";
const firstPodAddress = "10.244.0.10";
const containerdSocket = "/run/containerd/containerd.sock";
const importMsMax = 120_000;

export interface NodeOptions {
  readonly directory: string;
  readonly cluster: ClusterAccess;
  readonly supervisor: Supervisor;
  /** The folder with the programs `node` and `pause`. */
  readonly programs: string;
  readonly pauseImage: string;
  /** Docker archives. */
  readonly archives: readonly string[];
}

/** Resolves when the node is Ready. */
export async function startNode(options: NodeOptions): Promise<void> {
  const { directory, cluster, supervisor, programs, archives } = options;
  await mkdir(directory, { recursive: true });
  const files = await writeConfiguration(options);
  await supervisor.start("containerd", { file: "containerd", leadingArguments: [] }, ["--config", files.containerd]);
  await supervisor.waitUntil("containerd", async () => (await ctr("version")).code === 0);
  for (const archive of archives) {
    const imported = await ctr("--namespace=k8s.io", "images", "import", "--all-platforms", archive);
    if (imported.code !== 0) throw new Error(`${archive}: ${imported.stderr}`);
  }
  const program = join(programs, "node");
  await supervisor.start("kubelet", { file: program, leadingArguments: ["kubelet"] }, [
    `--config=${files.kubelet}`,
    `--kubeconfig=${cluster.kubeconfig}`,
    `--root-dir=${join(directory, "kubelet")}`,
    `--cert-dir=${join(directory, "kubelet-certificates")}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${hostAddress}`,
  ]);
  await supervisor.start("kube-scheduler", { file: program, leadingArguments: ["kube-scheduler"] }, [
    `--kubeconfig=${cluster.kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
  ]);
  await supervisor.waitUntil("the node", () => isReady(cluster));
}

async function isReady(cluster: ClusterAccess): Promise<boolean> {
  const answer = await cluster.request({ path: `/api/v1/nodes/${nodeName}` });
  const node = answer.body as { status?: { conditions?: { type: string; status: string }[] } };
  return node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
}

function ctr(...args: string[]): ReturnType<typeof runToEnd> {
  return runToEnd("ctr", ["--address", containerdSocket, ...args], { timeoutMs: importMsMax });
}

async function writeConfiguration(options: NodeOptions): Promise<{ containerd: string; kubelet: string }> {
  const { directory, pauseImage } = options;
  const networks = join(directory, "networks");
  await mkdir(networks, { recursive: true });
  await writeFile(join(networks, "10-bridge.conflist"), JSON.stringify(network, undefined, 2));
  const containerd = join(directory, "containerd.toml");
  await writeFile(containerd, containerdConfiguration(directory, networks, pauseImage));
  const kubelet = join(directory, "kubelet.yaml");
  await writeFile(kubelet, stringify(kubeletConfiguration));
  return { containerd, kubelet };
}

const network = {
  cniVersion: "0.4.0",
  name: "world",
  plugins: [
    {
      type: "bridge",
      bridge: "world0",
      isGateway: false,
      ipMasq: false,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: podNetwork, rangeStart: firstPodAddress, gateway: hostAddress }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
  ],
};

function containerdConfiguration(directory: string, networks: string, pauseImage: string): string {
  return `version = 2
root = ${JSON.stringify(join(directory, "containerd"))}
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt"]
[grpc]
address = ${JSON.stringify(containerdSocket)}
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = ${JSON.stringify(pauseImage)}
# A box has neither the right to lower the score of a process nor profiles of AppArmor.
restrict_oom_score_adj = true
disable_apparmor = true
[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = ${JSON.stringify(networks)}
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
`;
}

const kubeletConfiguration = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  containerRuntimeEndpoint: `unix://${containerdSocket}`,
  cgroupDriver: "cgroupfs",
  failCgroupV1: false,
  enforceNodeAllocatable: [],
  oomScoreAdj: 0,
  makeIPTablesUtilChains: false,
  seccompDefault: true,
  failSwapOn: false,
  // Inside the box, only the API server reaches it.
  address: hostAddress,
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  healthzPort: 0,
  resolvConf: "",
  clusterDNS: [],
  imageGCHighThresholdPercent: 100,
  // The free disk space of the machine must not affect the node.
  evictionHard: {
    "memory.available": "0%",
    "nodefs.available": "0%",
    "imagefs.available": "0%",
    "nodefs.inodesFree": "0%",
  },
  nodeStatusUpdateFrequency: "5s",
  syncFrequency: "10s",
  rotateCertificates: false,
};
