// One scan of a directory: reads its YAML and JSON files, parses those whose content has changed since the last scan, and assembles the
// snapshot.
//
// Symbolic links are followed, because a mounted ConfigMap consists of them, but not to targets outside the folder, because its author may
// be untrusted. No folder is visited twice, so loops are harmless. Names that begin with a dot are skipped: `..data` of a mounted ConfigMap,
// `.git`, and the temporary files of editors. Permanent faults, which the user has to fix, differ from transient ones: a file that disappears
// while it is read is looked for again by the next scan.
import { isUtf8 } from "node:buffer";
import { constants, type Dirent } from "node:fs";
import { open, readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { mapConcurrently } from "../../async/map-concurrently.ts";
import { hexDigest } from "../../model/hex-digest.ts";
import { visibleText } from "../../model/texts.ts";
import { type ReadDocument, readDocument } from "./read-document.ts";
import { DirectorySnapshot, sourceFault, type SourceFault } from "./snapshot.ts";
import { readYamlDocuments } from "./yaml-documents.ts";

const readsAtOnceMax = 16;

interface ReadFile extends ReadDocument {
  /** Identifies the text; undefined if it was not readable. */
  readonly digest: string | undefined;
}

const unread: ReadFile = { digest: undefined, items: [], faults: [] };

/** The content of each file at a scan. */
export type ReadFiles = ReadonlyMap<string, ReadFile>;

export interface DirectoryReading {
  /** Absolute. */
  readonly directory: string;
  /** Absolute paths of folders to leave out. */
  readonly skip: readonly string[];
  /** The files of the last scan: what has not changed stays the same object. */
  readonly before: ReadFiles;
}

export interface ReadDirectory {
  readonly snapshot: DirectorySnapshot;
  readonly files: ReadFiles;
  /** Equal for two scans with the same files and faults. Never print it: the API keys are part of the hash. */
  readonly fingerprint: string;
  /** Equal for two scans if no file or folder has changed in between. */
  readonly stamp: string;
}

/** The current state of the directory. Never throws: unreadable files are faults of the snapshot. */
export async function readDirectory({ directory, skip, before }: DirectoryReading): Promise<ReadDirectory> {
  const found = await listSourceFiles(directory, skip);
  // In the order of the names, in whatever order they are read.
  const files = new Map<string, ReadFile>(found.files.map(({ file }) => [file, unread]));
  await mapConcurrently(found.files, readsAtOnceMax, async (one) => {
    files.set(one.file, await readFile(one, before.get(one.file)));
  });
  const all = [...files.values()];
  const faults = [...found.faults, ...all.flatMap((one) => one.faults)];
  const read = [...files].map(([file, { digest = "" }]) => [file, digest]);
  const fingerprint = hexDigest(JSON.stringify([read, faults]));
  const stamp = hexDigest(JSON.stringify([found.folders, fingerprint]));
  const items = all.flatMap((one) => one.items);
  return { snapshot: new DirectorySnapshot(items, faults), files, fingerprint, stamp };
}

/** Whether another scan will probably succeed where this one failed. */
export function hasTransientFault(snapshot: DirectorySnapshot): boolean {
  return snapshot.faults.some(({ isTransient }) => isTransient);
}

async function readFile(found: FoundFile, before: ReadFile | undefined): Promise<ReadFile> {
  const { file } = found;
  const text = await readText(found);
  if (typeof text !== "string") return { ...unread, faults: [text] };
  const digest = hexDigest(text);
  if (before?.digest === digest) return before;
  const { documents, faults } = readYamlDocuments(text);
  const objects = documents.map((document) => readDocument(document, file));
  const all = [
    ...faults.map(({ line, message }) => sourceFault(file, message, { line })),
    ...objects.flatMap((object) => object.faults),
  ];
  return { digest, items: objects.flatMap(({ items }) => items), faults: all };
}

/** A folder with more files, such as a home directory, was given by mistake. The same for folders. */
const filesMax = 10_000;
const leadsOutside = "the symbolic link leads out of the folder and is not followed: move the target into the folder";

interface FoundFile {
  /** Relative to the directory, with `/`. */
  readonly file: string;
  readonly path: string;
}

interface Walk {
  /** The real path of the directory. */
  readonly root: string;
  /** Ordered by name, so that every scan has the same order. */
  readonly files: FoundFile[];
  readonly faults: SourceFault[];
  /** One line per folder: it also changes when other files are added or removed. */
  readonly folders: string[];
  /** The real paths of the folders that were visited, or are left out. */
  readonly visited: Set<string>;
  readonly waiting: FoundFile[];
}

/**
 * All files below the folder.
 * @param skip Absolute paths of folders that are left out, such as the state directory.
 */
async function listSourceFiles(directory: string, skip: readonly string[]): Promise<Walk> {
  const [root = directory, ...skipped] = await Promise.all(
    [directory, ...skip].map(async (path) => await realpath(path).catch(() => path)),
  );
  const waiting = [{ file: "", path: directory }];
  const walk: Walk = { root, files: [], faults: [], folders: [], visited: new Set(skipped), waiting };
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    if (Math.max(walk.files.length, walk.folders.length) >= filesMax) {
      walk.faults.push(sourceFault(folder.file, `too many files or folders: at most ${filesMax} of each are read`));
      break;
    }
    await visitFolder(folder, walk);
  }
  walk.files.sort((left, right) => (left.file < right.file ? -1 : 1));
  return walk;
}

