// A lock between processes: one file that only one of them can create, and that says who holds it. The holder touches it every second.
// A lock whose holder has ended is removed: immediately if this process can see that, otherwise, because containers don't see each
// other's processes, when the file has not changed for ten seconds. Holders look at the file before they rely on it.
import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, lutimesSync, openSync, readFileSync } from "node:fs";
import { readlinkSync, readSync, rmSync, writeSync } from "node:fs";
import * as z from "zod";
import type { CancelTimer, Clock } from "../../async/clock.ts";
import { parseJson } from "../../model/record.ts";
import { visibleText } from "../../model/texts.ts";
import { temporarySuffix } from "./atomic-file.ts";

const beatMs = 1_000;
const deadAfterMs = 10_000;
export const lockPollMs = 10;
const bytesMax = 1024;
/** A link could lead to any file, and a pipe would block. */
const safely = constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface LockHolder {
  /** For messages: `process 4711 (wafsync run)`. */
  readonly by: string;
  /** The command of the process, for example `wafsync run`. */
  readonly command: string;
}

export type LockOutcome =
  | { readonly state: "Held" }
  | { readonly state: "Aborted" }
  | { readonly state: "Busy"; readonly holder: LockHolder };

/** `Taken`: another process has removed the lock, and holds it now. */
export type LockSight = "Held" | "Gone" | "Taken";

export interface LockWait {
  /** How long to wait for another process. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called often while another process holds the lock. */
  readonly onBusy: (holder: LockHolder, waitedMs: number) => void;
}

export interface LockOptions {
  readonly clock: Clock;
  readonly command: string;
  /** Called once if the file is deleted, or another process has taken the lock. */
  readonly onLost?: () => void;
}

const claimSchema = z.object({
  id: z.string(),
  pid: z.int().positive(),
  /** The start of the process, because process IDs are used again. */
  start: z.string(),
  /** Which processes can see each other: one boot of one machine, and one container. */
  scope: z.string(),
  command: z.string(),
});
type Claim = z.output<typeof claimSchema>;

type Sight =
  | { readonly state: "Free" }
  | { readonly state: "Dead"; readonly stamp: string }
  /** `Unknown`: nobody can see yet whether the holder is alive. */
  | { readonly state: "Alive" | "Unknown"; readonly holder: LockHolder };

export class LockFile {
  readonly #path: string;
  readonly #options: LockOptions;
  #claim: Claim | undefined;
  #cancelBeat: CancelTimer | undefined;

  constructor(path: string, options: LockOptions) {
    this.#path = path;
    this.#options = options;
  }

