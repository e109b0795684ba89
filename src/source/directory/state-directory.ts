// The folder with inventory and status in directory mode. Only one process at a time may use it. Symbolic links to or in the
// folder are not followed: it is often inside a repository, whose links must not lead to other files.
import { existsSync, readFileSync, statSync } from "node:fs";
import { appendFile, readdir, rename, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import type { Clock } from "../../async/clock.ts";
import { visibleText } from "../../model/texts.ts";
import type { FilePath, FileResult, RecordFiles } from "../../records/file-record-store.ts";
import {
  fileProblem,
  makeFolder,
  refuseLinks,
  removeFileDurably,
  removeLeftOvers,
  writeFileAtomically,
} from "./atomic-file.ts";
import { holderOfLock, LockFile, type LockHolder } from "./lock-file.ts";
import type { RemoteState } from "./remote-state.ts";

const nameLengthMax = 255;
/** The state belongs to one machine, and its folder is usually under version control. */
const ignoreAll = "# Made by wafsync.\n*\n";

export type OpenedState =
  | { readonly ok: true; readonly state: StateDirectory }
  /** `isInUse`: another process has locked it. */
  | { readonly ok: false; readonly problem: string; readonly isInUse?: true };

export interface StateOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Shown by other processes, for example `wafsync run`. */
  readonly command: string;
  /** Called once, within a second, if the directory was deleted or another process has taken it over. */
  readonly onLost?: () => void;
  /** The remote state whose files the directory has, which this process holds. */
  readonly remote?: RemoteState | undefined;
}

/** Creates the directory with mode 0700 if it does not exist, locks it, and cleans up after a killed process. */
export async function openStateDirectory(options: StateOptions): Promise<OpenedState> {
  const path = resolve(options.path);
  try {
    refuseLinks([path]);
    const isNew = !existsSync(path);
    await makeFolder(path);
    const lock = new LockFile(lockOf(path), options);
    const locked = await lock.acquire();
    if (locked.state === "Busy") {
      const hint = "stop that process, or use a different state directory";
      const problem = `The state directory ${path} is in use by ${locked.holder.by}: ${hint}.`;
      return { ok: false, isInUse: true, problem };
    }
    await removeLeftOvers(path);
    // Created only together with the folder: users who want the state in Git can delete the file.
    if (isNew) await writeFileAtomically(join(path, ".gitignore"), ignoreAll);
    return { ok: true, state: new StateDirectory(path, lock, options.remote) };
  } catch (error) {
    return { ok: false, problem: `The state directory ${path} cannot be used: ${fileProblem(error)}${wayOut(error)}.` };
  }
}

/** The living process that uses the directory. */
export async function userOfState(path: string, clock: Clock): Promise<LockHolder | undefined> {
  return await holderOfLock(lockOf(path), clock);
}

function lockOf(path: string): string {
  return join(path, "lock");
}

/** A view of the directory without a lock, for a dry run next to a running process. Changes are dropped. */
export function viewStateDirectory(path: string, remote?: RemoteState): StateDirectory {
  return new StateDirectory(resolve(path), undefined, remote);
}

export class StateDirectory implements RecordFiles {
  readonly path: string;
  /** Undefined if changes are dropped. */
  readonly #lock: LockFile | undefined;
  readonly #remote: RemoteState | undefined;
  /** Ends with the last write. */
  #running: Promise<unknown> = Promise.resolve();
  #released = false;
  #lost: string | undefined;

  constructor(path: string, lock: LockFile | undefined, remote?: RemoteState) {
    this.path = path;
    this.#lock = lock;
    this.#remote = remote;
  }

  /** Why the directory can't be used any longer, in a sentence; undefined if it can. */
  lost(): string | undefined {
    const lost = this.#remote?.lost();
    if (lost !== undefined) return lost;
    if (this.#lock === undefined || this.#released) return this.#lost;
    // Once lost, a lock that is there again is not this one's.
    return (this.#lost ??= lossOf(this.path, this.#lock));
  }

  /** Undefined if the file does not exist. */
  async read(file: FilePath, bytesMax: number): Promise<FileResult<string | undefined>> {
    return await this.#read(file, undefined, async (path) => readLimited(path, bytesMax));
  }

  /** The content of a small file whose loss does not matter: undefined if it can't be read for any reason. */
  readNow(file: FilePath, bytesMax: number): string | undefined {
    try {
      refuseLinks(this.#partsOf(file));
      return readLimited(this.pathOf(file), bytesMax);
    } catch {
      return undefined;
    }
  }

  /** Atomic and durable when it resolves. */
  async write(file: FilePath, content: string): Promise<FileResult<void>> {
    return await this.#change(
      file,
      async (path) => await writeFileAtomically(path, content),
      async (remote) => await remote.publish(file, content),
    );
  }

  async remove(file: FilePath): Promise<FileResult<void>> {
    return await this.#change(file, removeFileDurably, async (remote) => await remote.publish(file, undefined));
  }

  /** Appends without flushing to disk. If the file would exceed `bytesMax`, it is moved to `moveTo` first. */
  async append(file: FilePath, content: string, bytesMax: number, moveTo: FilePath): Promise<FileResult<void>> {
    return await this.#change(file, async (path) => {
      await makeFolder(join(path, ".."));
      const { size } = await stat(path).catch(() => ({ size: 0 }));
      if (size > 0 && size + Buffer.byteLength(content) > bytesMax) await rename(path, this.pathOf(moveTo));
      await appendFile(path, content, { mode: 0o600 });
    });
  }

