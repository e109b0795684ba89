// A state directory that outlives its machine: a temporary folder, and a branch of a Git repository that gets every record before the
// folder does. One process at a time holds the branch: the message of its last commit names the process and its job, and until when.
// The holder renews that with each save and every few seconds, and makes no call once it could not do so for a minute. Others take the
// branch over when they have not seen it change for two minutes, by their own clocks, so clocks that differ do no harm.
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import type { CancelTimer, Clock } from "../../async/clock.ts";
import { Turns } from "../../async/turns.ts";
import { parseJson } from "../../model/record.ts";
import { capitalized } from "../../model/sentence.ts";
import { visibleText } from "../../model/visible-text.ts";
import type { FilePath, FileResult } from "../../records/file-record-store.ts";
import { type Changes, type Commit, GitBranch, type GitBranchOptions } from "./git-branch.ts";

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
const pushHint =
  "Check that this user or job may push to the branch, by force: on GitHub, a job needs `permissions: contents: write`.";
/** Commits of the branch start no pipelines. */
const skip = "[skip ci]";

const leaseSchema = z.object({ id: z.string(), by: z.string().transform(visibleText), until: z.iso.datetime() });
type Lease = z.output<typeof leaseSchema>;

export interface GitStateOptions extends Omit<GitBranchOptions, "folder"> {
  /** For other processes that wait for this one: `wafsync apply`, and the job or process. */
  readonly command: string;
  readonly job: string;
  readonly clock: Clock;
  /** Called with a message for people. */
  readonly onNotice: (text: string) => void;
}

export class GitState {
  /** The state directory. */
  readonly path: string;
  /** For messages. */
  readonly where: string;
  readonly #options: GitStateOptions;
  readonly #folder: string;
  readonly #branch: GitBranch;
  readonly #turns = new Turns();
  readonly #id = randomUUID();
  /** Files that go along with the next save. */
  readonly #pending = new Map<string, string | undefined>();
  /** The commit that this process found, and the last one that it pushed: all its saves replace the same commit. */
  #found: string | undefined;
  #head: string | undefined;
  /** All commits that this process has tried to push. */
  readonly #own = new Set<string | undefined>();
  /** When the branch was last renewed. Wall time counts as well, because the other clock may stop with the machine. */
  #held: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  #lost: string | undefined;
  #onLost: () => void = () => undefined;
  #cancelRenewal: CancelTimer | undefined;
  /** Whether the next process can find the branch as this one found it. */
  #isClean = true;

  private constructor(options: GitStateOptions, folder: string, branch: GitBranch) {
    this.#options = options;
    this.#folder = folder;
    this.#branch = branch;
    this.path = stateIn(folder);
    this.where = whereOf(options);
  }

  /** Nothing is read yet. */
  static async open(options: GitStateOptions): Promise<FileResult<GitState>> {
    const folder = mkdtempSync(join(tmpdir(), "wafsync-state-"));
    mkdirSync(stateIn(folder), { mode: 0o700 });
    const opened = await attempt(options, "cannot be used", async () => {
      return new GitState(options, folder, await GitBranch.open({ ...options, folder: join(folder, "git") }));
    });
    if (!opened.ok) rmSync(folder, { recursive: true, force: true });
    return opened;
  }

