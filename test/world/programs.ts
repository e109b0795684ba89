// Finds the third-party programs that the world runs: in the cache, or built from the Go modules next to this file.
import { chmod, copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { kubernetesLinkerFlags } from "../support/control-plane/build.ts";
import type { BuildResult, GoBuild } from "../support/control-plane/go-build.ts";
import { findOrBuildByGo } from "../support/control-plane/go-build.ts";
import type { Report } from "../support/control-plane/program.ts";
import { runToEnd } from "../support/control-plane/run-to-end.ts";

/** A file of the module that must be next to the program. */
interface Extra {
  readonly module: string;
  readonly file: string;
}

const argocdModule = "github.com/argoproj/argo-cd/v3";
const sourceControllerModule = "github.com/fluxcd/source-controller";
const kustomizeControllerModule = "github.com/fluxcd/kustomize-controller";

const node: GoBuild = {
  name: "world-node",
  title: "kubelet and kube-scheduler",
  sourceDirectory: join(import.meta.dirname, "node-build"),
  sourceFiles: ["go.mod", "go.sum", "main.go", "pause/main.go"],
  packages: [".", "./pause"],
  flags: ["-p", "2", "-ldflags", kubernetesLinkerFlags()],
  makes: "Folder",
};

const argocd = folderBuild(
  {
    name: "world-argocd",
    title: "Argo CD",
    sourceDirectory: join(import.meta.dirname, "argocd-build"),
    sourceFiles: ["go.mod", "go.sum", "main.go"],
    packages: [".", "tool"],
  },
  [
    ...["application", "applicationset", "appproject"].map((name) => ({
      module: argocdModule,
      file: `manifests/crds/${name}-crd.yaml`,
    })),
    // The repository server runs both programs for each revision; without them, every manifest fails with "permission denied".
    { module: argocdModule, file: "hack/git-verify-wrapper.sh" },
    { module: argocdModule, file: "hack/gpg-wrapper.sh" },
  ],
);

const sourceController = fluxBuild("source-controller", sourceControllerModule, [
  "source.toolkit.fluxcd.io_gitrepositories.yaml",
  "source.toolkit.fluxcd.io_ocirepositories.yaml",
  "source.toolkit.fluxcd.io_helmrepositories.yaml",
  "source.toolkit.fluxcd.io_helmcharts.yaml",
  "source.toolkit.fluxcd.io_buckets.yaml",
  "source.toolkit.fluxcd.io_externalartifacts.yaml",
]);
const kustomizeController = fluxBuild("kustomize-controller", kustomizeControllerModule, [
  "kustomize.toolkit.fluxcd.io_kustomizations.yaml",
]);

const builds = { node, "source-controller": sourceController, "kustomize-controller": kustomizeController, argocd };
export type WorldProgram = keyof typeof builds;
export const worldPrograms = Object.keys(builds) as WorldProgram[];

/** May take half an hour on a machine without a cache. Does not reject if a program is only missing. */
export async function findWorldProgram(name: WorldProgram, cache: string, report: Report): Promise<BuildResult> {
  return await findOrBuildByGo(builds[name], cache, report);
}

function fluxBuild(name: string, module: string, definitions: readonly string[]): GoBuild {
  return folderBuild(
    {
      name: `world-${name}`,
      title: `Flux's ${name}`,
      sourceDirectory: join(import.meta.dirname, name),
      sourceFiles: ["go.mod", "go.sum"],
      packages: ["tool"],
    },
    definitions.map((file) => ({ module, file: `config/crd/bases/${file}` })),
  );
}

function folderBuild(
  build: Pick<GoBuild, "name" | "title" | "sourceDirectory" | "sourceFiles" | "packages">,
  extras: readonly Extra[],
): GoBuild {
  return {
    ...build,
    flags: ["-p", "2", "-ldflags", "-s -w"],
    makes: "Folder",
    complete: (folder) => copyExtras(build.sourceDirectory, extras, folder),
  };
}

async function copyExtras(directory: string, extras: readonly Extra[], folder: string): Promise<string | undefined> {
  const target = join(folder, "extras");
  await mkdir(target, { recursive: true });
  for (const { module, file } of extras) {
    const listed = await runToEnd("go", ["list", "-m", "-f", "{{.Dir}}", module], { directory });
    if (listed.code !== 0) return `go list -m ${module}: ${listed.stderr}`;
    const copy = join(target, basename(file));
    await copyFile(join(listed.stdout.trim(), file), copy);
    // Files in a module's zip are not executable.
    await chmod(copy, copy.endsWith(".sh") ? 0o755 : 0o644);
  }
  return undefined;
}
