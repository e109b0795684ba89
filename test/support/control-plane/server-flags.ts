// The command lines of the three servers, and the files that they name. They listen only on the loopback interface.
import { join } from "node:path";

export interface ControlPlaneLayout {
  readonly directory: string;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  readonly apiPort: number;
  /** Whether kube-apiserver logs each request of a service account. */
  readonly audits: boolean;
}

/** The controllers that the tests and the operator need, without those that need nodes, storage or certificates. */
const controllers = [
  "clusterrole-aggregation-controller",
  "cronjob-controller",
  "daemonset-controller",
  "deployment-controller",
  "disruption-controller",
  "garbage-collector-controller",
  "job-controller",
  "namespace-controller",
  "replicaset-controller",
  "root-ca-certificate-publisher-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "statefulset-controller",
  "ttl-after-finished-controller",
];

/** Logs the requests of service accounts without bodies, one line for each completed request. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived", "ResponseStarted"],
  rules: [{ level: "Metadata", userGroups: ["system:serviceaccounts"] }, { level: "None" }],
};
/** Above this size, kube-apiserver starts a new file. */
const auditMebibytesMax = 4_096;

/** The files in the folder of a control plane. */
export function filesIn(directory: string) {
  return {
    certificates: join(directory, "certificates"),
    /** The self-signed certificate of kube-apiserver, with the certificate of its authority. */
    servingCertificate: join(directory, "certificates", "apiserver.crt"),
    privateKey: join(directory, "service-accounts.key"),
    publicKey: join(directory, "service-accounts.pub"),
    tokens: join(directory, "tokens.csv"),
    auditPolicy: join(directory, "audit-policy.json"),
    auditLog: join(directory, "audit.log"),
  };
}

export function etcdUrl({ etcdPort }: ControlPlaneLayout): string {
  return `http://127.0.0.1:${etcdPort}`;
}

export function etcdFlags(layout: ControlPlaneLayout): string[] {
  const peerUrl = `http://127.0.0.1:${layout.etcdPeerPort}`;
  return [
    `--data-dir=${join(layout.directory, "etcd")}`,
    `--listen-client-urls=${etcdUrl(layout)}`,
    `--advertise-client-urls=${etcdUrl(layout)}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--log-level=warn",
    // The data is deleted together with the control plane, so a crash of the machine may lose it.
    "--unsafe-no-fsync",
  ];
}

export function apiServerFlags(layout: ControlPlaneLayout): string[] {
  const files = filesIn(layout.directory);
  const audit = [
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    `--audit-log-maxsize=${auditMebibytesMax}`,
  ];
  return [
    `--etcd-servers=${etcdUrl(layout)}`,
    `--cert-dir=${files.certificates}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--secure-port=${layout.apiPort}`,
    "--service-cluster-ip-range=10.96.0.0/24",
    "--authorization-mode=RBAC",
    `--token-auth-file=${files.tokens}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-signing-key-file=${files.privateKey}`,
    `--service-account-key-file=${files.publicKey}`,
    "--profiling=false",
    ...(layout.audits ? audit : []),
  ];
}

export function controllerManagerFlags({ directory }: ControlPlaneLayout, kubeconfig: string): string[] {
  const { servingCertificate, privateKey } = filesIn(directory);
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    `--root-ca-file=${servingCertificate}`,
    `--service-account-private-key-file=${privateKey}`,
  ];
}
