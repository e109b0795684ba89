// A state directory that outlives its machine: a temporary folder, and a remote place that gets every record before the folder does, a
// branch of a Git repository or a record in a cluster. One process at a time holds it: its current version names the process and its
// job, and until when. The holder renews that with each save and every few seconds, and makes no call once it could not do so for a
// minute. Others take the state over when they have not seen it change for two minutes, by their own clocks, so clocks that differ do
// no harm. Each version replaces a certain one, so a process that others have taken the state from can store nothing any longer.
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import type { CancelTimer, Clock } from "../../async/clock.ts";
import { Turns } from "../../async/turns.ts";
import { capitalized, visibleText } from "../../model/texts.ts";
import type { FilePath, FileResult } from "../../records/file-record-store.ts";

const renewMs = 20_000;
const lapseMs = 60_000;
/** After the lapse, a call in flight has this long to end. */
const deadAfterMs = 2 * lapseMs;
const lookEveryMs = 5_000;
/** Longer than a dead holder. */
const waitMsMax = 300_000;
const noticeMs = 2_000;
const attemptsMax = 3;
const retryMs = 1_000;

const leaseSchema = z.object({ id: z.string(), by: z.string().transform(visibleText), until: z.iso.datetime() });
type Lease = z.output<typeof leaseSchema>;

/** By path; undefined for a file that is removed. */
export type Changes = ReadonlyMap<string, string | undefined>;

export interface Version {
  readonly revision: string;
  /** Of the process that may be using the files. */
  readonly lease: unknown;
}

/** The files of a state directory in one place, as a whole and in versions. Methods reject with a sentence for users. */
export interface RemoteFiles {
  /** For messages: `Git server`. */
  readonly server: string;
  /** What to do if this process could not write. */
  readonly writeHint: string;
  /** The current revision; undefined if the server says that there is none. */
  tip(): Promise<string | undefined>;
  /** Reads the current version. */
  fetch(): Promise<Version | undefined>;
  /** Writes the files of the version that was read last into the folder. */
  checkOut(folder: string): Promise<void>;
  /**
   * Prepares a version. Nobody else sees it yet.
   * @param before whose files are changed
   * @param lease undefined at the end
   * @returns its revision; undefined if there was no version before, and none is needed
   */
  commit(before: string | undefined, changes: Changes, lease: object | undefined): Promise<string | undefined>;
  /** Makes it the current version. @param before what the current one must still be */
  push(revision: string | undefined, before: string | undefined): Promise<void>;
}

export interface RemoteStateOptions {
  /** For messages: `branch wafsync-state of origin`. */
  readonly where: string;
  /** @param folder a temporary one */
  readonly open: (folder: string) => Promise<RemoteFiles>;
  /** For other processes that wait for this one: `wafsync apply`, and the job or process. */
  readonly command: string;
  readonly job: string;
  readonly clock: Clock;
  /** Called with a message for people. */
  readonly onNotice: (text: string) => void;
}

export class RemoteState {
  /** The state directory. */
  readonly path: string;
  /** For messages. */
  readonly where: string;
  readonly #options: RemoteStateOptions;
  readonly #folder: string;
  readonly #files: RemoteFiles;
  readonly #turns = new Turns();
  readonly #id = randomUUID();
  /** Files that go along with the next save. */
  readonly #pending = new Map<string, string | undefined>();
  /** The version that this process knows to be the current one. */
  #head: string | undefined;
  /** All versions that this process has tried to push since it holds the state. */
  readonly #own = new Set<string | undefined>();
  /** When the state was last renewed. Wall time counts as well, because the other clock may stop with the machine. */
  #held: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  #lost: string | undefined;
  #onLost: () => void = () => undefined;
  #cancelRenewal: CancelTimer | undefined;

  private constructor(options: RemoteStateOptions, folder: string, files: RemoteFiles) {
    this.#options = options;
    this.#folder = folder;
    this.#files = files;
    this.path = stateIn(folder);
    this.where = options.where;
  }

