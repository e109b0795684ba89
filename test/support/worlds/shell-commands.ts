// Commands of a page, run by a shell as they are printed, with a kubectl that talks to a control plane of the tests.
import { chmod } from "node:fs/promises";
import { delimiter, join } from "node:path";
import type { ClusterAccess } from "../control-plane/cluster-access.ts";
import type { Ended } from "../control-plane/run-to-end.ts";
import { runToEnd } from "../control-plane/run-to-end.ts";
import { readPage } from "../tidy/markdown-pages.ts";
import { scratchDirectory } from "./scratch-directory.ts";

/** Ends what hangs: a command that waits for a finalizer waits for ever. */
const timeoutMs = 120_000;

/** The block of commands of the page that begins so, for an instance other than `shop` of the namespace `shop`. */
export async function commandsOfPage(
  page: string,
  beginning: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const blocks = [...(await readPage(page)).matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, block = ""]) => block);
  const block = blocks.find((text) => text.trimStart().startsWith(beginning));
  if (block === undefined) throw new Error(`no commands on ${page} begin with ${beginning}`);
  return block
    .replaceAll("-n shop shop", `-n ${namespace} ${name}`)
    .replaceAll("-n shop", `-n ${namespace}`)
    .replaceAll("=shop", `=${name}`);
}

/** Ends with the first command that fails. */
export async function runShell(cluster: ClusterAccess, script: string): Promise<Ended> {
  await using folder = await scratchDirectory();
  const { file, leadingArguments } = cluster.kubectl;
  const kubectl = [file, ...leadingArguments].map((word) => `'${word}'`).join(" ");
  await folder.write("kubectl", `#!/bin/sh\nexec ${kubectl} "$@"\n`);
  await chmod(join(folder.path, "kubectl"), 0o755);
  const environment = {
    PATH: `${folder.path}${delimiter}${process.env["PATH"] ?? ""}`,
    HOME: folder.path,
    KUBECONFIG: cluster.kubeconfig,
  };
  return await runToEnd("/bin/sh", ["-e", "-c", script], { environment, timeoutMs });
}
