// Credentials as in a kubeconfig, for a server that a test has started.
import { type Credentials, kubeConfigCredentials } from "../../../src/kube/credentials.ts";

export interface ClusterCredentialsOptions {
  readonly server: string;
  readonly caFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

export function clusterCredentials({ server, caFile, token, tokenFile }: ClusterCredentialsOptions): Credentials {
  // Without TLS, a server is accepted only if verification is turned off.
  const cluster = { "insecure-skip-tls-verify": server.startsWith("http:"), "certificate-authority": caFile };
  return kubeConfigCredentials({
    server,
    cluster: { fields: cluster, folder: "" },
    user: { fields: { token, tokenFile }, folder: "" },
    namespace: undefined,
    environment: {},
  });
}
