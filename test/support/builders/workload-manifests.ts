// Workloads as users write them.
import type { Manifest } from "./manifests.ts";

export type WorkloadKind = "Deployment" | "StatefulSet" | "DaemonSet";

/** With one container, whose image identifies the revision. */
export function workload(
  kind: WorkloadKind,
  namespace: string,
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
): Manifest {
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: { automountServiceAccountToken: false, containers: [{ name: "main", image: "one" }] },
  };
  const size = kind === "DaemonSet" ? {} : { replicas: 2 };
  const own = kind === "StatefulSet" ? { serviceName: name } : {};
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace },
    spec: { selector: { matchLabels: labels }, ...size, ...own, template, ...spec },
  };
}
