// Instances whose key was rotated, so that another shard works on them now. The replica that notices tells the others by an
// annotation of its Leases. They read the Secrets of these instances again; the annotation itself decides nothing.
import { randomBytes } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import { nameKey, nameOfKey, type ObjectName } from "../model/resource.ts";

export const movedAnnotation = "wafsync.dev/moved-instances";
/** Longer than the others need to read it. */
const toldMs = 60_000;
/** Others notice further instances at their next resync. */
const toldMax = 50;

export class MovedInstances {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #onMoved: (instance: ObjectName) => void;
  readonly #told = new Map<string, number>();
  /** By shard. */
  readonly #seen = new Map<number, string>();
  #token = "";

  /** @param onMoved called for each instance that another replica names */
  constructor(clock: Pick<Clock, "monotonicMs">, onMoved: (instance: ObjectName) => void) {
    this.#clock = clock;
    this.#onMoved = onMoved;
  }

  note(instance: ObjectName): void {
    this.#told.delete(nameKey(instance));
    this.#told.set(nameKey(instance), this.#clock.monotonicMs());
    for (const name of this.#told.keys()) {
      if (this.#told.size <= toldMax) break;
      this.#told.delete(name);
    }
    this.#token = randomBytes(4).toString("hex");
  }

  /** The annotation; undefined if there is nothing to tell. */
  text(): string | undefined {
    const sinceMs = this.#clock.monotonicMs() - toldMs;
    for (const [name, atMs] of this.#told) if (atMs < sinceMs) this.#told.delete(name);
    return this.#told.size === 0 ? undefined : [this.#token, ...this.#told.keys()].join(" ");
  }

  see(shard: number, text: string): void {
    if (this.#seen.get(shard) === text) return;
    this.#seen.set(shard, text);
    for (const name of text.split(" ").slice(1, 1 + toldMax)) {
      if (name.indexOf("/") > 0) this.#onMoved(nameOfKey(name));
    }
  }
}
