// Coordinates the wafsync processes of one user on one machine that use the same API key: one at a time makes calls.
import { appendFileSync, existsSync, lstatSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import type { Clock } from "../async/clock.ts";
import { hexDigest } from "../model/hex-digest.ts";
import { fileProblem } from "../source/directory/atomic-file.ts";
import { LockFile, lockPollMs, type LockHolder } from "../source/directory/lock-file.ts";
import type { KeyLock, KeyLockOutcome, KeyLocks } from "../waf/lane.ts";
import type { Environment } from "./config.ts";

/** A process that is suspended with Ctrl-Z in the middle of a call would block the others forever. */
export const keyLockWaitMsMax = 60_000;
/** How long a process that makes one call after another keeps the others waiting, and how long it then waits itself. */
const turnMs = 200;
const yieldMs = 3 * lockPollMs;
const noticeMs = 2_000;

export interface MachineLocksOptions {
  readonly environment: Pick<Environment, "runtimeDirectory">;
  /** The command of this process, for example `wafsync run`. */
  readonly command: string;
  readonly clock: Clock;
  /** Called with a message for people. */
  readonly onNotice: (text: string) => void;
}

export function machineLocks(options: MachineLocksOptions): KeyLocks {
  const { runtimeDirectory } = options.environment;
  const folder =
    runtimeDirectory === undefined ? join(tmpdir(), `wafsync-${userInfo().uid}`) : join(runtimeDirectory, "wafsync");
  let hasWarned = false;
  const onProblem = (error: unknown): void => {
    if (!hasWarned) {
      options.onNotice(
        `warning: ${folder} cannot be used (${fileProblem(error)}), so other wafsync processes on this machine may call the WAF at the same time.`,
      );
    }
    hasWarned = true;
  };
  return (key) => {
    const path = join(folder, hexDigest(`wafsync key lock\0${key.fingerprint()}`, 16));
    return new MachineLock(path, { ...options, onProblem, prepare: () => makePrivate(folder) });
  };
}

/** Throws unless only this user can use the folder. */
function makePrivate(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const stats = lstatSync(folder);
  if (!stats.isDirectory()) throw Object.assign(new Error(), { code: "ENOTDIR" });
  if (stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0) return;
  throw Object.assign(new Error(), { code: "other users can access it" });
}

interface MachineLockOptions extends MachineLocksOptions {
  readonly onProblem: (error: unknown) => void;
  /** Throws unless the folder is usable. */
  readonly prepare: () => void;
}

class MachineLock implements KeyLock {
  readonly #options: MachineLockOptions;
  readonly #lock: LockFile;
  /** Exists while another process waits. */
  readonly #wanted: string;
  #heldSinceMs: number | undefined;

  constructor(path: string, options: MachineLockOptions) {
    this.#options = options;
    this.#lock = new LockFile(path, options);
    this.#wanted = `${path}.wanted`;
  }

  async enter(signal?: AbortSignal): Promise<KeyLockOutcome> {
    const { clock, onProblem, prepare } = this.#options;
    try {
      if (this.#heldSinceMs !== undefined && this.#lock.look() === "Held") {
        const isOver = clock.monotonicMs() - this.#heldSinceMs >= turnMs;
        if (!isOver || !existsSync(this.#wanted)) return { state: "Held" };
        this.leave();
        rmSync(this.#wanted, { force: true });
        await clock.sleep(yieldMs, signal);
      }
      prepare();
      const outcome = await this.#lock.acquire({ waitMs: keyLockWaitMsMax, signal, onBusy: this.#notifier() });
      if (outcome.state === "Busy") return { state: "Busy", by: outcome.holder.by };
      if (outcome.state === "Held") this.#heldSinceMs = clock.monotonicMs();
      return outcome;
    } catch (error) {
      onProblem(error);
      // The next call retries.
      return { state: "Held" };
    }
  }

  leave(): void {
    if (this.#heldSinceMs !== undefined) this.#lock.release();
    this.#heldSinceMs = undefined;
  }

  /** Asks the holder to release the lock, and tells the user about a long wait. */
  #notifier(): (holder: LockHolder, waitedMs: number) => void {
    let isTold = false;
    return ({ by }, waitedMs) => {
      appendFileSync(this.#wanted, "", { mode: 0o600 });
      if (waitedMs < noticeMs || isTold) return;
      isTold = true;
      this.#options.onNotice(`Waiting for ${by}, which uses the same API key.`);
    };
  }
}
