// Runs commands exactly as a page shows them, in a shell whose kubectl uses a control plane of the tests.
import { chmod } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import type { Ended } from "../control-plane/run-to-end.ts";
import { runToEnd } from "../control-plane/run-to-end.ts";
import { readPage } from "../tidy/markdown-pages.ts";
import { scratchDirectory } from "./scratch-directory.ts";

/** Ends commands that hang: a command that waits for a finalizer can wait forever. */
const timeoutMs = 120_000;

/** The page's block of commands that starts with this text, changed for an instance other than `shop` in the namespace `shop`. */
export async function commandsOfPage(
  page: string,
  beginning: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const blocks = [...(await readPage(page)).matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, block = ""]) => block);
  const block = blocks.find((text) => text.trimStart().startsWith(beginning));
  if (block === undefined) throw new Error(`no block of commands on ${page} starts with ${beginning}`);
  return block
    .replaceAll("-n shop shop", `-n ${namespace} ${name}`)
    .replaceAll("-n shop", `-n ${namespace}`)
    .replaceAll("=shop", `=${name}`);
}

/** Stops at the first command that fails. */
export async function runShell(cluster: ClusterAccess, script: string): Promise<Ended> {
  await using folder = await scratchDirectory();
  const kubectl = cluster.kubectl.map((word) => `'${word}'`).join(" ");
  await folder.write("kubectl", `#!/bin/sh\nexec ${kubectl} "$@"\n`);
  await chmod(join(folder.path, "kubectl"), 0o755);
  const environment = {
    PATH: `${folder.path}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: folder.path,
    KUBECONFIG: cluster.kubeconfig,
  };
  return await runToEnd("/bin/sh", ["-e", "-c", script], { environment, timeoutMs });
}
