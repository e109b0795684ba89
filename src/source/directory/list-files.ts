// Finds the YAML and JSON files below a folder. Symbolic links are followed, because a mounted ConfigMap consists of them, but
// not to targets outside the folder, because its author may be untrusted. No folder is visited twice, so loops are harmless. Names
// that begin with a dot are skipped: `..data` of a mounted ConfigMap, `.git`, and the temporary files of editors.
import { createHash } from "node:crypto";
import { readdir, realpath, stat } from "node:fs/promises";
import type { BigIntStats, Dirent } from "node:fs";
import { join, sep } from "node:path";
import { visibleText } from "../../model/visible-text.ts";
import { sourceFault } from "./source-fault.ts";
import type { SourceFault } from "./source-fault.ts";
import { accessFault, fileStamp } from "./source-file.ts";
import type { FoundFile } from "./source-file.ts";

export const filesMax = 10_000;
export const folderDepthMax = 32;
const foldersMax = 10_000;
const leadsOutside = "the symbolic link leads out of the folder and is not followed: move the target into the folder";
const entriesPerFolderMax = 100_000;

export interface FoundFiles {
  /** Ordered by name, so that every scan has the same order. */
  readonly files: readonly FoundFile[];
  readonly faults: readonly SourceFault[];
  /** Changes if and only if a file or folder has changed. */
  readonly stamp: string;
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
    root: await realpath(directory).catch(() => directory),
    files: [],
    faults: [],
    visited: await identitiesOf(skip),
    waiting: [{ file: "", path: directory, depth: 0 }],
    skipped: new Set(skip),
    folders: [],
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
  files.sort((left, right) => (left.file < right.file ? -1 : 1));
  return { files, faults, stamp: stampOf(walk) };
}

/** A skipped folder counts as visited, by any path to it. Folders that do not exist are ignored. */
async function identitiesOf(paths: readonly string[]): Promise<Set<string>> {
  const found = await Promise.all(paths.map(async (path) => await stat(path, { bigint: true }).catch(() => undefined)));
  return new Set(found.flatMap((stats) => (stats === undefined ? [] : [identityOf(stats)])));
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev} ${ino}`;
}

interface Walk {
  /** The real path of the directory. */
  readonly root: string;
  readonly files: FoundFile[];
  readonly faults: SourceFault[];
  readonly visited: Set<string>;
  readonly waiting: Folder[];
  readonly skipped: ReadonlySet<string>;
  /** One line per folder: it also changes when other files are added or removed. */
  readonly folders: string[];
}

function stampOf({ files, folders }: Walk): string {
  const hash = createHash("sha256");
  for (const line of folders) hash.update(`${line}\0`);
  for (const { file, stamp } of files) hash.update(`${file} ${stamp}\0`);
  return hash.digest("hex");
}

async function visitFolder(folder: Folder, walk: Walk): Promise<void> {
  let entries: Dirent[];
  try {
    const stats = await stat(folder.path, { bigint: true });
    const identity = identityOf(stats);
    if (walk.visited.has(identity)) return;
    walk.visited.add(identity);
    walk.folders.push(`${folder.file} ${fileStamp(stats)}`);
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

async function visitEntry(entry: Dirent, folder: Folder, walk: Walk): Promise<void> {
  const file = folder.file === "" ? entry.name : `${folder.file}/${entry.name}`;
  const path = join(folder.path, entry.name);
  const { files, faults, waiting } = walk;
  if (visibleText(file) !== file) {
    faults.push(sourceFault(visibleText(file), "the name contains invisible characters: rename it"));
    return;
  }
  // A plan shows the name at the beginning of a line.
  if (file.startsWith("::")) {
    faults.push(sourceFault(file, "the name starts with ::, which starts a command of a pipeline: rename it"));
    return;
  }
  const named = /\.(?:ya?ml|json)$/i.test(entry.name);
  if (entry.isDirectory()) waiting.push({ file, path, depth: folder.depth + 1 });
  if (entry.isDirectory() || (!named && !entry.isSymbolicLink())) return;
  try {
    const stats = await stat(path, { bigint: true });
    if (entry.isSymbolicLink() && !(await isInside(walk.root, path))) {
      // Targets of links without a YAML extension are never read.
      if (named || stats.isDirectory()) faults.push(sourceFault(file, leadsOutside));
      return;
    }
    if (stats.isDirectory()) waiting.push({ file, path, depth: folder.depth + 1 });
    else if (named && stats.isFile()) files.push({ file, path, stamp: fileStamp(stats) });
    else if (named) faults.push(sourceFault(file, "not a regular file"));
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

async function isInside(root: string, path: string): Promise<boolean> {
  const real = await realpath(path);
  return real === root || real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
}

function folderFault(folder: Folder, error: unknown): SourceFault {
  const code = (error as NodeJS.ErrnoException).code;
  if (folder.file !== "") return accessFault(folder.file, error);
  if (code === "ENOENT") return sourceFault(".", "the directory does not exist", { isTransient: true });
  if (code === "ENOTDIR") return sourceFault(".", "this is a file, not a directory");
  return accessFault(".", error);
}
