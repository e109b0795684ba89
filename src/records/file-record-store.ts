// Records in files of the state directory, one each: `<type>/<namespace>/<name>.txt`. The first line says what the file is, so that a
// copy under another name is not used. The revision is a hash of the text, so a change by another writer is detected before the
// file is overwritten.
import { Turns } from "../async/turns.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { isNameOfNamespace, isNameOfObject, nameKey, type ObjectName } from "../model/resource.ts";
import {
  type LoadedRecord,
  type RecordKey,
  recordNames,
  type RecordStore,
  type SavedRecord,
  type StoredType,
} from "./record-store.ts";

/** Far more than 100,000 entries require. */
const fileBytesMax = 64 * 1024 * 1024;
const revisionLength = 32;
const suffix = ".txt";
/** Names of instances and feeds are shorter, but an annotation can contain any name. */
const nameLengthMax = 200;

/** A file below the state directory, as the parts of its path. */
export type FilePath = readonly string[];
/** The result of reading, writing or removing a file; `problem` is one sentence. */
export type FileResult<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

/** The part of the state directory that a store needs. */
export interface RecordFiles {
  read(file: FilePath, bytesMax: number): Promise<FileResult<string | undefined>>;
  write(file: FilePath, content: string): Promise<FileResult<void>>;
  remove(file: FilePath): Promise<FileResult<void>>;
  list(folder: FilePath): Promise<FileResult<readonly FilePath[]>>;
  /** For messages. */
  placeOf(file: FilePath): string;
}

export class FileRecordStore implements RecordStore {
  readonly #files: RecordFiles;
  /** Writes of one process are sequential, so that no other write can occur between the check and the write. */
  readonly #turns = new Turns();

  constructor(files: RecordFiles) {
    this.#files = files;
  }

  async load(key: RecordKey): Promise<LoadedRecord> {
    const read = await this.#files.read(fileOf(key), fileBytesMax);
    if (!read.ok) return { state: "Unreachable", problem: read.problem, isForbidden: false };
    if (read.value === undefined) return { state: "Absent", revision: "" };
    const revision = hexDigest(read.value, revisionLength);
    const first = firstLineOf(key);
    if (read.value.startsWith(first)) return { state: "Loaded", text: read.value.slice(first.length), revision };
    const problem = `${this.placeOf(key)} is damaged, or belongs to another object: its first line is not "${first.trim()}".`;
    return { state: "Damaged", problem, revision };
  }

  async save(key: RecordKey, text: string, revision: string): Promise<SavedRecord> {
    return await this.#turns.run(async () => {
      const stored = await this.#files.read(fileOf(key), fileBytesMax);
      if (!stored.ok) return { state: "Failed", problem: stored.problem };
      if ((stored.value === undefined ? "" : hexDigest(stored.value, revisionLength)) !== revision) {
        const problem = `${this.placeOf(key)} was changed by another writer after wafsync read it.`;
        return { state: "Conflict", problem };
      }
      const content = `${firstLineOf(key)}${text}`;
      if (content === stored.value) return { state: "Saved", revision };
      const written = await this.#files.write(fileOf(key), content);
      if (!written.ok) return { state: "Failed", problem: written.problem };
      return { state: "Saved", revision: hexDigest(content, revisionLength) };
    });
  }

  async remove(key: RecordKey): Promise<string | undefined> {
    const removed = await this.#turns.run(async () => await this.#files.remove(fileOf(key)));
    return removed.ok ? undefined : removed.problem;
  }

  placeOf(key: RecordKey): string {
    return this.#files.placeOf(fileOf(key));
  }

  /** The owners of all records of this type, ordered by name. A repository can contain files with other names. */
  async list(type: StoredType): Promise<FileResult<readonly ObjectName[]>> {
    const listed = await this.#files.list([recordNames[type]]);
    if (!listed.ok) return listed;
    const found = listed.value.flatMap((path) => {
      const [, namespace = "", file = ""] = path;
      const name = { namespace, name: file.slice(0, -suffix.length) };
      const isName = isNameOfNamespace(namespace) && isNameOfObject(name.name);
      return isName && path.join("/") === fileOf({ type, ...name }).join("/") ? [name] : [];
    });
    return { ok: true, value: found };
  }
}

function fileOf({ type, namespace, name }: RecordKey): FilePath {
  return [recordNames[type], namespace, `${name.length > nameLengthMax ? hexDigest(name) : name}${suffix}`];
}

function firstLineOf(key: RecordKey): string {
  return `# ${recordNames[key.type]} ${nameKey(key)}: wafsync writes this file, do not edit it.\n`;
}
