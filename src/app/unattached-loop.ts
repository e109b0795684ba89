// Reports on objects that no reconcile run covers, after changes and periodically. Anyone can create such objects in any number,
// so namespaces take turns, writes are rate-limited, and nothing here triggers a run.
import { isDeepStrictEqual } from "node:util";
import { type Condition, seeReady, withConditions } from "../kinds/conditions.ts";
import type { ChangeSignal } from "../async/change-signal.ts";
import type { Clock } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import { TimeSlices } from "../async/time-slices.ts";
import { notReadyKinds, type ObjectName, resourceKey, type ResourceRef } from "../model/resource.ts";
import type { ReconcilePorts, StatusPort } from "../run/ports.ts";
import { handledRequest } from "../run/status/write-status.ts";
import type { Unattached, UnattachedObjects } from "../source/cluster/attachment.ts";
import { instanceNameOf } from "../source/cluster/cluster-object.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import { saysNotReady } from "./measure.ts";
import { type RuntimeMetrics, type UnattachedKey } from "../telemetry/metrics-runtime.ts";

/** Changes that follow one another within this time cause one round. */
const debounceMs = 500;
/** A status that could not be written is retried after this time, even if nothing changes. */
const intervalMs = 60_000;
/** At most 50 statuses per second. */
const writeGapMs = 20;
/** After a change, a round that takes longer than this restarts, so that new objects get their turn. */
const roundMsMin = 2_000;

export interface UnattachedOptions {
  readonly source: Pick<ClusterSource, "objects"> & { readonly unattached: Pick<UnattachedObjects, "all" | "now"> };
  /** Whether this process reports on the object. @param instance the one that it is attached to, if there is one */
  readonly isOwn: (object: ResourceRef, instance?: ObjectName) => boolean;
  /** Must call `onUnwritten` if a status could not be written. */
  readonly status: (onUnwritten: (object: ResourceRef) => void) => StatusPort;
  readonly lifecycle: ReconcilePorts["lifecycle"];
  readonly changed: ChangeSignal;
  readonly clock: Clock;
  readonly metrics: Pick<RuntimeMetrics, "unattached" | "notReady">;
}

export class UnattachedLoop {
  readonly #options: UnattachedOptions;
  readonly #status: StatusPort;
  /** The last report on each stored object. */
  readonly #reported = new WeakMap<object, string>();
  /** The current object, if its status could not be written. */
  #unwritten: string | undefined;

  constructor(options: UnattachedOptions) {
    this.#options = options;
    this.#status = options.status((object) => void (this.#unwritten = resourceKey(object)));
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { changed, clock } = this.#options;
    while (!signal.aborted) {
      const { version } = changed;
      await this.round(signal);
      await withDeadline({ clock, timeoutMs: intervalMs, signal }, async (over) => await changed.wait(version, over));
      await clock.sleep(debounceMs, signal);
    }
  }

