// `wafsync version`: the versions of this program and of the API server, for bug reports.
import { access } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { readEnvironment } from "../app/config.ts";
import type { VersionOptions } from "./commands/process-commands.ts";
import { CommandError } from "./describe-error.ts";
import type { ClusterOptions } from "./read-kube-config.ts";

/** The response of the API server at `/version`. */
type ServerAnswer = { readonly version: string } | { readonly problem: string };

/** @returns 0, or 2 if the cluster in the options does not respond. */
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
  // Without options, the kubeconfig may be for an unrelated purpose.
  if (isNamed) throw new CommandError(`the API server does not respond: ${server.problem}`);
  process.stderr.write(`warning: the API server does not respond: ${server.problem}\n`);
  return 0;
}

/** Checks without loading the Kubernetes client. In a pod, `kubectl` would use the service account; here it must be requested. */
async function hasKubeConfig(): Promise<boolean> {
  if (readEnvironment().kubeconfig !== undefined) return true;
  return await access(join(homedir(), ".kube", "config")).then(
    () => true,
    () => false,
  );
}

async function askServer(options: ClusterOptions): Promise<ServerAnswer> {
  // Loads the Kubernetes client.
  const { serverVersion } = await import("./read-kube-config.ts");
  const answer = await serverVersion(options);
  return "problem" in answer ? answer : { version: answer.value };
}

declare const WAFSYNC_COMMIT: string | undefined;

/** The Git commit of the build, with the suffix `-dirty` if there were uncommitted changes. */
export function builtCommit(): string | undefined {
  return typeof WAFSYNC_COMMIT === "string" && WAFSYNC_COMMIT !== "" ? WAFSYNC_COMMIT : undefined;
}
