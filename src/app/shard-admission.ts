// Decides which instances this process works on: those whose API key belongs to a shard that it holds. Every replica reads every
// Secret. A rotated key can move an instance to another replica while the former one still uses the old key. To prevent
// overlap, every call needs a key that was read a short time ago, and the new replica waits until the old key is out of use.
import { hexDigest } from "../model/hex-digest.ts";
import type { Clock } from "../async/clock.ts";
import { elapsedMs, type LeaseTimings } from "../kube/lease-decision.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { LoadedInventory } from "../model/inventory.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { shardOfKey } from "../plan/shards/shard-of-key.ts";
import type { UsableKey } from "../source/cluster/api-keys.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Permission } from "../waf/client.ts";
import type { HeldShard } from "./held-shard.ts";
import type { CallShare } from "./waf-clients.ts";

const unreachableRetryMs = 5_000;

export type Admission =
  | { readonly kind: "Admitted"; readonly held: HeldShard }
  /** Another process works on the instance, or this process may not work on it before `wakeAtMs` (wall time). */
  | { readonly kind: "Elsewhere"; readonly wakeAtMs: number }
  | { readonly kind: "Gone" };

export interface ShardAdmissionOptions {
  readonly shards: number;
  /** The shard, if this process may work on it now. */
  readonly held: (shard: number) => HeldShard | undefined;
  readonly source: Pick<ClusterSource, "declared" | "readKey" | "usableKey">;
  readonly loadInventory: (instance: ObjectName) => Promise<LoadedInventory>;
  readonly timings: LeaseTimings;
  readonly clock: Clock;
  /** Called with every key that was read. */
  readonly onKey: (instance: ObjectName, key: ApiKey) => void;
  /** Called when this process no longer works on an instance although it still holds the shard of its former key. */
  readonly onMoved: (instance: ObjectName) => void;
}

/** The key of an instance, as this process has seen it without a long interruption. Times are monotonic. */
interface Known {
  readonly fingerprint: string;
  readonly sinceMs: number;
  readMs: number;
  /** Whether no other process can be using another key of the instance. */
  isUnrivaled: boolean;
}

export class ShardAdmission implements CallShare {
  readonly #options: ShardAdmissionOptions;
  readonly #known = new Map<string, Known>();
  /** The shard under which this process last worked on each instance. */
  readonly #admitted = new Map<string, HeldShard>();

  constructor(options: ShardAdmissionOptions) {
    this.#options = options;
  }

