// Writes files so that a reader, or the next start after a crash, sees either the whole old or the whole new content:
// temporary file, fsync, rename, fsync of the folder. Expected failures have Node's error codes.
import { randomUUID } from "node:crypto";
import { lstatSync } from "node:fs";
import { lstat, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Files with this ending are removed at the next start. */
export const temporarySuffix = ".wafsync-tmp";
const leftOversMax = 100_000;

/** Readable only by its owner by default. */
const privateMode = 0o600;

/** Replaces the file, and creates its folders if they do not exist. Rejects with Node's error. */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  mode: number = privateMode,
): Promise<void> {
  const folder = dirname(path);
  await makeFolder(folder);
  // Starts with a dot, so that programs that list the folder ignore it.
  const temporary = join(folder, `.${randomUUID()}${temporarySuffix}`);
  try {
    {
      await using file = await open(temporary, "wx", mode);
      await file.writeFile(content);
      await file.sync();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(folder);
}

/** Removes the file durably. It is not an error if the file does not exist. */
export async function removeFileDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  if (await exists(dirname(path))) await syncFolder(dirname(path));
}

/** Removes the temporary files of killed writers. Call it only as the only writer below the folder. */
export async function removeLeftOvers(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const leftOvers = entries.filter((entry) => entry.isFile() && entry.name.endsWith(temporarySuffix));
  for (const { parentPath, name } of leftOvers.slice(0, leftOversMax))
    await rm(join(parentPath, name), { force: true });
}

/** Creates a folder that only its owner can read, durably. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first !== undefined) await syncFolder(dirname(first));
}

/** Rejects with ELOOP if one of the paths is a symbolic link. Paths that do not exist are fine. */
export async function refuseLinks(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const stats = await lstat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    if (stats === undefined) return;
    if (stats.isSymbolicLink()) throw linkError(path);
  }
}

/** The same without waiting, for a file that a synchronous function reads. Throws if a path does not exist. */
export function refuseLinksSync(paths: readonly string[]): void {
  for (const path of paths) if (lstatSync(path).isSymbolicLink()) throw linkError(path);
}

function linkError(path: string): Error {
  return Object.assign(new Error("symbolic link"), { code: "ELOOP", path });
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** Some file systems can't flush a folder, for example those of virtual machines: there, the file itself has to be enough. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync().catch((error: NodeJS.ErrnoException) => {
    if (!["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(error.code ?? "")) throw error;
  });
}
