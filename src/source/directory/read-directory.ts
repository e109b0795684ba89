// One scan of a directory: finds the YAML and JSON files, reads those that changed since the last scan, and assembles the snapshot. The
// contents are cached by the stamps of the files, so a scan of unchanged files only lists their names. A stamp is no proof while
// it is new: file systems record times in steps, so a second write soon after the first one can leave the stamp unchanged.
//
// Symbolic links are followed, because a mounted ConfigMap consists of them, but not to targets outside the folder, because its author may
// be untrusted. No folder is visited twice, so loops are harmless. Names that begin with a dot are skipped: `..data` of a mounted ConfigMap,
// `.git`, and the temporary files of editors. Permanent faults, which the user has to fix, differ from transient ones: a file that disappears
// or changes while it is read is read again by the next scan.
import { createHash } from "node:crypto";
import { type BigIntStats, constants, type Dirent } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Clock } from "../../async/clock.ts";
import { hexDigest } from "../../model/hex-digest.ts";
import { visibleText } from "../../model/visible-text.ts";
import { type DirectoryItem, readDocument } from "./read-document.ts";
import { assembleSnapshot, type DirectorySnapshot } from "./snapshot.ts";
import { sourceFault, type SourceFault } from "./source-fault.ts";
import { readYamlDocuments } from "./yaml-documents.ts";

export const documentsMax = 100_000;
/** The maximum number of reported faults per file: only the first ones are reported. */
const faultsPerFileMax = 100;
/** The longest step of file times: FAT has 2 s, local file systems of Linux before 6.13 have 1 to 10 ms. */
export const fileTimeStepMs = 2_000;

/** The content of each file at the last scan. Belongs to one directory. */
export type FileCache = Map<string, ReadFile>;

interface ReadFile {
  readonly stamp: string;
  /** Monotonic time at which the file was first found with this stamp. */
  readonly foundMs: number;
  /** Whether it was read so long after it was found that every later write changes the stamp. */
  readonly isFinal: boolean;
  /** Identifies the text; undefined if it was not readable. */
  readonly digest: string | undefined;
  readonly items: readonly DirectoryItem[];
  readonly faults: readonly SourceFault[];
}

export interface DirectoryReading {
  /** Absolute. */
  readonly directory: string;
  /** Absolute paths of folders to leave out. */
  readonly skip: readonly string[];
  readonly cache: FileCache;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export interface ReadDirectory {
  readonly snapshot: DirectorySnapshot;
  /** Equal for two scans if no file or folder has changed in between. */
  readonly stamp: string;
}

/** The current state of the directory. Never throws: unreadable files are faults of the snapshot. */
export async function readDirectory({ directory, skip, cache, clock }: DirectoryReading): Promise<ReadDirectory> {
  const found = await listSourceFiles(directory, skip);
  const listedMs = clock.monotonicMs();
  const items: DirectoryItem[] = [];
  const faults = [...found.faults];
  const present = new Set<string>();
  for (const file of found.files) {
    present.add(file.file);
    const cached = cache.get(file.file);
    const known = cached?.stamp === file.stamp ? cached : undefined;
    const read = known?.isFinal === true ? known : await readFile(file, listedMs, known);
    if (read.faults.some(({ isTransient }) => isTransient)) cache.delete(file.file);
    else cache.set(file.file, read);
    items.push(...read.items);
    faults.push(...read.faults);
    if (items.length > documentsMax) {
      faults.push(sourceFault(".", `there are more than ${documentsMax} objects: the rest is not read`));
      break;
    }
  }
  for (const file of cache.keys()) if (!present.has(file)) cache.delete(file);
  return { snapshot: assembleSnapshot(items, faults), stamp: found.stamp };
}

/** Whether another scan will probably succeed where this one failed. */
export function hasTransientFault(snapshot: DirectorySnapshot): boolean {
  return snapshot.faults.some(({ isTransient }) => isTransient);
}

/** @param known the file as it was read before, with the same stamp */
async function readFile(found: FoundFile, listedMs: number, known: ReadFile | undefined): Promise<ReadFile> {
  const { file, stamp } = found;
  const foundMs = known?.foundMs ?? listedMs;
  const version = { stamp, foundMs, isFinal: listedMs - foundMs >= fileTimeStepMs };
  const read = await readSourceFile(found);
  if (!read.ok) return { ...version, digest: undefined, items: [], faults: [read.fault] };
  const digest = hexDigest(read.text);
  if (known?.digest === digest) return { ...known, ...version };
  const { documents, faults } = readYamlDocuments(read.text);
  const objects = documents.map((document) => readDocument(document, file));
  const all = [
    ...faults.map(({ line, message }) => sourceFault(file, message, { line })),
    ...objects.flatMap((object) => object.faults),
  ];
  return { ...version, digest, items: objects.flatMap(({ items }) => items), faults: bounded(file, all) };
}

/** The first faults of a file; if there are more, they still block removals. */
function bounded(file: string, faults: readonly SourceFault[]): readonly SourceFault[] {
  const errors = faults.filter(({ severity }) => severity === "Error");
  if (faults.length <= faultsPerFileMax) return faults;
  if (errors.length === 0) return faults.slice(0, faultsPerFileMax);
  const rest = sourceFault(file, `the file has ${errors.length} faults; these are the first`);
  return [...errors.slice(0, faultsPerFileMax), rest];
}

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

export const fileBytesMax = 4 * 1024 * 1024;

export interface FoundFile {
  /** Relative to the directory, with `/`. */
  readonly file: string;
  readonly path: string;
  /** Device, inode, size and times of the file: changes with the content. */
  readonly stamp: string;
}

export type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: SourceFault };

