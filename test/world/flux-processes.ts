// Runs Flux's source-controller and kustomize-controller as processes in the box.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Supervisor } from "../support/control-plane/supervisor.ts";
import { createSupervisor } from "../support/control-plane/supervisor.ts";
import { applyDefinitions, applyObjects } from "./steps.ts";
import type { World } from "./world-description.ts";

const storageAddress = "127.0.0.1:9790";

/** Resolves when both have started. The caller must end them. */
export async function startFlux(world: World): Promise<Supervisor> {
  const sources = world.programs["source-controller"];
  const kustomizations = world.programs["kustomize-controller"];
  if (sources === undefined || kustomizations === undefined)
    throw new Error("there is no Flux: run `npm run test:world -- test/world/flux`");
  const directory = join(world.cluster.directory, "flux");
  await mkdir(join(directory, "storage"), { recursive: true });
  await applyDefinitions(world.cluster, join(sources, "extras"), join(kustomizations, "extras"));
  await applyObjects(world.cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name: "flux-system" } });
  const supervisor = createSupervisor(directory);
  const environment = [
    `PATH=${process.env["PATH"] ?? ""}`,
    `HOME=${directory}`,
    `TMPDIR=${directory}`,
    `KUBECONFIG=${world.cluster.kubeconfig}`,
    "RUNTIME_NAMESPACE=flux-system",
  ];
  const start = (name: string, folder: string, ports: number, args: readonly string[]): Promise<void> =>
    supervisor.start(
      name,
      { file: "env", leadingArguments: ["--ignore-environment", ...environment, join(folder, name)] },
      [...args, `--metrics-addr=127.0.0.1:${ports}`, `--health-addr=127.0.0.1:${ports + 1}`],
    );
  const storage = [`--storage-path=${join(directory, "storage")}`, `--storage-addr=${storageAddress}`];
  await start("source-controller", sources, 9791, [...storage, `--storage-adv-addr=${storageAddress}`]);
  await start("kustomize-controller", kustomizations, 9793, ["--requeue-dependency=2s"]);
  return supervisor;
}
