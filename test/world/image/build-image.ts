// Builds the wafsync image for the world from the unchanged deploy/Dockerfile, with local base images instead of the published
// ones.
import { createHash } from "node:crypto";
import { access, mkdir, readdir, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Report } from "../../support/control-plane/program.ts";
import type { Ended } from "../../support/control-plane/run-to-end.ts";
import { runToEnd } from "../../support/control-plane/run-to-end.ts";

const root = join(import.meta.dirname, "..", "..", "..");
const imageFolder = "world-image-";
const withPackages = join(import.meta.dirname, "..", "with-packages.sh");

export type ImageResult =
  | { readonly state: "Built"; readonly archive: string; readonly id: string; readonly bytes: number }
  | { readonly state: "Failed"; readonly problem: string };

export interface ImageOptions {
  readonly cache: string;
  readonly scratch: string;
  /** The folder of the Debian packages. */
  readonly unpacked: string;
  readonly tag: string;
  readonly report: Report;
}

/** Returns the cached image of these sources. Otherwise, builds it twice: both builds must result in the same image. */
export async function buildImage(options: ImageOptions): Promise<ImageResult> {
  const { cache, scratch, tag, report } = options;
  const bases = await findOrMakeBases(options);
  if ("problem" in bases) return { state: "Failed", problem: bases.problem };
  const folder = join(cache, `${imageFolder}${await hashSources(bases.key)}`);
  const cached = await readBuilt(folder);
  if (cached !== undefined) return cached;
  report("building the image of wafsync, twice");
  const commit = (await runToEnd("git", ["rev-parse", "HEAD"], { directory: root })).stdout.trim();
  const target = join(scratch, "image");
  await mkdir(target, { recursive: true });
  const storage = join(cache, `world-storage-${bases.key}`);
  const script = [join(import.meta.dirname, "build.sh"), root, storage, bases.folder, target, commit];
  const built = await runWithPackages(options, "image-mounts", script, { IMAGE_TAG: tag });
  if (built.code !== 0) return { state: "Failed", problem: `${built.stdout}\n${built.stderr}` };
  // Only the image of the latest sources is kept.
  const old = (await readdir(cache)).filter((name) => name.startsWith(imageFolder));
  await Promise.all(old.map((name) => rm(join(cache, name), { recursive: true })));
  await rename(target, folder);
  return (await readBuilt(folder)) ?? { state: "Failed", problem: `${folder} has no image` };
}

async function readBuilt(folder: string): Promise<ImageResult | undefined> {
  const archive = join(folder, "image.tar");
  const id = await readFile(join(folder, "first.id"), "utf8").catch(() => undefined);
  return id === undefined ? undefined : { state: "Built", archive, id, bytes: (await stat(archive)).size };
}

/** Everything that deploy/Dockerfile reads, the base images, and the code that assembles them. */
async function hashSources(basesKey: string): Promise<string> {
  const hash = createHash("sha256").update(basesKey);
  const single = ["deploy/Dockerfile", "deploy/Dockerfile.dockerignore", "package.json", "package-lock.json"];
  const folders = await Promise.all(["src", "scripts"].map((name) => filesIn(name)));
  const own = relative(root, join(import.meta.dirname, "build.sh"));
  for (const file of [...single, ...folders.flat().toSorted(), own])
    hash.update(`${file}\0`).update(await readFile(join(root, file)));
  return hash.digest("hex").slice(0, 16);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

type Bases = { readonly folder: string; readonly key: string } | { readonly problem: string };

async function findOrMakeBases(options: ImageOptions): Promise<Bases> {
  const { cache, report } = options;
  const node = await realpath(process.execPath);
  const found = await runToEnd("which", ["npm"], { environment: process.env });
  if (found.code !== 0) return { problem: "there is no npm on PATH" };
  // npm is a link to bin/npm-cli.js in its folder.
  const npm = dirname(dirname(await realpath(found.stdout.trim())));
  const script = join(import.meta.dirname, "bases.sh");
  const hash = createHash("sha256")
    .update(await readFile(script))
    .update(process.version);
  const key = hash.digest("hex").slice(0, 16);
  const folder = join(cache, `world-bases-${key}`);
  if (
    await access(folder).then(
      () => true,
      () => false,
    )
  )
    return { folder, key };
  report("making stand-ins for the bases of the image from Debian packages: once, a minute or two");
  const unfinished = `${folder}.${process.pid}.unfinished`;
  const made = await runWithPackages(options, "base-mounts", [script, unfinished, node, npm], {});
  if (made.code !== 0) {
    await rm(unfinished, { recursive: true, force: true });
    return { problem: `${made.stdout}\n${made.stderr}` };
  }
  await rename(unfinished, folder);
  return { folder, key };
}

function runWithPackages(
  { unpacked, scratch }: ImageOptions,
  mounts: string,
  script: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<Ended> {
  return runToEnd("sh", [withPackages, unpacked, join(scratch, mounts), "sh", ...script], {
    environment: { ...process.env, ...environment },
    timeoutMs: 30 * 60_000,
  });
}