/** Identifies a version of the file's content without reading it. */
export function fileStamp(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ");
}

/** The text of the file, if it has not changed since it was found. Never throws. */
export async function readSourceFile(found: FoundFile): Promise<ReadText> {
  const refuse = (message: string, overrides: Partial<SourceFault> = {}): ReadText => ({
    ok: false,
    fault: sourceFault(found.file, message, overrides),
  });
  const changed = (): ReadText =>
    refuse("the file changed while it was being read; wafsync will read it again", { isTransient: true });
  let bytes: Buffer;
  try {
    // Non-blocking, because the file may have been replaced by a pipe.
    await using file = await open(found.path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) return refuse("not a regular file");
    if (before.size > BigInt(fileBytesMax)) return refuse(tooBig(before.size));
    if (fileStamp(before) !== found.stamp) return changed();
    bytes = Buffer.alloc(Number(before.size));
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) return changed();
      length += bytesRead;
    }
    if (fileStamp(await file.stat({ bigint: true })) !== found.stamp) return changed();
  } catch (error) {
    return { ok: false, fault: accessFault(found.file, error) };
  }
  const decoded = decodeText(bytes);
  return decoded.ok ? decoded : refuse(decoded.message, { line: decoded.line });
}

/** Why a file or folder cannot be accessed. */
export function accessFault(file: string, error: unknown): SourceFault {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  if (code === "ENOENT" || code === "ESTALE") {
    const message = "the file disappeared while it was being read; wafsync will look for it again";
    return sourceFault(file, message, { isTransient: true });
  }
  if (code === "EACCES" || code === "EPERM") return sourceFault(file, "cannot be read: permission denied");
  return sourceFault(file, `cannot be read (${code})`, { isTransient: true });
}

function tooBig(size: bigint): string {
  const megabytes = (Number(size) / 1024 / 1024).toFixed(1);
  return `the file has ${megabytes} MiB, but the limit is ${fileBytesMax / 1024 / 1024} MiB: split it`;
}

type DecodedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly line: number | undefined };

function decodeText(bytes: Buffer): DecodedText {
  const mark = bytes.subarray(0, 2).toString("hex");
  if (mark === "fffe" || mark === "feff") {
    return { ok: false, message: "the file is UTF-16: save it as UTF-8", line: undefined };
  }
  const nul = bytes.indexOf(0);
  if (nul >= 0) return { ok: false, message: "the file is binary, or not UTF-8", line: lineOfByte(bytes, nul) };
  try {
    // The decoder drops a byte order mark.
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    const replaced = bytes.toString("utf8").indexOf("\uFFFD");
    const line = bytes.toString("utf8").slice(0, Math.max(0, replaced)).split("\n").length;
    return { ok: false, message: "the file is not UTF-8: save it as UTF-8", line };
  }
}

function lineOfByte(bytes: Buffer, offset: number): number {
  return bytes.subarray(0, offset).toString("latin1").split("\n").length;
}
