// Finds the YAML and JSON files below a folder. Symbolic links are followed, because a mounted ConfigMap consists of them,
// but no folder is visited twice, so loops are harmless. Names that begin with a dot are skipped: `..data` of a mounted
// ConfigMap, `.git`, and the temporary files of editors.
import { readdir, stat } from "node:fs/promises";
import type { BigIntStats, Dirent } from "node:fs";
import { dirname, join } from "node:path";
import { sourceFault } from "./source-fault.ts";
import type { SourceFault } from "./source-fault.ts";
import { accessFault, fileStamp } from "./source-file.ts";
import type { FoundFile } from "./source-file.ts";

export const filesMax = 10_000;
export const folderDepthMax = 32;
const foldersMax = 10_000;
const entriesPerFolderMax = 100_000;
/** File systems take time stamps from a clock that ticks every few milliseconds. */
const oneTickNs = 10_000_000n;

export interface FoundFiles {
  /** Ordered by name, so that every scan sees them in the same order. */
  readonly files: readonly FoundFile[];
  readonly faults: readonly SourceFault[];
  /** The file or folder that changed last, and when: milliseconds since 1970. */
  readonly latest: LatestChange | undefined;
}

export interface LatestChange {
  readonly file: string;
  readonly changedMs: number;
}

interface Folder {
  readonly file: string;
  readonly path: string;
  readonly depth: number;
}

/**
 * All files below the folder.
 * @param skip Absolute paths of folders that are left out, such as the state directory.
 */
export async function listSourceFiles(directory: string, skip: readonly string[]): Promise<FoundFiles> {
  const walk: Walk = {
    files: [],
    faults: [],
    visited: new Set(),
    waiting: [{ file: "", path: directory, depth: 0 }],
    skipped: new Set(skip),
    latest: undefined,
  };
  const { files, faults, visited, waiting, skipped } = walk;
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    if (skipped.has(folder.path)) continue;
    if (visited.size >= foldersMax || folder.depth > folderDepthMax) {
      faults.push(
        sourceFault(folder.file, `too many folders: at most ${foldersMax}, ${folderDepthMax} levels deep, are read`),
      );
      break;
    }
    await visitFolder(folder, walk);
    if (files.length > filesMax) {
      faults.push(sourceFault(".", `there are more than ${filesMax} files: the rest is not read`));
      files.length = filesMax;
      break;
    }
  }
  return { files: files.sort((left, right) => (left.file < right.file ? -1 : 1)), faults, latest: walk.latest };
}

interface Walk {
  readonly files: FoundFile[];
  readonly faults: SourceFault[];
  readonly visited: Set<string>;
  readonly waiting: Folder[];
  readonly skipped: ReadonlySet<string>;
  latest: LatestChange | undefined;
}

function noteChange(walk: Walk, file: string, { ctimeNs }: BigIntStats): void {
  const changedMs = Number(ctimeNs / 1_000_000n);
  if (walk.latest === undefined || changedMs > walk.latest.changedMs) walk.latest = { file, changedMs };
}

async function visitFolder(folder: Folder, walk: Walk): Promise<void> {
  let entries: Dirent[];
  try {
    const stats = await stat(folder.path, { bigint: true });
    const identity = `${stats.dev} ${stats.ino}`;
    if (walk.visited.has(identity)) return;
    walk.visited.add(identity);
    if (!(await isOfSkippedFolder(folder, stats, walk)))
      noteChange(walk, folder.file === "" ? "." : folder.file, stats);
    entries = await readdir(folder.path, { withFileTypes: true });
  } catch (error) {
    walk.faults.push(folderFault(folder, error));
    return;
  }
  if (entries.length > entriesPerFolderMax) {
    walk.faults.push(
      sourceFault(folder.file, `the folder has more than ${entriesPerFolderMax} entries: it is not read`),
    );
    return;
  }
  // Real folders come before links to them, so that a file keeps the name that it has without the link.
  entries.sort(
    (left, right) =>
      Number(left.isSymbolicLink()) - Number(right.isSymbolicLink()) || (left.name < right.name ? -1 : 1),
  );
  for (const entry of entries) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    await visitEntry(entry, folder, walk);
  }
}

/** True if the ctime of the folder changed only because wafsync created its state directory there. */
async function isOfSkippedFolder({ path }: Folder, { ctimeNs }: BigIntStats, { skipped }: Walk): Promise<boolean> {
  for (const own of skipped) {
    if (dirname(own) !== path) continue;
    const made = await stat(own, { bigint: true }).catch(() => undefined);
    if (made === undefined) continue;
    const apartNs = ctimeNs - made.birthtimeNs;
    if (apartNs >= -oneTickNs && apartNs <= oneTickNs) return true;
  }
  return false;
}

async function visitEntry(entry: Dirent, folder: Folder, walk: Walk): Promise<void> {
  const file = folder.file === "" ? entry.name : `${folder.file}/${entry.name}`;
  const path = join(folder.path, entry.name);
  const { files, faults, waiting } = walk;
  const named = /\.(?:ya?ml|json)$/i.test(entry.name);
  if (entry.isDirectory()) waiting.push({ file, path, depth: folder.depth + 1 });
  if (entry.isDirectory() || (!named && !entry.isSymbolicLink())) return;
  try {
    const stats = await stat(path, { bigint: true });
    if (stats.isDirectory()) waiting.push({ file, path, depth: folder.depth + 1 });
    else if (named && stats.isFile()) {
      files.push({ file, path, stamp: fileStamp(stats) });
      noteChange(walk, file, stats);
    } else if (named) faults.push(sourceFault(file, "not a regular file"));
  } catch (error) {
    // Dangling links that are not named like a YAML file are ignored.
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ELOOP") faults.push(sourceFault(file, "the symbolic link points to itself"));
    else if (named && entry.isSymbolicLink() && code === "ENOENT") {
      const message = "the target of the symbolic link does not exist; wafsync will look for it again";
      faults.push(sourceFault(file, message, { isTransient: true }));
    } else if (named) faults.push(accessFault(file, error));
  }
}

function folderFault(folder: Folder, error: unknown): SourceFault {
  const code = (error as NodeJS.ErrnoException).code;
  if (folder.file !== "") return accessFault(folder.file, error);
  if (code === "ENOENT") return sourceFault(".", "the directory does not exist", { isTransient: true });
  if (code === "ENOTDIR") return sourceFault(".", "this is a file, not a directory");
  return accessFault(".", error);
}