  /** All files below a folder, ordered by name; none if the folder does not exist. */
  async list(folder: FilePath): Promise<FileResult<readonly FilePath[]>> {
    return await this.#read(folder, [], async (path) => {
      const entries = await readdir(path, { recursive: true, withFileTypes: true });
      const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
      return files
        .toSorted()
        .map((file) => relative(this.path, file).split(sep))
        .filter((parts) => parts.every((name) => !name.startsWith(".") && visibleText(name) === name));
    });
  }

  pathOf(file: FilePath): string {
    return join(this.path, ...file.map(safeName));
  }

  /** Releases the lock; nothing is written afterwards. */
  async release(): Promise<void> {
    this.#released = true;
    // A write that continued after the release would have no lock.
    await this.#running;
    this.#lock?.release();
  }

  /** The place of a file, for messages. */
  placeOf(file: FilePath): string {
    return this.#remote === undefined ? this.pathOf(file) : `${file.join("/")} in ${this.#remote.where}`;
  }

  /** The directory, the folders below it, and the file. */
  #partsOf(file: FilePath): readonly string[] {
    return [this.path, ...file.map((_, index) => this.pathOf(file.slice(0, index + 1)))];
  }

  /** @param publish stores the change remotely first */
  async #change(
    file: FilePath,
    act: (path: string) => Promise<void>,
    publish?: (remote: RemoteState) => Promise<FileResult<void>>,
  ): Promise<FileResult<void>> {
    if (this.#lock === undefined) return { ok: true, value: undefined };
    if (this.#released) {
      return { ok: false, problem: `${this.placeOf(file)} cannot be written: the process is ending.` };
    }
    const change = async (): Promise<FileResult<void>> => {
      const result = this.#remote && (await publish?.(this.#remote));
      return result?.ok === false ? result : await this.#attempt("cannot be written", file, act);
    };
    const running = change();
    this.#running = Promise.all([this.#running, running]);
    return await running;
  }

  /** @param missing the value of a file or folder that does not exist */
  async #read<T>(file: FilePath, missing: T, act: (path: string) => Promise<T>): Promise<FileResult<T>> {
    return await this.#attempt("cannot be read", file, async (path) => {
      return await act(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return missing;
        throw error;
      });
    });
  }

  async #attempt<T>(what: string, file: FilePath, act: (path: string) => Promise<T>): Promise<FileResult<T>> {
    const path = this.pathOf(file);
    try {
      refuseLinks(this.#partsOf(file));
      const lost = this.lost();
      return lost === undefined ? { ok: true, value: await act(path) } : { ok: false, problem: lost };
    } catch (error) {
      return { ok: false, problem: `${this.placeOf(file)} ${what}: ${fileProblem(error)}.` };
    }
  }
}

function lossOf(path: string, lock: LockFile): string | undefined {
  try {
    const sight = lock.look();
    if (sight === "Held") return undefined;
    return sight === "Gone"
      ? `The state directory ${path} was deleted while wafsync used it: restore it from a backup if you can, and start wafsync again. Without its inventories, wafsync does not know which entries it added.`
      : `The state directory ${path} is in use by another process, perhaps in another container: stop one of them, and start this one again.`;
  } catch (error) {
    return `The state directory ${path} cannot be used: ${fileProblem(error)}.`;
  }
}

/** A read of a pipe or a device may never end. */
function readLimited(path: string, bytesMax: number): string {
  const stats = statSync(path);
  if (!stats.isFile()) throw Object.assign(new Error("not a regular file"), { code: "ENOTSUP" });
  if (stats.size > bytesMax) throw Object.assign(new Error("too large"), { code: "EFBIG" });
  return readFileSync(path, "utf8");
}

/** Names of objects are safe; no other path may lead out of the directory. */
export function safeName(name: string): string {
  if (name === "" || name.length > nameLengthMax || /[/\\\0]/.test(name) || /^\.{1,2}$/.test(name)) {
    throw new RangeError("not a valid file name");
  }
  return name;
}

/** Only for directories that can't have worked before: a new directory has no records. */
function wayOut(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? "";
  return ["EACCES", "EPERM", "EROFS", "ENOTDIR", "EEXIST", "ELOOP"].includes(code)
    ? ": set --state to a directory that wafsync can write to"
    : "";
}
