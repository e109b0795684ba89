// Opens the target of a command. Modules that only one kind of target needs are loaded on demand.
import { CommandError } from "../describe-error.ts";
import type { Target, TargetOptions } from "./target.ts";

/** Opens the folder of `-f`, or the cluster. @throws CommandError that names what is missing */
export async function openTarget(options: TargetOptions): Promise<Target> {
  if (options.from === undefined) {
    if (options.state !== undefined) throw new CommandError("--state needs a folder", "Add -f DIRECTORY.");
    const { openCluster } = await import("./cluster-target.ts");
    return openCluster(options);
  }
  for (const name of ["namespace", "kubeconfig", "context"] as const) {
    if (options[name] === undefined) continue;
    throw new CommandError(`--${name} is for a cluster, but -f is for a folder`, "Use only one of them.");
  }
  const { openFolder } = await import("./folder-target.ts");
  return await openFolder(options, options.from);
}