  /** Nothing is read yet. */
  static async open(options: RemoteStateOptions): Promise<FileResult<RemoteState>> {
    const folder = mkdtempSync(join(tmpdir(), "wafsync-state-"));
    mkdirSync(stateIn(folder), { mode: 0o700 });
    const opened = await attempt(options, "cannot be used", async () => {
      return new RemoteState(options, folder, await options.open(join(folder, "remote")));
    });
    if (!opened.ok) rmSync(folder, { recursive: true, force: true });
    return opened;
  }

  /** Reads the state without holding it, for commands that only show what is stored. */
  async read(): Promise<FileResult<void>> {
    return await this.#attempt("cannot be read", async () => {
      await this.#checkOut(await this.#retrying(async () => await this.#files.fetch()));
    });
  }

  /**
   * Waits for other holders, reads the state, and holds it until `release`. Call it before the first call of a WAF.
   * @param onLost called once if this process must not make calls any longer
   */
  async hold(signal?: AbortSignal, onLost?: () => void): Promise<FileResult<void>> {
    if (onLost !== undefined) this.#onLost = onLost;
    return await this.#turns.run(async () => {
      return await this.#attempt("cannot be held", async () => {
        if (this.#lost !== undefined) throw new Error(this.#lost);
        if (this.#held === undefined) await this.#acquire(signal);
      });
    });
  }

  /** Why this process must not make calls any longer, in a sentence. */
  lost(): string | undefined {
    if (this.#held !== undefined && this.#ageMs(this.#held) >= lapseMs) {
      this.#lost ??= `${capitalized(this.where)} could not be renewed for ${lapseMs / 1000} seconds, so another process may use it now: check the connection to the ${this.#files.server}, and start wafsync again.`;
    }
    return this.#lost;
  }

  /** Stores a file remotely, before it is written into the folder. Reports go along with the next record. */
  async publish(file: FilePath, content: string | undefined): Promise<FileResult<void>> {
    const path = file.join("/");
    if (file[0] === "status" && file[1] !== "WafCacheClear") {
      this.#pending.set(path, content);
      return { ok: true, value: undefined };
    }
    return await this.#turns.run(async () => {
      return await this.#attempt("cannot be written", async () => await this.#save(new Map([[path, content]])));
    });
  }

  /** Stores what is left, and lets other processes use the state, until the next `hold`. */
  async release(): Promise<void> {
    await this.#turns.run(async () => {
      this.#cancelRenewal?.();
      if (this.#held === undefined || this.lost() !== undefined) return;
      const released = await this.#attempt("cannot be released", async () => await this.#push(new Map(), undefined));
      // Also if it is unknown whether the state is free now.
      this.#held = undefined;
      if (!released.ok)
        this.#options.onNotice(`warning: ${released.problem} Others wait until it has not changed for two minutes.`);
    });
  }

  async close(): Promise<void> {
    await this.release();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #acquire(signal: AbortSignal | undefined): Promise<void> {
    const { clock, onNotice } = this.#options;
    const startMs = clock.monotonicMs();
    let isTold = false;
    let found: Version | undefined;
    this.#own.clear();
    for (let sameSinceMs = startMs; ;) {
      const before = found;
      found = await this.#retrying(async () => await this.#files.fetch());
      const nowMs = clock.monotonicMs();
      if (found?.revision !== before?.revision) sameSinceMs = nowMs;
      const lease = leaseSchema.safeParse(found?.lease).data;
      const isFree = lease === undefined || lease.id === this.#id;
      if (isFree || nowMs - sameSinceMs >= deadAfterMs) {
        await this.#checkOut(found);
        this.#head = found?.revision;
        const isHeld = await this.#push(new Map(), this.#lease()).catch(({ message }: Error) => {
          throw new Error(`${message} ${this.#files.writeHint}`);
        });
        if (isHeld) return this.#scheduleRenewal();
      }
      const waitedMs = clock.monotonicMs() - startMs;
      const by = lease === undefined ? "another process" : `${lease.by}, which holds it until ${lease.until}`;
      if (signal?.aborted === true) throw new Error("The process is stopping.");
      if (waitedMs >= waitMsMax) throw new Error(`It is in use by ${by}. Wait for that process, or stop it.`);
      if (waitedMs >= noticeMs && !isTold) onNotice(`Waiting for ${this.where}: it is in use by ${by}.`);
      isTold ||= waitedMs >= noticeMs;
      if (lease !== undefined) await clock.sleep(lookEveryMs, signal);
    }
  }

  async #checkOut(version: Version | undefined): Promise<void> {
    const [next, former] = [join(this.#folder, "next"), join(this.#folder, "former")];
    mkdirSync(next);
    if (version !== undefined) await this.#files.checkOut(next);
    // A command that reads at this moment finds all files or none.
    renameSync(this.path, former);
    renameSync(next, this.path);
    rmSync(former, { recursive: true });
  }

  async #save(changes: Changes): Promise<void> {
    if (this.#held === undefined) throw new Error("It is not held.");
    const lost = this.lost();
    if (lost !== undefined) throw new Error(lost);
    if (await this.#push(changes, this.#lease())) return;
    this.#lost = `${capitalized(this.where)} is in use by another process: stop one of them, and start this one again.`;
    throw new Error(this.#lost);
  }

  /** @returns false if another process has changed the state. Rejects if it is unknown whether the state has changed. */
  async #push(changes: Changes, lease: Lease | undefined): Promise<boolean> {
    const all = new Map([...this.#pending, ...changes]);
    const isPushed = await this.#move(await this.#files.commit(this.#head, all, lease));
    if (isPushed)
      for (const [path, content] of all) if (this.#pending.get(path) === content) this.#pending.delete(path);
    return isPushed;
  }

  /** After a push that failed or got no answer, the current version says what happened. */
  async #move(revision: string | undefined): Promise<boolean> {
    const { clock } = this.#options;
    this.#own.add(revision);
    return await this.#retrying(async () => {
      const held = { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
      const fault = await this.#files.push(revision, this.#head).catch((error: Error) => error);
      const tip = fault === undefined ? revision : await this.#files.tip();
      if (tip === revision) {
        this.#head = revision;
        this.#held = held;
        return true;
      }
      if (tip === this.#head) throw fault;
      // A former push without an answer took effect.
      if (!this.#own.has(tip)) return false;
      this.#head = tip;
      throw fault;
    });
  }

  async #retrying<T>(act: () => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await act();
      } catch (error) {
        if (attempts === attemptsMax) throw error;
        await this.#options.clock.sleep(retryMs * attempts);
      }
    }
  }

  #scheduleRenewal(): void {
    this.#cancelRenewal = this.#options.clock.schedule(renewMs / 4, () => {
      if (this.lost() !== undefined) return this.#onLost();
      void this.#turns.run(async () => {
        // The next renewal may succeed.
        if (this.#held && this.#ageMs(this.#held) >= renewMs)
          await this.#attempt("", async () => await this.#save(new Map()));
      });
      this.#scheduleRenewal();
    });
  }

  #ageMs(since: { readonly monotonicMs: number; readonly wallMs: number }): number {
    const { clock } = this.#options;
    return Math.max(clock.monotonicMs() - since.monotonicMs, clock.nowMs() - since.wallMs);
  }

  #lease(): Lease {
    const { clock, command, job } = this.#options;
    const until = new Date(clock.nowMs() + lapseMs).toISOString();
    return { id: this.#id, by: `${command} (${job})`, until };
  }

  async #attempt<T>(what: string, act: () => Promise<T>): Promise<FileResult<T>> {
    return await attempt(this.#options, what, act);
  }
}

function stateIn(folder: string): string {
  return join(folder, "state");
}

async function attempt<T>(
  options: Pick<RemoteStateOptions, "where">,
  what: string,
  act: () => Promise<T>,
): Promise<FileResult<T>> {
  try {
    return { ok: true, value: await act() };
  } catch (error) {
    const { message } = error as Error;
    const where = capitalized(options.where);
    return { ok: false, problem: message.startsWith(where) ? message : `${where} ${what}: ${message}` };
  }
}
