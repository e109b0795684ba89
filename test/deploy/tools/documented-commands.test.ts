// The commands of the pages about installing, run one after another as they stand there.
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { runToEnd } from "../../support/control-plane/run-to-end.ts";
import { describeWithToolsAndCluster } from "../../support/deploy/tools-suite.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const attemptsMax = 30;
const attemptDelayMs = 1_000;

/** The lines that begin with a prompt, of each block of a console. */
async function commandsOf(page: string): Promise<string[]> {
  const text = await readFile(join(root, page), "utf8");
  const blocks = [...text.matchAll(/^```console\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => [...block.matchAll(/^\$ (.+)$/gm)].map(([, command = ""]) => command));
}

/** A server tells of new kinds a moment after their definitions were accepted: a person would type the command again. */
async function runUntilKnown(command: string, environment: NodeJS.ProcessEnv): ReturnType<typeof runToEnd> {
  for (let attempt = 1; ; attempt += 1) {
    const ended = await runToEnd("/bin/sh", ["-c", command], { directory: root, environment });
    if (attempt === attemptsMax || !/couldn't find resource|doesn't have a resource type/.test(ended.stderr))
      return ended;
    await setTimeout(attemptDelayMs);
  }
}

await describeWithToolsAndCluster("the documented commands", ["helm"], (tools, cluster) => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "wafsync-commands-"));
    const bin = join(folder, "bin");
    await mkdir(bin);
    await symlink(tools.files.helm, join(bin, "helm"));
    const { file, leadingArguments } = cluster.kubectl;
    await writeFile(join(bin, "kubectl"), `#!/bin/sh\nexec ${[file, ...leadingArguments].join(" ")} "$@"\n`);
    await chmod(join(bin, "kubectl"), 0o755);
    await cluster.expectKubectl(["create", "namespace", "argocd"]);
    await cluster.expectKubectl(["create", "configmap", "argocd-cm", "--namespace", "argocd"]);
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  test.each(["docs/installation.md", "docs/guides/helm.md", "docs/guides/argocd.md"])("work on %s", async (page) => {
    const commands = await commandsOf(page);
    expect(commands).not.toEqual([]);
    const environment = {
      PATH: `${join(folder, "bin")}${delimiter}${process.env["PATH"] ?? ""}`,
      HOME: folder,
      KUBECONFIG: cluster.kubeconfig,
    };
    for (const command of commands) {
      const ended = await runUntilKnown(command, environment);
      expect([command, ended.code, ended.code === 0 ? "" : ended.stderr]).toEqual([command, 0, ""]);
    }
  });
});
