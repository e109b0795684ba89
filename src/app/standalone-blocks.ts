// The automatic blocks of a directory: `wafsync run` reads and judges the logs, and all other commands use its records. The
// modules are loaded with the first WafAutoBlock, because most directories have none.
import { ChangeSignal } from "../async/change-signal.ts";
import type { ObjectName } from "../model/resource.ts";
import type { BlockBook, BlocksView } from "../reconcile/blocking/block-book.ts";
import type { StandaloneBlocksOptions } from "./standalone-judging.ts";

export class StandaloneBlocks {
  readonly #options: StandaloneBlocksOptions;
  readonly #changed = new ChangeSignal();
  #book: BlockBook | undefined;
  #onChange: (instance: ObjectName) => void = () => undefined;

  constructor(options: StandaloneBlocksOptions) {
    this.#options = options;
  }

  async view(instance: ObjectName): Promise<BlocksView> {
    return await (await this.#openBook()).view(instance);
  }

  version(instance: ObjectName): number {
    return this.#book?.version(instance) ?? 0;
  }

  /** Call this when the files have changed. */
  wake(): void {
    this.#changed.notify();
  }

  /** Reads and judges the logs until the signal aborts. @param onChange called when the entries of the instance may have changed */
  async run(signal: AbortSignal, onChange: (instance: ObjectName) => void): Promise<void> {
    this.#onChange = onChange;
    const { source } = this.#options;
    while (!signal.aborted && source.snapshot().autoBlocks.length === 0) {
      await this.#changed.wait(this.#changed.version, signal);
    }
    if (signal.aborted) return;
    const { judgeLogs } = await import("./standalone-judging.ts");
    await judgeLogs({ ...this.#options, book: await this.#openBook(), changed: this.#changed }, signal);
  }

  async #openBook(): Promise<BlockBook> {
    const { state, clock } = this.#options;
    const { BlockBook } = await import("../reconcile/blocking/block-book.ts");
    const { createLogFiles } = await import("../source/directory/log-files.ts");
    const records = createLogFiles(state);
    this.#book ??= new BlockBook({ records, clock, onChange: (instance) => this.#onChange(instance) });
    return this.#book;
  }
}
