// Writes files so that a reader, or the next start after a crash, sees either the whole old or the whole new content:
// temporary file, fsync, rename, fsync of the folder. Expected failures have Node's error codes.
import { randomUUID } from "node:crypto";
import { existsSync, lstatSync, type Stats } from "node:fs";
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { getSystemErrorMap } from "node:util";

/** Files with this ending are removed at the next start. */
export const temporarySuffix = ".wafsync-tmp";

/** Readable only by its owner by default. */
const privateMode = 0o600;

/**
 * Replaces the file, and creates its folders if they do not exist. Rejects with Node's error.
 * @param prepare called with the new file before it has a content
 */
export async function writeFileAtomically(
  path: string,
  content: string | Uint8Array,
  mode: number = privateMode,
  prepare?: (file: FileHandle) => Promise<void>,
): Promise<void> {
  const folder = dirname(path);
  await makeFolder(folder);
  // Starts with a dot, so that programs that list the folder ignore it.
  const temporary = join(folder, `.${randomUUID()}${temporarySuffix}`);
  try {
    {
      await using file = await open(temporary, "wx", mode);
      await prepare?.(file);
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

/**
 * Writes a file of the user. An existing one keeps its mode and its owner, and a link to it stays a link. It is written in place
 * if a new file could not have the same owner or the same names. Rejects with a sentence that says why it can't be written.
 * @param newMode the mode of a file that does not exist
 */
export async function writeUserFile(path: string, content: string, newMode: number): Promise<void> {
  const known = await statUserFile(path);
  try {
    if (known === undefined) return await writeFileAtomically(path, content, newMode);
    const target = await realpath(path);
    if (known.nlink === 1 && (await replaceAlike(target, content, known))) return;
    await using file = await open(target, "r+");
    await file.writeFile(content);
    await file.truncate(Buffer.byteLength(content));
    await file.sync();
  } catch (error) {
    throw new Error(`${path} cannot be written: ${fileProblem(error)}`, { cause: error });
  }
}

/** Undefined if the file does not exist. Rejects with a sentence if it is a device, a pipe, a folder, or a link to nothing. */
export async function statUserFile(path: string): Promise<Stats | undefined> {
  const ifFound = (stats: Promise<Stats>): Promise<Stats | undefined> =>
    stats.catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw new Error(`${path} cannot be written: ${fileProblem(error)}`, { cause: error });
    });
  const known = (await ifFound(stat(path))) ?? (await ifFound(lstat(path)));
  if (known?.isFile() === false) throw new Error(`${path} cannot be written: it is not a regular file`);
  return known;
}

/** Returns false if this user may not create such a file. */
async function replaceAlike(path: string, content: string, { mode, uid, gid }: Stats): Promise<boolean> {
  const prepare = async (file: FileHandle): Promise<void> => {
    await file.chown(uid, gid);
    await file.chmod(mode & 0o7777);
  };
  try {
    await writeFileAtomically(path, content, privateMode, prepare);
    return true;
  } catch (error) {
    if (["EPERM", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

/** Removes the file durably. It is not an error if the file does not exist. */
export async function removeFileDurably(path: string): Promise<void> {
  await rm(path, { force: true });
  if (existsSync(dirname(path))) await syncFolder(dirname(path));
}

/** Removes the temporary files of killed writers. Call it only as the only writer below the folder. */
export async function removeLeftOvers(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const leftOvers = entries.filter((entry) => entry.isFile() && entry.name.endsWith(temporarySuffix));
  for (const { parentPath, name } of leftOvers) await rm(join(parentPath, name), { force: true });
}

/** Creates a folder that only its owner can read, durably. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first !== undefined) await syncFolder(dirname(first));
}

/** Throws ELOOP if one of the paths is a symbolic link. Paths that do not exist are fine. */
export function refuseLinks(paths: readonly string[]): void {
  for (const path of paths) {
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
    if (isLink === true) throw Object.assign(new Error("symbolic link"), { code: "ELOOP", path });
  }
}

/** Some file systems can't flush a folder, for example those of virtual machines: there, the file itself has to be enough. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, "r");
  await handle.sync().catch((error: NodeJS.ErrnoException) => {
    if (!["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"].includes(error.code ?? "")) throw error;
  });
}

/** The system's words by code: `ENOSPC` gives `no space left on device`. */
const systemMessages = new Map(getSystemErrorMap().values());

/** Why a file cannot be used, without the file. */
export function fileProblem(error: unknown): string {
  const { code = "unknown error", path = "it" } = error as NodeJS.ErrnoException;
  if (code === "ENOTSUP") return `${path} is not a regular file`;
  if (code !== "ELOOP") return systemMessages.get(code) ?? code;
  return `${path} is a symbolic link, which wafsync does not follow: replace it with a folder or file`;
}
