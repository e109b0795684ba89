// The versions of other programs that the suites of the world run, and the pages that name them. `npm run test:world` writes
// them with WAFSYNC_WRITE_DOCS=1; test/docs/versions.test.ts compares them.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const root = join(import.meta.dirname, "..", "..");

export interface TestedVersion {
  /** As the page names it, in front of the version. */
  readonly program: string;
  readonly page: string;
  /** The Go module that the program is built from, and the folder whose go.mod pins it. */
  readonly module: string;
  readonly folder: string;
}

export const testedVersions: readonly TestedVersion[] = [
  {
    program: "Argo CD",
    page: "docs/guides/argocd.md",
    module: "github.com/argoproj/argo-cd/v3",
    folder: "test/world/argocd-build",
  },
  ...["source-controller", "kustomize-controller"].map((program) => ({
    program,
    page: "docs/guides/flux.md",
    module: `github.com/fluxcd/${program}`,
    folder: `test/world/${program}`,
  })),
  { program: "Helm", page: "docs/guides/helm.md", module: "helm.sh/helm/v4", folder: "test/tools" },
  {
    program: "Kubernetes",
    page: "docs/installation.md",
    module: "k8s.io/kubernetes",
    folder: "test/world/node-build",
  },
];

/** `PROGRAM VERSION`, as the page has to name it. */
export async function testedWith({ program, module, folder }: TestedVersion): Promise<string> {
  const text = await readFile(join(root, folder, "go.mod"), "utf8");
  const version = new RegExp(`${module} v(\\S+)`).exec(text)?.[1];
  if (version === undefined) throw new Error(`${folder}/go.mod does not name ${module}`);
  return `${program} ${version}`;
}

/** Replaces the former version of each program on its page. */
export async function writeTestedVersions(): Promise<void> {
  for (const tested of testedVersions) {
    const file = join(root, tested.page);
    const text = await readFile(file, "utf8");
    const named = new RegExp(`\\b${tested.program} \\d+\\.\\d+\\.\\d+\\b`, "g");
    await writeFile(file, text.replaceAll(named, await testedWith(tested)));
  }
}
