// Runs the container of a pod as a kubelet would: its arguments and its environment, as far as wafsync's manifests use them.
// The image's entry point is the program of this repository; the service account's token comes in a kubeconfig.
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

/** What the downward API gives; a missing annotation is empty. */
function fieldOf({ metadata }: JobPod, path: string): string {
  if (path === "metadata.namespace") return metadata.namespace;
  const annotation = /^metadata\.annotations\['(.+)'\]$/.exec(path)?.[1];
  if (annotation === undefined) throw new Error(`the field ${path} is not provided for`);
  return metadata.annotations?.[annotation] ?? "";
}
