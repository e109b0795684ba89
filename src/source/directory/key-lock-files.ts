// Lets the processes of one user on one machine take turns with an API key, in the order of their requests
// (Lamport's bakery algorithm). A claim is an empty folder with the ID and the start time of its process in its name, so that a
// dead process blocks no others and its claims can be removed at any time. If the folder is unusable, the processes continue
// without coordination.
import { hexDigest } from "../../model/hex-digest.ts";
import { lstat, mkdir, readdir, rmdir } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../async/clock.ts";
import { isProcessAlive, processStart } from "./process-lock.ts";

/** A process that is suspended with Ctrl-Z in the middle of a call would block the others forever. */
export const keyLockWaitMsMax = 60_000;
const pollMs = 10;
const noticeMs = 2_000;
const privateMode = 0o700;

export interface KeyLockFilesOptions {
  readonly folder: string;
  readonly processId: number;
  /** The command of the process, for the message of a waiting process, for example `wafsync run`. */
  readonly command: string;
  readonly clock: Clock;
  /** Called once for each long wait, with a description of the other process. */
  readonly onWait?: (by: string) => void;
  /** Called once if the folder can't be used. */
  readonly onProblem?: (problem: string) => void;
}

export type KeyLockFilesOutcome =
  | {
      readonly state: "Held";
      readonly release: () => Promise<void>;
      /** Whether another process waits. Never rejects. */
      readonly isWanted: () => Promise<boolean>;
    }
  | { readonly state: "Aborted" }
  | { readonly state: "Busy"; readonly by: string };

interface Claim {
  /** Undefined while the process chooses one. */
  readonly ticket: number | undefined;
  readonly owner: string;
  /** A description for messages. */
  readonly process: string;
}

/** Names of claims: `HASH.TICKET.PID.START.COUNT.COMMAND`, with `choosing` while the ticket is unknown. */
const claimPattern =
  /^(?<ticket>choosing|\d{1,15})\.(?<owner>(?<processId>[1-9]\d{0,9})\.(?<start>[a-z0-9-]+)\.\d+\.(?<command>[a-z_-]*))$/;

export class KeyLockFiles {
  /** Counts the claims of the process, so that no two claims have the same name. */
  static #claims = 0;
  readonly #options: KeyLockFilesOptions;
  #folder: Promise<string | undefined> | undefined;
  #start: string | undefined;

  constructor(options: KeyLockFilesOptions) {
    this.#options = options;
  }

  /** @param fingerprint The fingerprint of the key. Never rejects. */
  async acquire(fingerprint: string, signal?: AbortSignal): Promise<KeyLockFilesOutcome> {
    const folder = await (this.#folder ??= this.#prepare());
    if (folder === undefined) return { state: "Held", release: async () => undefined, isWanted: async () => false };
    KeyLockFiles.#claims += 1;
    const owner = this.#owner(KeyLockFiles.#claims);
    const prefix = `${hexDigest(`wafsync key lock\0${fingerprint}`, 16)}.`;
    const own = new OwnClaim(folder, prefix, owner);
    try {
      await own.choose();
      const outcome = await this.#wait(own, signal);
      if (outcome.state !== "Held") await own.remove();
      return outcome;
    } catch (error) {
      await own.remove();
      this.#tell(error);
      // The next call retries.
      return { state: "Held", release: async () => undefined, isWanted: async () => true };
    }
  }

  async #wait(own: OwnClaim, signal: AbortSignal | undefined): Promise<KeyLockFilesOutcome> {
    const { clock, onWait } = this.#options;
    const startMs = clock.monotonicMs();
    let isTold = false;
    for (let clear = 0; ;) {
      if (signal?.aborted === true) return { state: "Aborted" };
      const first = (await own.others()).find((other) => own.follows(other));
      // A folder may change while it is listed, so two listings without an earlier claim are required.
      clear = first === undefined ? clear + 1 : 0;
      if (clear === 2) {
        return { state: "Held", release: async () => await own.remove(), isWanted: async () => await own.isFollowed() };
      }
      if (first === undefined) continue;
      const waitedMs = clock.monotonicMs() - startMs;
      if (waitedMs >= keyLockWaitMsMax) return { state: "Busy", by: first.process };
      if (waitedMs >= noticeMs && !isTold) {
        isTold = true;
        onWait?.(first.process);
      }
      await clock.sleep(pollMs, signal);
    }
  }

