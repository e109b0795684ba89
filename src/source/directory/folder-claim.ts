// The claim of this process on its state directory. Anyone can delete the directory, so the claim is checked before each use. A deleted
// folder is created and claimed again, and important files are restored. If another process has claimed the folder, it keeps it: to a
// process in another container, this process looks dead.
import { makeFolder } from "./atomic-file.ts";
import { lockFolder } from "./process-lock.ts";
import type { Clock } from "../../async/clock.ts";
import type { ProcessLock } from "./process-lock.ts";

type HeldLock = Extract<ProcessLock, { ok: true }>;

export interface ClaimOptions {
  readonly lock: HeldLock;
  readonly processId: number;
  readonly clock: Clock;
  readonly onRestored?: (problem: string) => void;
}

export class FolderClaim {
  readonly #folder: string;
  readonly #options: ClaimOptions;
  readonly #restore: () => Promise<void>;
  #lock: HeldLock;
  #looking: Promise<string | undefined> | undefined;

  /** @param restore writes what the folder must contain */
  constructor(folder: string, options: ClaimOptions, restore: () => Promise<void>) {
    this.#folder = folder;
    this.#options = options;
    this.#restore = restore;
    this.#lock = options.lock;
  }

  /** Why the folder may not be used any longer; undefined if it may. Rejects with Node's error if that is unknown. */
  async lost(): Promise<string | undefined> {
    return await (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async release(): Promise<void> {
    await this.#lock.release();
  }

  async #look(): Promise<string | undefined> {
    const sight = await this.#lock.look();
    if (sight === "Held") return undefined;
    return sight === "Gone" ? await this.#claimAgain() : this.#taken();
  }

  async #claimAgain(): Promise<string | undefined> {
    const { processId, clock, onRestored } = this.#options;
    await makeFolder(this.#folder);
    const lock = await lockFolder(this.#folder, processId, clock);
    if (!lock.ok) return this.#taken();
    this.#lock = lock;
    await this.#restore();
    onRestored?.(
      `The state directory ${this.#folder} was deleted while wafsync used it: wafsync created it again, with the inventories that it had read.`,
    );
    return undefined;
  }

  #taken(): string {
    return `The state directory ${this.#folder} is in use by another process, perhaps in another container: stop one of them, and start this one again.`;
  }
}
