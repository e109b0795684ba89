// The command lines of the three servers. They listen only on the loopback interface.
import { join } from "node:path";

export interface ControlPlaneLayout {
  readonly directory: string;
  readonly etcdPort: number;
  readonly etcdPeerPort: number;
  readonly apiPort: number;
  readonly controllerManager: boolean;
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

/** The self-signed certificate of kube-apiserver, with the certificate of its authority. */
export function servingCertificateFile(layout: ControlPlaneLayout): string {
  return join(layout.directory, "certificates", "apiserver.crt");
}

export function privateKeyFile(layout: ControlPlaneLayout): string {
  return join(layout.directory, "service-accounts.key");
}

export function publicKeyFile(layout: ControlPlaneLayout): string {
  return join(layout.directory, "service-accounts.pub");
}

export function tokensFile(layout: ControlPlaneLayout): string {
  return join(layout.directory, "tokens.csv");
}

/** Logs the requests of service accounts without bodies, one line for each completed request. */
export const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived", "ResponseStarted"],
  rules: [{ level: "Metadata", userGroups: ["system:serviceaccounts"] }, { level: "None" }],
};
/** Above this size, kube-apiserver starts a new file. */
const auditMebibytesMax = 4_096;

export function auditPolicyFile(layout: ControlPlaneLayout): string {
  return join(layout.directory, "audit-policy.json");
}

export function auditLogFile(directory: string): string {
  return join(directory, "audit.log");
}

export function apiUrl(layout: ControlPlaneLayout): string {
  return `https://127.0.0.1:${layout.apiPort}`;
}

export function etcdUrl(layout: ControlPlaneLayout): string {
  return `http://127.0.0.1:${layout.etcdPort}`;
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
  return [
    `--etcd-servers=${etcdUrl(layout)}`,
    `--cert-dir=${join(layout.directory, "certificates")}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    "--endpoint-reconciler-type=none",
    `--secure-port=${layout.apiPort}`,
    "--service-cluster-ip-range=10.96.0.0/24",
    "--authorization-mode=RBAC",
    `--token-auth-file=${tokensFile(layout)}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-signing-key-file=${privateKeyFile(layout)}`,
    `--service-account-key-file=${publicKeyFile(layout)}`,
    "--profiling=false",
    ...(layout.audits
      ? [
          `--audit-policy-file=${auditPolicyFile(layout)}`,
          `--audit-log-path=${auditLogFile(layout.directory)}`,
          `--audit-log-maxsize=${auditMebibytesMax}`,
        ]
      : []),
    // In this case, no controller creates the default service accounts, without which no pod would be admitted.
    ...(layout.controllerManager ? [] : ["--disable-admission-plugins=ServiceAccount"]),
  ];
}

export function controllerManagerFlags(layout: ControlPlaneLayout, kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    `--root-ca-file=${servingCertificateFile(layout)}`,
    `--service-account-private-key-file=${privateKeyFile(layout)}`,
  ];
}
