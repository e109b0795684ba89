// `wafsync version`: what runs here, and what the API server is, for reports of problems.
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { readEnvironment } from "../app/config.ts";
import { builtCommit } from "./build-info.ts";
import { CommandError } from "./describe-error.ts";
import type { ClusterOptions } from "./read-kube-config.ts";

export interface VersionOptions extends ClusterOptions {
  readonly client: boolean;
  readonly output: "table" | "json";
}

/** What the API server says about itself at `/version`. */
type ServerAnswer = { readonly version: string } | { readonly problem: string };

/** @returns 0, or 2 if a cluster that was named does not answer. */
export async function runVersion(options: VersionOptions): Promise<number> {
  const isNamed = options.kubeconfig !== undefined || options.context !== undefined;
  const server = !options.client && (isNamed || (await hasKubeConfig())) ? await askServer(options) : undefined;
  const version = packageJson.version;
  const commit = builtCommit();
  const node = process.versions.node;
  const platform = `${process.platform}-${process.arch}`;
  if (options.output === "json") {
    const apiServer = server === undefined ? {} : { apiServer: server };
    process.stdout.write(`${JSON.stringify({ version, commit: commit ?? null, node, platform, ...apiServer })}\n`);
  } else {
    const lines = [
      `wafsync      ${version}`,
      `Commit       ${commit ?? "unknown: running from source"}`,
      `Node.js      ${node} (${platform})`,
      ...(server === undefined ? [] : [`API server   ${"version" in server ? server.version : "does not respond"}`]),
    ];
    process.stdout.write(`${lines.join("\n")}\n`);
  }
  if (server === undefined || "version" in server) return 0;
  // Whoever did not name a cluster may have a kubeconfig for something else.
  if (isNamed) throw new CommandError(`the API server does not respond: ${server.problem}`);
  process.stderr.write(`warning: the API server does not respond: ${server.problem}\n`);
  return 0;
}

/** Looks without loading the Kubernetes client. In a pod, `kubectl` would use the service account; here it has to be named. */
async function hasKubeConfig(): Promise<boolean> {
  if (readEnvironment().kubeconfig !== undefined) return true;
  return await access(join(homedir(), ".kube", "config")).then(
    () => true,
    () => false,
  );
}

async function askServer(options: ClusterOptions): Promise<ServerAnswer> {
  // Loads the Kubernetes client.
  const { serverVersion } = await import("./query-cluster.ts");
  const answer = await serverVersion(options);
  return "problem" in answer ? answer : { version: answer.value };
}