  /** Without `wait`, another living process ends it at once. Rejects with Node's error if the file can't be created or read. */
  async acquire(wait: Partial<LockWait> = {}): Promise<LockOutcome> {
    const { waitMs = 0, signal, onBusy } = wait;
    const { clock } = this.#options;
    const look = watchLock(this.#path, clock);
    const startMs = clock.monotonicMs();
    for (;;) {
      if (signal?.aborted === true) return { state: "Aborted" };
      if (this.#create()) return { state: "Held" };
      const sight = look();
      if (sight.state === "Dead") await this.#removeDead(sight.stamp);
      if (sight.state === "Free" || sight.state === "Dead") continue;
      const waitedMs = clock.monotonicMs() - startMs;
      if (sight.state === "Alive" && waitedMs >= waitMs) return { state: "Busy", holder: sight.holder };
      onBusy?.(sight.holder, waitedMs);
      await clock.sleep(lockPollMs, signal);
    }
  }

  /** Throws Node's error if the file can't be read. */
  look(): LockSight {
    const stored = readLock(this.#path);
    if (stored === undefined) return "Gone";
    return stored.claim?.id === this.#claim?.id ? "Held" : "Taken";
  }

  release(): void {
    this.#cancelBeat?.();
    try {
      if (this.#claim !== undefined && this.look() === "Held") rmSync(this.#path);
    } catch {
      // The file or its folder can't be used any longer. Others see that this process has ended.
    }
    this.#claim = undefined;
  }

  #create(): boolean {
    const { pid } = process;
    const { command } = this.#options;
    this.#claim = { id: randomUUID(), pid, start: processStart(pid) ?? "", scope: ownScope(), command };
    let file: number;
    try {
      file = openSync(this.#path, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
    try {
      writeSync(file, `${JSON.stringify(this.#claim)}\n`);
    } catch (error) {
      rmSync(this.#path);
      throw error;
    } finally {
      closeSync(file);
    }
    this.#scheduleBeat();
    return true;
  }

  #scheduleBeat(): void {
    this.#cancelBeat = this.#options.clock.schedule(beatMs, () => {
      if (this.#beat()) this.#scheduleBeat();
      else this.#options.onLost?.();
    });
  }

  /** Returns false if the lock was lost. */
  #beat(): boolean {
    try {
      const nowS = this.#options.clock.nowMs() / 1000;
      if (this.look() === "Held") lutimesSync(this.#path, nowS, nowS);
      return this.look() === "Held";
    } catch {
      // The next beat may succeed.
      return true;
    }
  }

  /** Only one process at a time may remove the same dead lock: another one could remove the lock that follows. */
  async #removeDead(stamp: string): Promise<void> {
    const { clock, command } = this.#options;
    const right = new LockFile(`${this.#path}${temporarySuffix}`, { clock, command });
    if ((await right.acquire()).state !== "Held") return await clock.sleep(lockPollMs);
    if (readLock(this.#path)?.stamp === stamp) rmSync(this.#path, { force: true });
    right.release();
  }
}

/** The living process that holds the lock; undefined if there is none, or the file can't be read. */
export async function holderOfLock(path: string, clock: Clock): Promise<LockHolder | undefined> {
  const look = watchLock(path, clock);
  try {
    for (;;) {
      const sight = look();
      if (sight.state === "Alive") return sight.holder;
      if (sight.state !== "Unknown") return undefined;
      await clock.sleep(lockPollMs);
    }
  } catch {
    return undefined;
  }
}

/** Looks at the file again with every call. Throws Node's error if the file can't be read. */
function watchLock(path: string, clock: Clock): () => Sight {
  let known = { id: "", stamp: "", sinceMs: 0, hasBeaten: false };
  return () => {
    const stored = readLock(path);
    if (stored === undefined) return { state: "Free" };
    const { stamp, claim } = stored;
    const nowMs = clock.monotonicMs();
    const id = claim?.id ?? "";
    if (stamp !== known.stamp) known = { id, stamp, sinceMs: nowMs, hasBeaten: id !== "" && id === known.id };
    const life = lifeOf(claim);
    const isSilent = nowMs - known.sinceMs >= deadAfterMs;
    if (life === "Dead" || (life === "Unknown" && isSilent)) return { state: "Dead", stamp };
    const where = life === "Alive" ? "" : " in another container or on another machine";
    const command = visibleText(claim?.command ?? "another program");
    const by = claim === undefined ? command : `process ${claim.pid}${where} (${command})`;
    return { state: known.hasBeaten ? "Alive" : life, holder: { by, command } };
  };
}

/**
 * Undefined if there is no file. `stamp` changes when the holder touches the file, or another process creates it; `claim` is undefined if
 * its writer was killed, or the file is no lock.
 */
function readLock(path: string) {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | safely);
    const stats = fstatSync(file, { bigint: true });
    if (!stats.isFile()) throw Object.assign(new Error("not a regular file"), { code: "ENOTSUP" });
    const bytes = Buffer.alloc(bytesMax);
    const text = bytes.toString("utf8", 0, readSync(file, bytes, 0, bytesMax, 0));
    return { stamp: `${stats.ino} ${stats.mtimeNs} ${text}`, claim: claimSchema.safeParse(parseJson(text)).data };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw Object.assign(error as Error, { path });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Empty if the system does not report it. */
function ownScope(): string {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "";
  }
}

function lifeOf(claim: Claim | undefined): "Alive" | "Dead" | "Unknown" {
  if (claim === undefined || claim.scope === "" || claim.scope !== ownScope()) return "Unknown";
  try {
    process.kill(claim.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "Dead";
  }
  const start = processStart(claim.pid);
  if (start === undefined) return "Unknown";
  return start === claim.start ? "Alive" : "Dead";
}

/** When a process started, in ticks since the boot; undefined if the system does not report it. */
function processStart(processId: number): string | undefined {
  try {
    // The second field is the name of the program in parentheses, which may contain any character.
    const fields = readFileSync(`/proc/${processId}/stat`, "utf8").split(")").at(-1)?.trim().split(" ") ?? [];
    // A zombie has ended, and its parent has not waited for it yet. Its connections are open until its last thread has ended as well.
    return /[ZX]/.test(fields[0] ?? "") && Number(fields[17]) <= 1 ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}
