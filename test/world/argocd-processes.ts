// Runs Argo CD as processes in the box: Redis, the repository server, the application controller and the ApplicationSet
// controller, with the objects that its installation manifests would apply.
import { once } from "node:events";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { waitFor } from "../support/builders/cluster-objects.ts";
import type { ClusterAccess } from "../support/control-plane/cluster-access.ts";
import type { Supervisor } from "../support/control-plane/supervisor.ts";
import { createSupervisor } from "../support/control-plane/supervisor.ts";
import { applyDefinitions, applyObjects } from "./steps.ts";
import type { World } from "./world-description.ts";

const stepMs = 240_000;
const repoServerPort = 8191;
const repoServer = `127.0.0.1:${repoServerPort}`;
const redis = "127.0.0.1:6399";
const redisPort = "6399";
const deploy = join(import.meta.dirname, "..", "..", "deploy", "argocd");
const settings = { namespace: "argocd", labels: { "app.kubernetes.io/part-of": "argocd" } };

/** Resolves when everything runs. The caller must end it. */
export async function startArgocd(world: World): Promise<Supervisor> {
  const programs = world.programs.argocd;
  if (programs === undefined) throw new Error("there is no Argo CD: run `npm run test:world -- test/world/argocd`");
  const directory = join(world.cluster.directory, "argocd");
  const names = join(directory, "bin");
  await mkdir(names, { recursive: true });
  await mkdir(join(directory, "plugins"));
  const parts = ["application-controller", "applicationset-controller", "repo-server", "git-ask-pass"];
  for (const part of parts) await symlink(join(programs, "argocd"), join(names, `argocd-${part}`));
  await symlink(join(programs, "kustomize"), join(names, "kustomize"));
  for (const name of ["git-verify-wrapper.sh", "gpg-wrapper.sh"])
    await symlink(join(programs, "extras", name), join(names, name));
  await installObjects(world, programs);
  const supervisor = createSupervisor(directory);
  const environment = {
    PATH: `${names}:${world.helm ?? ""}:${process.env["PATH"] ?? ""}`,
    HOME: directory,
    TMPDIR: directory,
    KUBECONFIG: world.cluster.kubeconfig,
    ARGOCD_FAKE_IN_CLUSTER: "true",
    ARGOCD_GPG_ENABLED: "false",
    ARGOCD_PLUGINSOCKFILEPATH: join(directory, "plugins"),
    ARGOCD_APPLICATION_CONTROLLER_PERSIST_RESOURCE_HEALTH: "true",
  };
  // The supervisor starts programs with the environment of this process, so `env` sets their own variables.
  const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const start = (part: string, args: readonly string[]): Promise<void> => {
    const leadingArguments = ["--ignore-environment", ...assignments, join(names, `argocd-${part}`)];
    return supervisor.start(part, { file: "env", leadingArguments }, args);
  };
  const redisFlags = ["--port", redisPort, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
  await supervisor.start("redis", { file: "redis-server", leadingArguments: [] }, redisFlags);
  await start("repo-server", [
    `--port=${repoServerPort}`,
    "--metrics-port=8192",
    "--disable-tls",
    "--client-ca-path=",
    // The default is three minutes.
    "--revision-cache-expiration=3s",
    `--redis=${redis}`,
  ]);
  // The controller caches failed reads for minutes.
  await supervisor.waitUntil("the repository server", () => listens(repoServerPort));
  const shared = [`--kubeconfig=${world.cluster.kubeconfig}`, "--namespace=argocd"];
  await start("application-controller", [
    ...shared,
    `--redis=${redis}`,
    `--repo-server=${repoServer}`,
    "--repo-server-plaintext",
    "--metrics-port=8193",
    // By default, two minutes and up to one more.
    "--app-resync=5",
    "--app-resync-jitter=0",
    "--self-heal-timeout-seconds=2",
  ]);
  await start("applicationset-controller", [
    ...shared,
    `--argocd-repo-server=${repoServer}`,
    "--repo-server-plaintext",
    "--metrics-addr=127.0.0.1:8194",
    "--probe-addr=127.0.0.1:8195",
    "--webhook-addr=127.0.0.1:8196",
    "--enable-leader-election=false",
  ]);
  return supervisor;
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } finally {
    socket.destroy();
  }
}

async function installObjects(world: World, programs: string): Promise<void> {
  const { cluster } = world;
  const extras = join(programs, "extras");
  const files = ["application-crd.yaml", "applicationset-crd.yaml", "appproject-crd.yaml"];
  await applyDefinitions(cluster, ...files.map((file) => join(extras, file)));
  const v1 = { apiVersion: "v1" };
  await applyObjects(cluster, { ...v1, kind: "Namespace", metadata: { name: "argocd" } });
  await applyObjects(
    cluster,
    { ...v1, kind: "ConfigMap", metadata: { ...settings, name: "argocd-cm" }, data: {} },
    { ...v1, kind: "ConfigMap", metadata: { ...settings, name: "argocd-rbac-cm" }, data: {} },
    { ...v1, kind: "ConfigMap", metadata: { ...settings, name: "argocd-cmd-params-cm" }, data: {} },
    {
      ...v1,
      kind: "Secret",
      metadata: { ...settings, name: "argocd-secret" },
      stringData: { "server.secretkey": "any" },
    },
    {
      apiVersion: "argoproj.io/v1alpha1",
      kind: "AppProject",
      metadata: { name: "default", namespace: "argocd" },
      spec: {
        sourceRepos: ["*"],
        destinations: [{ server: "*", namespace: "*" }],
        clusterResourceWhitelist: [{ group: "*", kind: "*" }],
      },
    },
  );
  await installSettings(cluster);
}