  /** Reports on every object once, or stops early after a change. */
  async round(signal: AbortSignal): Promise<void> {
    const { changed, clock } = this.#options;
    const [startedMs, { version }] = [clock.monotonicMs(), changed];
    const slices = new TimeSlices(clock);
    for (const object of inTurns(await this.#unreported(slices))) {
      if (signal.aborted) return;
      if (changed.version !== version && clock.monotonicMs() - startedMs >= roundMsMin) return;
      if (slices.isOver) await slices.pause();
      // By now, the object may be attached, and a run may cover its status.
      const now = this.#options.source.unattached.now(object.meta);
      if (now !== undefined && (await this.#report(now))) await clock.sleep(writeGapMs, signal);
    }
  }

  /** The objects without an up-to-date report, by namespace. Counts all, and the other objects that are not Ready. */
  async #unreported(slices: TimeSlices): Promise<ReadonlyMap<string, readonly Unattached[]>> {
    const found = new Map<string, Unattached[]>();
    const counts = new Map<UnattachedKey, number>();
    const unattached = new Set<object>();
    const { source, isOwn } = this.#options;
    for (const object of source.unattached.all()) {
      if (slices.isOver) await slices.pause();
      if (object === undefined || !isOwn(object.meta)) continue;
      unattached.add(object.stored);
      const key = `${object.meta.kind} ${object.reason}` as const;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (this.#reported.get(object.stored) === gistOf(object)) continue;
      const { namespace } = object.meta;
      const ofNamespace = found.get(namespace);
      if (ofNamespace === undefined) found.set(namespace, [object]);
      else ofNamespace.push(object);
    }
    this.#options.metrics.unattached(counts);
    await this.#countNotReady(unattached, slices);
    return found;
  }

  async #countNotReady(unattached: ReadonlySet<object>, slices: TimeSlices): Promise<void> {
    for (const kind of notReadyKinds) {
      let count = 0;
      for (const object of this.#options.source.objects(kind)) {
        if (slices.isOver) await slices.pause();
        const { namespace = "", name } = object.metadata;
        if (!this.#options.isOwn({ kind, namespace, name }, instanceNameOf(object))) continue;
        if (saysNotReady(object.status) && !unattached.has(object)) count += 1;
      }
      this.#options.metrics.notReady(kind, count);
    }
  }

  /** True if a status was written. */
  async #report(object: Unattached): Promise<boolean> {
    const { meta, reason, problem: message } = object;
    this.#unwritten = undefined;
    const isWritten = await reportUnattached(this.#status, object, this.#options.clock.nowMs());
    if (isWritten) this.#status.event(meta, { type: "Warning", reason, message });
    const mustGo = reason === "InvalidSpec" && meta.kind === "WafInstance" && meta.deleting;
    const isDone = this.#unwritten !== resourceKey(meta) && (!mustGo || (await this.#release(object)));
    if (isDone) this.#reported.set(object.stored, gistOf(object));
    return isWritten;
  }

  /** A deleted instance that is invalid loses its finalizer, so that it does not stay in Terminating forever. */
  async #release({ meta, problem }: Unattached): Promise<boolean> {
    if ((await this.#options.lifecycle.removeFinalizer(meta)) !== undefined) return false;
    const kept = `The managed entries stay on the WAF, because this object is invalid: ${problem}`;
    this.#status.event(meta, { type: "Warning", reason: "EntriesLeftBehind", message: kept });
    return true;
  }
}

function gistOf({ reason, problem }: Unattached): string {
  return `${reason} ${problem}`;
}

/** One object of each namespace in turn. */
function* inTurns(byNamespace: ReadonlyMap<string, readonly Unattached[]>): Generator<Unattached> {
  let left = [...byNamespace.values()];
  for (let turn = 0; left.length > 0; turn += 1) {
    left = left.filter((objects) => objects.length > turn);
    for (const objects of left) {
      const object = objects[turn];
      if (object !== undefined) yield object;
    }
  }
}

const wafState: ReadonlySet<string> = new Set(["entries", "progress", "rejected", "sources", "state", "addedTime"]);

/** Writes the status of the object if it differs. Returns true if so. */
export async function reportUnattached(
  status: StatusPort,
  { meta, reason, problem: message }: Pick<Unattached, "meta" | "reason" | "problem">,
  nowMs: number,
): Promise<boolean> {
  const { generation } = meta;
  if (meta.deleting && meta.kind !== "WafInstance") return false;
  const before = status.read(meta) ?? {};
  const known = (before["conditions"] ?? []) as readonly Condition[];
  const isInvalid = reason === "InvalidSpec";
  // A finished cache clear keeps its status: it needs nothing from the instance.
  const hasFinished = known.some(({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True");
  const isCurrent = meta.kind === "WafCacheClear" && before["observedGeneration"] === generation;
  if (!isInvalid && isCurrent && hasFinished) return false;
  const refused = { status: "False", reason, message: seeReady } as const;
  const next = {
    Accepted: refused,
    Ready: { ...refused, message },
    // The former state on the WAF is no longer known.
    Synced: undefined,
    Reconciling: undefined,
    // A missing instance may be created soon; the other cases need a person.
    Stalled: reason === "InstanceNotFound" ? undefined : ({ ...refused, status: "True" } as const),
  };
  const after = {
    // The entries may be gone with the instance. Results of completed work stay.
    ...Object.fromEntries(Object.entries(before).filter(([name]) => isInvalid || !wafState.has(name))),
    ...handledRequest(meta),
    observedGeneration: generation,
    conditions: withConditions(known, next, generation, nowMs),
  };
  if (isDeepStrictEqual(after, before)) return false;
  await status.write(meta, after);
  return true;
}
