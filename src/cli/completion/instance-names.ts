// The names of instances for the completion of `--instance`, from the folder on the command line or from the cluster.
import { parseArgs } from "node:util";
import { refuseUnsafeEnvironment } from "../unsafe-environment.ts";

const namesMax = 500;

/** @param words of the command line, after the program name */
export async function instanceNames(words: readonly string[]): Promise<readonly string[]> {
  const { values } = parseArgs({
    args: words.slice(1, -1),
    options: {
      from: { type: "string", short: "f" },
      kubeconfig: { type: "string" },
      context: { type: "string" },
    },
    strict: false,
    allowPositionals: true,
  });
  const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
  const directory = text(values["from"]);
  if (directory !== undefined) {
    const { namesInFolder } = await import("./names-in-folder.ts");
    return (await namesInFolder(directory)).slice(0, namesMax);
  }
  const [kubeconfig, context] = [text(values["kubeconfig"]), text(values["context"])];
  const cluster = {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
  refuseUnsafeEnvironment();
  // Loads the Kubernetes client.
  const { instancesInCluster } = await import("../query-cluster.ts");
  return await instancesInCluster(cluster, namesMax);
}