  /** Reads the branch without holding it, for commands that only show what is stored. */
  async read(): Promise<FileResult<void>> {
    return await this.#attempt("cannot be read", async () => {
      const found = await this.#retrying(async () => await this.#branch.fetch());
      await this.#checkOut(found?.revision);
    });
  }

  /**
   * Waits for other holders, reads the branch, and holds it until `release`. Call it before the first call of a WAF.
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
      this.#lost ??= `${capitalized(this.where)} could not be renewed for ${lapseMs / 1000} seconds, so another process may use it now: check the connection to the Git server, and start wafsync again.`;
    }
    return this.#lost;
  }

  /** Stores a file in the branch, before it is written into the folder. Reports go along with the next record. */
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

  /** Stores what is left, and lets other processes use the branch, until the next `hold`. */
  async release(): Promise<void> {
    await this.#turns.run(async () => {
      this.#cancelRenewal?.();
      if (this.#held === undefined || this.lost() !== undefined) return;
      const released = await this.#attempt("cannot be released", async () => await this.#release());
      // Also if it is unknown whether the branch is free now.
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
    let found: Commit | undefined;
    for (let sameSinceMs = startMs; ;) {
      const before = found;
      found = await this.#retrying(async () => await this.#branch.fetch(before));
      const nowMs = clock.monotonicMs();
      if (found?.revision !== before?.revision) sameSinceMs = nowMs;
      const lease = leaseIn(found?.message ?? "");
      const isFree = lease === undefined || lease.id === this.#id;
      if (isFree || nowMs - sameSinceMs >= deadAfterMs) {
        await this.#checkOut(found?.revision);
        this.#found = this.#head = found?.revision;
        this.#isClean = lease === undefined;
        const isHeld = await this.#push(new Map(), this.#lease()).catch(({ message }: Error) => {
          throw new Error(`${message} ${pushHint}`);
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

  async #checkOut(revision: string | undefined): Promise<void> {
    const [next, former] = [join(this.#folder, "next"), join(this.#folder, "former")];
    mkdirSync(next);
    if (revision !== undefined) await this.#branch.checkOut(revision, next);
    // A command that reads at this moment finds all files or none.
    renameSync(this.path, former);
    renameSync(next, this.path);
    rmSync(former, { recursive: true });
  }

  async #save(changes: Changes): Promise<void> {
    if (this.#held === undefined) throw new Error("It is not held.");
    const lost = this.lost();
    if (lost !== undefined) throw new Error(lost);
    const all = new Map([...this.#pending, ...changes]);
    if (!(await this.#push(all, this.#lease()))) {
      this.#lost = `${capitalized(this.where)} is in use by another process: stop one of them, and start this one again.`;
      throw new Error(this.#lost);
    }
    for (const [path, content] of all) if (this.#pending.get(path) === content) this.#pending.delete(path);
  }

  async #release(): Promise<void> {
    const message = this.#message("");
    const revision = await this.#branch.commit(this.#head, this.#found, this.#pending, message);
    // A job that changed nothing leaves no commit.
    const isSame = this.#isClean && (await this.#branch.hasSameFiles(this.#found, revision));
    await this.#move(isSame ? this.#found : revision);
  }

  /** @returns false if another process has changed the branch. Rejects if it is unknown whether the branch has changed. */
  async #push(changes: Changes, lease: string): Promise<boolean> {
    return await this.#move(await this.#branch.commit(this.#head, this.#found, changes, this.#message(lease)));
  }

  /** The same for a commit that exists. After a push that failed or got no answer, the branch says what happened. */
  async #move(revision: string | undefined): Promise<boolean> {
    const { clock } = this.#options;
    this.#own.add(revision);
    return await this.#retrying(async () => {
      const held = { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
      const fault = await this.#branch.push(revision, this.#head).catch((error: Error) => error);
      const tip = fault === undefined ? revision : await this.#branch.tip();
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

  #lease(): string {
    const { clock, command, job } = this.#options;
    const until = new Date(clock.nowMs() + lapseMs).toISOString();
    const lease: Lease = { id: this.#id, by: `${command} (${job})`, until };
    return `\n${leaseMark}${JSON.stringify(lease)}\n`;
  }

  #message(lease: string): string {
    const { command, job } = this.#options;
    return `${command} ${skip}\n\n${job}\n${lease}`;
  }

  async #attempt<T>(what: string, act: () => Promise<T>): Promise<FileResult<T>> {
    return await attempt(this.#options, what, act);
  }
}

const leaseMark = "wafsync-lease: ";

function leaseIn(message: string): Lease | undefined {
  const line = message.split("\n").findLast((one) => one.startsWith(leaseMark));
  return leaseSchema.safeParse(parseJson(line?.slice(leaseMark.length) ?? "")).data;
}

function stateIn(folder: string): string {
  return join(folder, "state");
}

function whereOf({ branch, remote }: Pick<GitStateOptions, "branch" | "remote">): string {
  return `branch ${branch} of ${remote}`;
}

async function attempt<T>(
  options: Pick<GitStateOptions, "branch" | "remote">,
  what: string,
  act: () => Promise<T>,
): Promise<FileResult<T>> {
  try {
    return { ok: true, value: await act() };
  } catch (error) {
    const { message } = error as Error;
    const where = capitalized(whereOf(options));
    return { ok: false, problem: message.startsWith(where) ? message : `${where} ${what}: ${message}` };
  }
}