/** The command of docs/guides/argocd.md. */
export async function installSettings(cluster: ClusterAccess): Promise<void> {
  const patch = ["--namespace", "argocd", "--type", "merge", "--patch-file", join(deploy, "argocd-cm.yaml")];
  await cluster.expectKubectl(["patch", "configmap", "argocd-cm", ...patch]);
}

interface ApplicationManifest {
  readonly metadata: { readonly name: string; readonly finalizers?: readonly string[] };
  readonly spec: Record<string, unknown>;
}

/** The documents of a file in deploy/argocd, with another repository instead of the example's. */
export async function readManifests(file: string, repository: string): Promise<ApplicationManifest[]> {
  const text = await readFile(join(deploy, file), "utf8");
  const local = text.replaceAll(/https:\/\/git\.example\.com\/platform\/[a-z]+\.git/g, repository);
  return parseAllDocuments(local).map((document) => document.toJS() as ApplicationManifest);
}

/** An Application that clears the cache after each sync: docs/guides/pipelines.md. */
export function clearsApplication(repository: string): unknown {
  const kustomize = {
    commonAnnotationsEnvsubst: true,
    commonAnnotations: { "wafsync.dev/revision": "$ARGOCD_APP_REVISION" },
  };
  const path = "deploy/cache-clear/argocd-post-sync";
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: { name: "clears", namespace: "argocd" },
    spec: {
      project: "default",
      destination: { server: "https://kubernetes.default.svc", namespace: "shop" },
      sources: [{ repoURL: repository, targetRevision: "main", path, kustomize }],
      syncPolicy: { automated: {} },
    },
  };
}

/** The reported state of an Application. */
export interface ApplicationStatus {
  readonly sync?: { readonly status?: string; readonly revision?: string };
  readonly health?: { readonly status?: string };
  readonly operationState?: { readonly phase?: string; readonly message?: string; readonly finishedAt?: string };
  readonly resources?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly status?: string;
    readonly health?: { readonly status?: string; readonly message?: string };
  }[];
}

interface Application {
  readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: ApplicationStatus;
}

async function readApplication(world: World, name: string): Promise<Application> {
  const path = `/apis/argoproj.io/v1alpha1/namespaces/argocd/applications/${name}`;
  return (await world.cluster.request({ path })).body as Application;
}

export async function applicationStatus(world: World, name: string): Promise<ApplicationStatus> {
  return (await readApplication(world, name)).status ?? {};
}

const refreshAnnotation = "argocd.argoproj.io/refresh";

/** Does the same as the button Refresh: by default, Argo CD reads a repository only every three minutes. */
export async function refresh(world: World, name: string): Promise<void> {
  await annotate(world, name, "hard");
}

/** Compares an Application once, as its resync does. Resolves when the result is saved. */
export async function resync(world: World, name: string): Promise<void> {
  await annotate(world, name, "normal");
  await waitFor(`${name} compared again`, stepMs, async () => {
    const { metadata } = await readApplication(world, name);
    if (metadata === undefined) throw new Error(`there is no Application ${name}`);
    // The controller removes the annotation together with saving the result. A time in the status is too coarse: it has whole seconds.
    return metadata.annotations?.[refreshAnnotation] === undefined ? true : undefined;
  });
}

async function annotate(world: World, name: string, kind: "hard" | "normal"): Promise<void> {
  const annotation = `${refreshAnnotation}=${kind}`;
  await world.cluster.expectKubectl(["annotate", "--overwrite", "application", name, "-n", "argocd", annotation]);
}

export const isHealthy = ({ sync, health }: ApplicationStatus): boolean =>
  sync?.status === "Synced" && health?.status === "Healthy";

/** Rejects with the status and the logs if the Application does not become so. */
export async function waitForStatus(
  world: World,
  argocd: Supervisor,
  name: string,
  what: string,
  isSo: (status: ApplicationStatus) => boolean,
): Promise<ApplicationStatus> {
  let last: ApplicationStatus = {};
  try {
    return await waitFor(`${name} ${what}`, stepMs, async () => {
      last = await applicationStatus(world, name);
      return isSo(last) ? last : undefined;
    });
  } catch (error) {
    const found = `${JSON.stringify(last, undefined, 2)}\n${await argocd.describeLogs()}`;
    throw new Error(`${String(error)}\n${found}`, { cause: error });
  }
}
