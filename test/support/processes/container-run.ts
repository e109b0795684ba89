// Runs the container of a pod like a kubelet, with the arguments and environment that wafsync's manifests use.
// The entry point is the program of this repository; a kubeconfig contains the service account's token.
import type { FinishedProcess } from "./wafsync-process.ts";
import { runWafsync } from "./wafsync-process.ts";

export interface JobPod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly serviceAccountName: string;
    readonly containers: readonly {
      readonly args?: readonly string[];
      readonly command?: readonly string[];
      readonly env?: readonly {
        readonly name: string;
        readonly value?: string;
        readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
      }[];
    }[];
  };
}

/** @param kubeconfig with the token of the pod's service account */
export async function runContainer(pod: JobPod, kubeconfig: string): Promise<FinishedProcess> {
  const [container, ...more] = pod.spec.containers;
  if (container === undefined || more.length > 0) throw new Error("the pod has not exactly one container");
  if (container.command !== undefined) throw new Error("the container does not use the entry point of the image");
  const environment: Record<string, string> = {};
  for (const { name, value, valueFrom } of container.env ?? []) {
    environment[name] = value ?? fieldOf(pod, valueFrom?.fieldRef?.fieldPath ?? "");
  }
  const parameters = (container.args ?? []).map((argument) =>
    argument.replaceAll(/\$\(([A-Z_]+)\)/g, (whole, name: string) => environment[name] ?? whole),
  );
  return await runWafsync(parameters, { environment: { ...environment, KUBECONFIG: kubeconfig } });
}

/** The value from the downward API; empty for a missing annotation. */
function fieldOf({ metadata }: JobPod, path: string): string {
  if (path === "metadata.namespace") return metadata.namespace;
  const annotation = /^metadata\.annotations\['(.+)'\]$/.exec(path)?.[1];
  if (annotation === undefined) throw new Error(`the field ${path} is not provided for`);
  return metadata.annotations?.[annotation] ?? "";
}
