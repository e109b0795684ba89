// Instances whose key was rotated, so that they now belong to another shard. The replica that notices this names them in an
// annotation of its Leases. The other replicas then read the Secrets of these instances again; the annotation decides nothing.
import { randomBytes } from "node:crypto";
import type { Clock } from "../async/clock.ts";
import { nameKey, nameOfKey, type ObjectName } from "../model/resource.ts";

export const movedAnnotation = "wafsync.dev/moved-instances";
/** Longer than the other replicas need to read the annotation. */
const announcedMs = 60_000;
/** Other replicas notice further instances at their next resync. */
const announcedMax = 50;

export class MovedInstances {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #onMoved: (instance: ObjectName) => void;
  readonly #announced = new Map<string, number>();
  /** The last annotation of each shard's Lease. */
  readonly #seen = new Map<number, string>();
  #token = "";

  /** @param onMoved called for each instance that another replica names */
  constructor(clock: Pick<Clock, "monotonicMs">, onMoved: (instance: ObjectName) => void) {
    this.#clock = clock;
    this.#onMoved = onMoved;
  }

  note(instance: ObjectName): void {
    this.#announced.delete(nameKey(instance));
    this.#announced.set(nameKey(instance), this.#clock.monotonicMs());
    for (const name of this.#announced.keys()) {
      if (this.#announced.size <= announcedMax) break;
      this.#announced.delete(name);
    }
    this.#token = randomBytes(4).toString("hex");
  }

  /** Returns the annotation, or undefined if it would name no instance. */
  text(): string | undefined {
    const sinceMs = this.#clock.monotonicMs() - announcedMs;
    for (const [name, atMs] of this.#announced) if (atMs < sinceMs) this.#announced.delete(name);
    return this.#announced.size === 0 ? undefined : [this.#token, ...this.#announced.keys()].join(" ");
  }

  see(shard: number, text: string): void {
    if (this.#seen.get(shard) === text) return;
    this.#seen.set(shard, text);
    for (const name of text.split(" ").slice(1, 1 + announcedMax)) {
      if (name.indexOf("/") > 0) this.#onMoved(nameOfKey(name));
    }
  }
}
