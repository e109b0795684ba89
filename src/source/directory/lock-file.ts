// A lock between processes: one file that only one of them can create, and that says who holds it. The holder changes it every second.
// A lock whose holder has ended is removed: immediately if this process can see that, otherwise, because containers don't see each
// other's processes, when the file has not changed for ten seconds. Holders look at the file before they rely on it.
import { randomUUID } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import type { CancelTimer, Clock } from "../../async/clock.ts";
import { hexDigest } from "../../model/hex-digest.ts";
import { isRecord, parseJson } from "../../model/record.ts";
import { visibleText } from "../../model/visible-text.ts";
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

interface Claim extends Pick<LockHolder, "command"> {
  readonly id: string;
  readonly pid: number;
  /** The start of the process, because process IDs are used again. */
  readonly start: string;
  /** Which processes can see each other: one boot of one machine, and one container. */
  readonly scope: string;
  readonly beat: string;
}

type Sight =
  | { readonly state: "Free" }
  | { readonly state: "Dead"; readonly text: string }
  /** `Unknown`: nobody can see yet whether the holder is alive. */
  | { readonly state: "Alive" | "Unknown"; readonly holder: LockHolder };

export class LockFile {
  readonly #path: string;
  readonly #options: LockOptions;
  #claim: Claim | undefined;
  #beats = 0;
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
      if (sight.state === "Dead") await this.#removeDead(sight.text);
      if (sight.state === "Free" || sight.state === "Dead") continue;
      const waitedMs = clock.monotonicMs() - startMs;
      if (sight.state === "Alive" && waitedMs >= waitMs) return { state: "Busy", holder: sight.holder };
      onBusy?.(sight.holder, waitedMs);
      await clock.sleep(lockPollMs, signal);
    }
  }

  /** Throws Node's error if the file can't be read. */
  look(): LockSight {
    const text = readLock(this.#path);
    if (text === undefined) return "Gone";
    return parseClaim(text)?.id === this.#claim?.id ? "Held" : "Taken";
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
    this.#claim = { id: randomUUID(), pid, start: processStart(pid) ?? "", scope: ownScope(), command, beat: "" };
    this.#beats = 0;
    let file: number;
    try {
      file = openSync(this.#path, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    }
    try {
      this.#write(file);
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
    let file: number | undefined;
    try {
      file = openSync(this.#path, constants.O_RDWR | safely);
      if (parseClaim(textOf(file))?.id !== this.#claim?.id) return false;
      this.#beats += 1;
      this.#write(file);
      return true;
    } catch (error) {
      // After another error, the next beat may succeed.
      return (error as NodeJS.ErrnoException).code !== "ENOENT";
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }

  /** Always the same number of bytes, so that readers never see a part. */
  #write(file: number): void {
    writeSync(file, `${JSON.stringify({ ...this.#claim, beat: String(this.#beats).padStart(12, "0") })}\n`, 0);
  }

  /** Only one process at a time may remove the same dead lock: another one could remove the lock that follows. */
  async #removeDead(text: string): Promise<void> {
    const { clock, command } = this.#options;
    const right = new LockFile(`${this.#path}.${hexDigest(text, 16)}${temporarySuffix}`, { clock, command });
    if ((await right.acquire()).state !== "Held") return await clock.sleep(lockPollMs);
    if (readLock(this.#path) === text) rmSync(this.#path, { force: true });
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
  let known = { id: "", text: "", sinceMs: 0, hasBeaten: false };
  return () => {
    const text = readLock(path);
    if (text === undefined) return { state: "Free" };
    const claim = parseClaim(text);
    const nowMs = clock.monotonicMs();
    const id = claim?.id ?? "";
    if (text !== known.text) known = { id, text, sinceMs: nowMs, hasBeaten: id !== "" && id === known.id };
    const life = lifeOf(claim);
    const isSilent = nowMs - known.sinceMs >= deadAfterMs;
    if (life === "Dead" || (life === "Unknown" && isSilent)) return { state: "Dead", text };
    const where = life === "Alive" ? "" : " in another container or on another machine";
    const command = visibleText(claim?.command ?? "another program");
    const by = claim === undefined ? command : `process ${claim.pid}${where} (${command})`;
    return { state: known.hasBeaten ? "Alive" : life, holder: { by, command } };
  };
}

/** Undefined if there is no file. */
function readLock(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | safely);
    return textOf(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw Object.assign(error as Error, { path });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The time distinguishes an empty file, whose writer was killed, from the next one. */
function textOf(file: number): string {
  const stats = fstatSync(file, { bigint: true });
  if (!stats.isFile()) throw Object.assign(new Error("not a regular file"), { code: "ENOTSUP" });
  const bytes = Buffer.alloc(bytesMax);
  const length = readSync(file, bytes, 0, bytesMax, 0);
  return length === 0 ? `${stats.ino} ${stats.ctimeNs}` : bytes.toString("utf8", 0, length);
}

function parseClaim(text: string): Claim | undefined {
  const claim = parseJson(text);
  if (!isRecord(claim)) return undefined;
  const { id, pid, start, scope, command } = claim;
  const hasTexts = [id, start, scope, command].every((field) => typeof field === "string");
  return hasTexts && Number.isSafeInteger(pid) && Number(pid) > 0 ? (claim as unknown as Claim) : undefined;
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
    // A zombie has ended; its parent has not waited for it yet.
    return fields[0] === "Z" || fields[0] === "X" ? "ended" : fields[19];
  } catch {
    return undefined;
  }
}