async function visitFolder(folder: FoundFile, walk: Walk): Promise<void> {
  let entries: Dirent[];
  try {
    const real = await realpath(folder.path);
    if (walk.visited.has(real)) return;
    walk.visited.add(real);
    const { ino, mtimeMs, ctimeMs } = await stat(real);
    walk.folders.push(`${folder.file} ${ino} ${mtimeMs} ${ctimeMs}`);
    entries = await readdir(real, { withFileTypes: true });
  } catch (error) {
    walk.faults.push(accessFault(folder.file === "" ? "." : folder.file, error));
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

async function visitEntry(entry: Dirent, folder: FoundFile, walk: Walk): Promise<void> {
  const file = folder.file === "" ? entry.name : `${folder.file}/${entry.name}`;
  const found = { file, path: join(folder.path, entry.name) };
  const { files, faults, waiting } = walk;
  if (visibleText(file) !== file) {
    faults.push(sourceFault(visibleText(file), "the name contains invisible characters: rename it"));
  } else if (file.startsWith("::")) {
    // A plan shows the name at the beginning of a line.
    faults.push(sourceFault(file, "the name starts with ::, which starts a command of a pipeline: rename it"));
  } else if (entry.isDirectory()) waiting.push(found);
  else if (entry.isSymbolicLink()) await visitLink(found, walk);
  else if (isNamed(file)) files.push(found);
}

function isNamed(file: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(file);
}

/** Links that are not named like a YAML file are only followed to folders, and ignored if they are dangling. */
async function visitLink(link: FoundFile, { root, files, faults, waiting }: Walk): Promise<void> {
  const { file, path } = link;
  try {
    const real = await realpath(path);
    const isFolder = (await stat(real)).isDirectory();
    if (!isFolder && !isNamed(file)) return;
    const isInside = real === root || real.startsWith(root.endsWith(sep) ? root : `${root}${sep}`);
    if (!isInside) faults.push(sourceFault(file, leadsOutside));
    else (isFolder ? waiting : files).push(link);
  } catch (error) {
    const isLoop = (error as NodeJS.ErrnoException).code === "ELOOP";
    if (isLoop || isNamed(file)) faults.push(accessFault(file, error));
  }
}

/** As large as etcd accepts an object. A parsed file takes several hundred bytes for each of its values, which can be two bytes long. */
const fileBytesMax = 1.5 * 1024 * 1024;

/** Its text, or why it can't be used. Never throws. */
async function readText({ file, path }: FoundFile): Promise<string | SourceFault> {
  try {
    // Non-blocking, because the file may be a pipe.
    await using opened = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await opened.stat();
    if (!stats.isFile()) return sourceFault(file, "not a regular file");
    if (stats.size > fileBytesMax) {
      return sourceFault(file, `the file is larger than ${fileBytesMax / 1024 / 1024} MiB: split it`);
    }
    const bytes = await opened.readFile();
    if (!isUtf8(bytes) || bytes.includes(0)) return sourceFault(file, "the file is not UTF-8 text: save it as UTF-8");
    return bytes.toString("utf8").replace(/^\uFEFF/u, "");
  } catch (error) {
    return accessFault(file, error);
  }
}

/** Why a file or folder cannot be accessed. */
function accessFault(file: string, error: unknown): SourceFault {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  if (code === "EACCES" || code === "EPERM") return sourceFault(file, "cannot be read: permission denied");
  if (code === "ELOOP") return sourceFault(file, "the symbolic link points to itself");
  const isGone = code === "ENOENT" || code === "ESTALE";
  const message = isGone
    ? "does not exist, or is a link to nothing; wafsync will look for it again"
    : `cannot be read (${code})`;
  return sourceFault(file, message, { isTransient: true });
}
