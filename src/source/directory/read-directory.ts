// One scan of a directory: finds the files, reads those that changed since the last scan, and assembles the snapshot. The
// contents are cached by the stamps of the files, so a scan of unchanged files only lists their names. A stamp is no proof while
// it is new: file systems record times in steps, so a second write soon after the first one can leave the stamp unchanged.
import type { Clock } from "../../async/clock.ts";
import { hexDigest } from "../../model/hex-digest.ts";
import { listSourceFiles } from "./list-files.ts";
import { readDocument } from "./read-document.ts";
import { assembleSnapshot } from "./snapshot.ts";
import type { DirectorySnapshot } from "./snapshot.ts";
import { sourceFault } from "./source-fault.ts";
import type { SourceFault } from "./source-fault.ts";
import type { DirectoryItem } from "./directory-item.ts";
import { readSourceFile } from "./source-file.ts";
import type { FoundFile } from "./source-file.ts";
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