  /** @param hasChanged whether something about the instance may have changed, rather than only a timer having fired */
  async admit(instance: ObjectName, hasChanged: boolean): Promise<Admission> {
    const { source, clock, timings } = this.#options;
    const name = nameKey(instance);
    const resyncMs = source.declared(instance)?.resyncIntervalMs;
    if (resyncMs === undefined) {
      this.#known.delete(name);
      return { kind: "Gone" };
    }
    const isRecent = hasChanged || this.#admitted.has(name);
    await source.readKey(instance, isRecent ? Math.min(timings.leaseDurationMs, resyncMs) : resyncMs);
    if (!isRecent && this.#heldFor(instance) !== undefined) await source.readKey(instance, timings.leaseDurationMs);
    const usable = source.usableKey(instance);
    const later = (delayMs: number): Admission => ({ kind: "Elsewhere", wakeAtMs: clock.nowMs() + delayMs });
    // Without a response, the owner of the instance is unknown.
    if (usable === undefined) return later(unreachableRetryMs);
    const held = this.#heldFor(instance);
    const waitMs = await this.#waitMs(instance, usable, held);
    if (held === undefined) {
      this.#leave(instance);
      return later(resyncMs);
    }
    if (waitMs > 0) return later(waitMs);
    this.#admitted.set(name, held);
    return { kind: "Admitted", held };
  }

  /** Call this when the shard was given up or lost. */
  forget(instance: ObjectName): void {
    this.#admitted.delete(nameKey(instance));
  }

  async prepare(instance: ObjectName): Promise<void> {
    const { source, timings } = this.#options;
    const usable = source.usableKey(instance);
    const ageMsMax = (timings.renewDeadlineMs * 2) / 3;
    if (usable !== undefined && this.#ageOf(usable) < ageMsMax) return;
    // Always read here: `readKey` measures the age of a key only by the monotonic clock, which can stand still.
    await source.readKey(instance, 0);
  }

  permit(instance: ObjectName, key: ApiKey): Permission {
    const { source, shards, held: heldOf, timings } = this.#options;
    const held = heldOf(shardOfKey(key.fingerprint(), shards));
    if (held === undefined) return refused("This process does not hold the Lease of the shard.");
    if (held.stopping.stop.aborted) return refused("wafsync is stopping or giving up the shard.");
    const usable = source.usableKey(instance);
    const isCurrent = usable?.key?.fingerprint() === key.fingerprint();
    if (!isCurrent || this.#ageOf(usable) >= timings.renewDeadlineMs)
      return refused("The API key may have changed: another process may be using the new one.");
    return { permitted: true };
  }

  #ageOf({ readAtMs, readAtWallMs }: UsableKey): number {
    const { clock } = this.#options;
    const now = { monotonicMs: clock.monotonicMs(), wallMs: clock.nowMs() };
    return elapsedMs({ monotonicMs: readAtMs, wallMs: readAtWallMs }, now);
  }

  #ageMs(sinceMs: number): number {
    return this.#options.clock.monotonicMs() - sinceMs;
  }

  #leave(instance: ObjectName): void {
    const name = nameKey(instance);
    const held = this.#admitted.get(name);
    this.#admitted.delete(name);
    if (held?.forget(instance) === true) this.#options.onMoved(instance);
  }

  #heldFor(instance: ObjectName): HeldShard | undefined {
    const { source, onKey, shards, held } = this.#options;
    const key = source.usableKey(instance)?.key;
    if (key !== undefined) onKey(instance, key);
    return held(shardOfKey(key?.fingerprint() ?? printOfName(instance), shards));
  }

  /** How long another process may still use another key of the instance. */
  async #waitMs(instance: ObjectName, usable: UsableKey, held: HeldShard | undefined): Promise<number> {
    const { timings, loadInventory } = this.#options;
    const { key } = usable;
    if (key === undefined) return 0;
    const known = this.#note(instance, key, usable.readAtMs);
    const leftMs = timings.leaseDurationMs - this.#ageMs(known.sinceMs);
    if (held === undefined || known.isUnrivaled || leftMs <= 0) return 0;
    // The record identifies the key of the last sync. If it is this key, or if there is no record, no other key was in use.
    const stored = await loadInventory(instance);
    if (stored.state === "Unreachable") return unreachableRetryMs;
    if (stored.state === "Loaded") {
      const { domain, waf } = stored.inventory;
      known.isUnrivaled = domain === undefined || waf?.keyMark === key.markFor(domain);
    }
    return known.isUnrivaled ? 0 : leftMs;
  }

  #note(instance: ObjectName, key: ApiKey, readAtMs: number): Known {
    const { clock, timings, shards, held: heldOf } = this.#options;
    const name = nameKey(instance);
    const before = this.#known.get(name);
    const isUnbroken = before !== undefined && readAtMs - before.readMs < timings.leaseDurationMs * 1.5;
    if (isUnbroken && before.fingerprint === key.fingerprint()) {
      before.readMs = readAtMs;
      return before;
    }
    const nowMs = clock.monotonicMs();
    const isOwn = isUnbroken && before.isUnrivaled && heldOf(shardOfKey(before.fingerprint, shards)) !== undefined;
    const known = { fingerprint: key.fingerprint(), sinceMs: nowMs, readMs: readAtMs, isUnrivaled: isOwn };
    this.#known.set(name, known);
    return known;
  }
}

/** Without a key there are no calls, so any shard will do, as long as all processes choose the same one. */
function printOfName(instance: ObjectName): string {
  return hexDigest(nameKey(instance));
}

function refused(reason: string): Permission {
  return { permitted: false, reason };
}