  #owner(count: number): string {
    const { processId, command } = this.#options;
    this.#start ??= processStart(processId) ?? "unknown";
    return `${processId}.${this.#start}.${count}.${command.replaceAll(" ", "_").replaceAll(/[^a-z_-]/g, "")}`;
  }

  /** The folder, if no other user can write to it. */
  async #prepare(): Promise<string | undefined> {
    const { folder } = this.#options;
    try {
      await mkdir(folder, { recursive: true, mode: privateMode });
      const { uid, mode } = await lstat(folder).then((stats) =>
        stats.isDirectory() ? stats : { uid: -1, mode: 0o777 },
      );
      if (uid === process.getuid?.() && (mode & 0o077) === 0) return folder;
      this.#tell(Object.assign(new Error(), { code: "other users can access it" }));
    } catch (error) {
      this.#tell(error);
    }
    return undefined;
  }

  #tell(error: unknown): void {
    const code: unknown = Error.isError(error) && "code" in error ? error.code : undefined;
    const reason = typeof code === "string" ? code : "unknown error";
    this.#options.onProblem?.(
      `${this.#options.folder} cannot be used (${reason}), so other wafsync processes on this machine may call the WAF at the same time.`,
    );
  }
}

class OwnClaim {
  readonly #folder: string;
  readonly #prefix: string;
  readonly #owner: string;
  #ticket = 0;
  readonly #marks: string[] = [];

  constructor(folder: string, prefix: string, owner: string) {
    this.#folder = folder;
    this.#prefix = prefix;
    this.#owner = owner;
  }

  /** While a marker exists, a ticket is being chosen: others wait for it, because it may precede theirs. */
  async choose(): Promise<void> {
    await this.#create("choosing");
    const tickets = (await this.others()).map(({ ticket = 0 }) => ticket);
    this.#ticket = Math.max(0, ...tickets) + 1;
    await this.#create(String(this.#ticket));
    await removeFolder(this.#marks.shift() ?? "");
  }

  /** Whether the other claim is, or may be, first. */
  follows({ ticket, owner }: Claim): boolean {
    if (ticket === undefined || ticket < this.#ticket) return true;
    return ticket === this.#ticket && owner < this.#owner;
  }

  /** The claims of running processes. Removes the claims of processes that have ended. */
  async others(): Promise<Claim[]> {
    const others: Claim[] = [];
    for (const file of await readdir(this.#folder)) {
      if (!file.startsWith(this.#prefix)) continue;
      const {
        ticket,
        owner,
        processId = "",
        start,
        command = "",
      } = claimPattern.exec(file.slice(this.#prefix.length))?.groups ?? {};
      if (owner === undefined || owner === this.#owner || start === undefined) continue;
      if (isProcessAlive(Number(processId), start)) {
        const process = `process ${processId} (${command.replaceAll("_", " ")})`;
        others.push({ owner, process, ticket: ticket === "choosing" ? undefined : Number(ticket) });
      } else await removeFolder(join(this.#folder, file));
    }
    return others;
  }

  /** Whether there is another claim. If that is unknown, it is safer to claim again. */
  async isFollowed(): Promise<boolean> {
    return await this.others().then(
      (others) => others.length > 0,
      () => true,
    );
  }

  async remove(): Promise<void> {
    await Promise.all(this.#marks.splice(0).map(removeFolder));
  }

  async #create(ticket: string): Promise<void> {
    const path = this.#path(`${ticket}.${this.#owner}`);
    await mkdir(path, { mode: privateMode });
    this.#marks.push(path);
  }

  #path(name: string): string {
    return join(this.#folder, `${this.#prefix}${name}`);
  }
}

/** Another process may already have removed it. */
async function removeFolder(path: string): Promise<void> {
  await rmdir(path).catch(() => undefined);
}
