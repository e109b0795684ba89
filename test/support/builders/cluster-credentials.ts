// Credentials as in a kubeconfig, for a server that a test has started.
import { KubeConfig } from "@kubernetes/client-node";
import { kubeConfigCredentials } from "../../../src/kube/credentials.ts";
import type { Credentials } from "../../../src/kube/credentials.ts";

export interface ClusterCredentialsOptions {
  readonly server: string;
  readonly caFile?: string;
  readonly token?: string;
  readonly tokenFile?: string;
}

export function clusterCredentials({ server, caFile, token, tokenFile }: ClusterCredentialsOptions): Credentials {
  const kubeConfig = new KubeConfig();
  // Without TLS, the library accepts a server only if verification is turned off.
  const skipTLSVerify = server.startsWith("http:");
  kubeConfig.loadFromClusterAndUser(
    { name: "test", server, skipTLSVerify, ...(caFile === undefined ? {} : { caFile }) },
    {
      name: "test",
      ...(token === undefined ? {} : { token }),
      ...(tokenFile === undefined ? {} : { authProvider: { name: "tokenFile", config: { tokenFile } } }),
    },
  );
  return kubeConfigCredentials(kubeConfig);
}
