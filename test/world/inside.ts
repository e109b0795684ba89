// Runs inside the box: starts the control plane and the node, runs the suites, and exits. The box stops all remaining processes.
// node inside.ts PLAN.json JEST-ARGUMENT…
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { programsOfBinary } from "../support/control-plane/program.ts";
import { startControlPlane } from "../support/control-plane/start.ts";
import { createSupervisor } from "../support/control-plane/supervisor.ts";
import { hostAddress, startNode } from "./node.ts";
import type { WorldDescription } from "./world-description.ts";
import { worldVariable } from "./world-description.ts";

/** The paths that were prepared outside of the box. */
export interface WorldPlan {
  readonly scratch: string;
  /** The binary of the control plane. */
  readonly controlPlane: string;
  readonly pauseImage: string;
  readonly archives: readonly string[];
  readonly image: { readonly name: string; readonly tag: string };
  readonly programs: WorldDescription["programs"];
  readonly helm?: string;
}

const [planFile = "", ...jestArguments] = process.argv.slice(2);
const root = join(import.meta.dirname, "..", "..");
const plan = JSON.parse(await readFile(planFile, "utf8")) as WorldPlan;
const nodePrograms = plan.programs.node;
if (nodePrograms === undefined) throw new Error("the world has no kubelet");
const directory = join(plan.scratch, "node");
await mkdir(directory, { recursive: true });
const supervisor = createSupervisor(directory);

try {
  const startMs = performance.now();
  const cluster = await startControlPlane({
    programs: programsOfBinary(plan.controlPlane, "Cache"),
    controllerManager: true,
    directory: join(plan.scratch, "control-plane"),
    apiPort: 443,
    moreApiServerFlags: [
      "--bind-address=0.0.0.0",
      // The box has no DNS that knows the name of the node.
      "--kubelet-preferred-address-types=InternalIP",
      // No controller removes the taint of a new node.
      "--disable-admission-plugins=TaintNodesByCondition",
    ],
  });
  await startNode({
    directory,
    cluster,
    supervisor,
    programs: nodePrograms,
    pauseImage: plan.pauseImage,
    archives: plan.archives,
  });
  console.log(`The node is Ready after ${Math.round((performance.now() - startMs) / 1000)} s.`);
  process.exitCode = await runSuites({
    cluster,
    imageName: plan.image.name,
    imageTag: plan.image.tag,
    hostAddress,
    programs: plan.programs,
    ...(plan.helm === undefined ? {} : { helm: plan.helm }),
  });
  if (process.exitCode !== 0) console.log(`${await cluster.describeLogs()}\n${await supervisor.describeLogs()}`);
  await cluster.stop();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await supervisor.endAll();
}

async function runSuites(description: WorldDescription): Promise<number> {
  const { url, caFile, adminToken, kubeconfig, directory, kubectl, controllerManager } = description.cluster;
  const cluster = { url, caFile, adminToken, kubeconfig, directory, kubectl, controllerManager };
  const file = join(plan.scratch, "world.json");
  await writeFile(file, JSON.stringify({ ...description, cluster }), { mode: 0o600 });
  const jest = ["--experimental-vm-modules", "--no-warnings", "node_modules/jest/bin/jest.js", "--runInBand"];
  const paths = jestArguments.length > 0 ? jestArguments : ["test/world"];
  const child = spawn(process.execPath, [...jest, ...paths], {
    cwd: root,
    env: { ...process.env, [worldVariable]: file },
    stdio: "inherit",
  });
  return await new Promise((resolve) => child.once("close", (code) => resolve(code ?? 1)));
}
