// One pass over a directory: finds the files, reads those that changed since the last pass, and puts the snapshot together.
// What was read once is kept by the stamp of its file, so that a pass over unchanged files costs their names alone.
import { type LatestChange, listSourceFiles } from "./list-files.ts";
import { readDocument } from "./read-document.ts";
import { assembleSnapshot } from "./snapshot.ts";
import type { DirectorySnapshot } from "./snapshot.ts";
import { brokenFile } from "./source-fault.ts";
import type { SourceFault } from "./source-fault.ts";
import type { DirectoryItem } from "./directory-item.ts";
import { readSourceFile } from "./source-file.ts";
import type { FoundFile } from "./source-file.ts";
import { readYamlDocuments } from "./yaml-documents.ts";

export const documentsMax = 100_000;
/** A file with more faults is shown with the first of them. */
const faultsPerFileMax = 100;

/** What the files held at the last pass, by file. Belongs to one directory. */
export type FileCache = Map<string, ReadFile>;

interface ReadFile {
  readonly stamp: string;
  readonly items: readonly DirectoryItem[];
  readonly faults: readonly SourceFault[];
}

export interface DirectoryReading {
  /** Absolute. */
  readonly directory: string;
  /** Absolute paths of folders that are not part of it. */
  readonly skip: readonly string[];
  readonly cache: FileCache;
  /** By the wall clock, in milliseconds since 1970. */
  readonly nowMs: number;
  /**
   * A change that is younger may be half of one: a file that is still copied, or one that was deleted to be written anew.
   * What is there counts already, and what is gone is not believed yet: removals are held.
   */
  readonly quietMs: number;
}

/** The directory as it is now. Never throws: whatever cannot be read is a fault of the snapshot. */
export async function readDirectory(reading: DirectoryReading): Promise<DirectorySnapshot> {
  const { directory, skip, cache } = reading;
  const found = await listSourceFiles(directory, skip);
  const items: DirectoryItem[] = [];
  const faults = [...found.faults, ...restlessness(found.latest, reading)];
  const present = new Set<string>();
  for (const file of found.files) {
    present.add(file.file);
    const cached = cache.get(file.file);
    const read = cached?.stamp === file.stamp ? cached : await readFile(file);
    if (read.faults.some(({ passing }) => passing)) cache.delete(file.file);
    else cache.set(file.file, read);
    items.push(...read.items);
    faults.push(...read.faults);
    if (items.length > documentsMax) {
      faults.push(brokenFile(".", `there are more than ${documentsMax} objects: the rest is not read`));
      break;
    }
  }
  for (const file of cache.keys()) if (!present.has(file)) cache.delete(file);
  return assembleSnapshot(items, faults);
}

function restlessness(latest: LatestChange | undefined, { nowMs, quietMs }: DirectoryReading): SourceFault[] {
  // A change far in the future is one of another clock, and no reason to wait for it.
  if (latest === undefined || Math.abs(nowMs - latest.changedMs) >= quietMs) return [];
  const message = "changed a moment ago: removals wait until nothing changes any more";
  return [brokenFile(latest.file, message, { severity: "Note", passing: true })];
}

/** Whether another look is likely to see more. */
export function isPassing(snapshot: DirectorySnapshot): boolean {
  return snapshot.faults.some(({ passing }) => passing);
}

async function readFile(found: FoundFile): Promise<ReadFile> {
  const { file, stamp } = found;
  const read = await readSourceFile(found);
  if (!read.ok) return { stamp, items: [], faults: [read.fault] };
  const { documents, faults } = readYamlDocuments(read.text);
  const objects = documents.map((document) => readDocument(document, file));
  const all = [
    ...faults.map(({ line, message }) => brokenFile(file, message, { line })),
    ...objects.flatMap((object) => object.faults),
  ];
  return { stamp, items: objects.flatMap(({ items }) => items), faults: bounded(file, all) };
}

/** The first faults of a file, without losing that the others hold removals. */
function bounded(file: string, faults: readonly SourceFault[]): readonly SourceFault[] {
  const errors = faults.filter(({ severity }) => severity === "Error");
  if (faults.length <= faultsPerFileMax) return faults;
  if (errors.length === 0) return faults.slice(0, faultsPerFileMax);
  const rest = brokenFile(file, `the file has ${errors.length} faults; these are the first`);
  return [...errors.slice(0, faultsPerFileMax), rest];
}
