// Renders and installs the Helm chart, independent of the user's settings and caches.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { type Ended, runToEnd } from "../../support/control-plane/run-to-end.ts";

export interface RenderedObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

export const chartFolder = join(import.meta.dirname, "..", "..", "..", "deploy", "helm", "wafsync");

export interface Helm {
  /** A folder for the suite's files, which is removed at the end. */
  readonly folder: string;
  /** Never rejects: the exit code and stderr report failures. */
  run(args: readonly string[], kubeconfig?: string): Promise<Ended>;
  /** The output of `helm template` for these values; rejects if the command fails. */
  render(values: object, namespace?: string): Promise<string>;
  end(): Promise<void>;
}

export async function createHelm(file: string): Promise<Helm> {
  const folder = await mkdtemp(join(tmpdir(), "wafsync-helm-"));
  const run = async (args: readonly string[], kubeconfig?: string): Promise<Ended> =>
    runToEnd(file, args, {
      environment: {
        PATH: process.env["PATH"],
        HOME: folder,
        HELM_CACHE_HOME: join(folder, "cache"),
        HELM_CONFIG_HOME: join(folder, "config"),
        HELM_DATA_HOME: join(folder, "data"),
        KUBECONFIG: kubeconfig ?? join(folder, "none"),
      },
    });
  let count = 0;
  return {
    folder,
    run,
    async render(values, namespace = "wafsync-system") {
      count += 1;
      const valuesFile = join(folder, `values-${count}.yaml`);
      await writeFile(valuesFile, JSON.stringify(values));
      const kube = ["--kube-version", "1.36", "--api-versions", "monitoring.coreos.com/v1"];
      const args = ["template", "wafsync", chartFolder, "--namespace", namespace, "--values", valuesFile, ...kube];
      const ended = await run(args);
      if (ended.code !== 0) throw new Error(`helm ${args.join(" ")} ended with ${ended.code}: ${ended.stderr}`);
      return ended.stdout;
    },
    end: async () => rm(folder, { recursive: true, force: true }),
  };
}

export function objectsIn(text: string): RenderedObject[] {
  const objects = parseAllDocuments(text).map((document) => document.toJS() as RenderedObject | null);
  return objects.filter((object) => object !== null);
}

/** The values for the tests that render and install: ten combinations that a platform team may use. */
export async function valueSets(): Promise<[string, object][]> {
  const file = join(import.meta.dirname, "value-sets.yaml");
  return parseAllDocuments(await readFile(file, "utf8")).map((document) => {
    const { title, values } = document.toJS() as { title: string; values: object };
    return [title, values];
  });
}
