// The pause image, which holds the namespaces of each pod: one static program, written as a Docker archive with only tar.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runToEnd } from "../../support/control-plane/run-to-end.ts";

export const pauseImageName = "localhost/pause:1";

/** Returns the archive. */
export async function writePauseImage(program: string, directory: string): Promise<string> {
  const content = join(directory, "pause");
  await mkdir(join(content, "root"), { recursive: true });
  await copyFile(program, join(content, "root", "pause"));
  await runTar(["--create", "--file", join(content, "layer.tar"), "--directory", join(content, "root"), "pause"]);
  const layer = createHash("sha256")
    .update(await readFile(join(content, "layer.tar")))
    .digest("hex");
  const configuration = {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Entrypoint: ["/pause"], User: "65535:65535" },
    rootfs: { type: "layers", diff_ids: [`sha256:${layer}`] },
  };
  const manifest = [{ Config: "config.json", RepoTags: [pauseImageName], Layers: ["layer.tar"] }];
  await writeFile(join(content, "config.json"), JSON.stringify(configuration));
  await writeFile(join(content, "manifest.json"), JSON.stringify(manifest));
  const archive = join(directory, "pause.tar");
  await runTar(["--create", "--file", archive, "--directory", content, "manifest.json", "config.json", "layer.tar"]);
  await rm(content, { recursive: true });
  return archive;
}

async function runTar(args: readonly string[]): Promise<void> {
  const ended = await runToEnd("tar", args);
  if (ended.code !== 0) throw new Error(`tar: ${ended.stderr}`);
}
