// Reports on objects that no reconcile run covers, after changes and periodically. Anyone can create such objects in any number,
// so namespaces take turns, writes are rate-limited, and nothing here triggers a run.
import { isDeepStrictEqual } from "node:util";
import { type Condition, seeReady, withConditions } from "../kinds/conditions.ts";
import { type Clock, withDeadline } from "../async/clock.ts";
import { TimeSlices } from "../async/time-slices.ts";
import { notReadyKinds, type ObjectName, type ResourceKind, resourceKinds } from "../model/resource.ts";
import type { ReconcilePorts, StatusPort } from "../run/ports.ts";
import { handledRequest } from "../run/status/write-status.ts";
import type { Unattached, UnattachedObjects } from "../source/cluster/attachment.ts";
import { type ClusterObject, instanceNameOf } from "../source/cluster/cluster-object.ts";
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
  readonly source: Pick<ClusterSource, "objects" | "objectOf"> & {
    readonly unattached: Pick<UnattachedObjects, "find" | "changed">;
  };
  /** Whether this process reports on the object. @param instance the one that it is attached to, if there is one */
  readonly isOwn: (object: ClusterObject, instance?: ObjectName) => boolean;
  readonly status: StatusPort;
  readonly lifecycle: ReconcilePorts["lifecycle"];
  readonly clock: Clock;
  readonly metrics: Pick<RuntimeMetrics, "unattached" | "notReady">;
}

export class UnattachedLoop {
  readonly #options: UnattachedOptions;
  /** The last report on each stored object. */
  readonly #reported = new WeakMap<object, string>();

  constructor(options: UnattachedOptions) {
    this.#options = options;
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, clock } = this.#options;
    const { changed } = source.unattached;
    while (!signal.aborted) {
      const { version } = changed;
      await this.round(signal);
      await withDeadline({ clock, timeoutMs: intervalMs, signal }, async (over) => await changed.wait(version, over));
      await clock.sleep(debounceMs, signal);
    }
  }

  /** Reports on every object once, or stops early after a change. */
  async round(signal: AbortSignal): Promise<void> {
    const { source, clock } = this.#options;
    const { unattached } = source;
    const [startedMs, { version }] = [clock.monotonicMs(), unattached.changed];
    const slices = new TimeSlices(clock);
    for (const { meta } of await this.#unreported(slices)) {
      if (signal.aborted) return;
      if (unattached.changed.version !== version && clock.monotonicMs() - startedMs >= roundMsMin) return;
      if (slices.isOver) await slices.pause();
      // By now, the object may be attached, and a run may cover its status.
      const stored = source.objectOf(meta);
      const now = stored && unattached.find(stored);
      if (now !== undefined && (await this.#report(now))) await clock.sleep(writeGapMs, signal);
    }
  }

  /** The objects without an up-to-date report, one of each namespace in turn. Counts all, and the other objects that are not Ready. */
  async #unreported(slices: TimeSlices): Promise<readonly Unattached[]> {
    const { source, isOwn, metrics } = this.#options;
    const unreported: { readonly object: Unattached; readonly turn: number }[] = [];
    const turns = new Map<string, number>();
    const counts = new Map<UnattachedKey, number>();
    const notReady = new Map<ResourceKind, number>();
    for (const stored of resourceKinds.flatMap((kind) => source.objects(kind))) {
      if (slices.isOver) await slices.pause();
      const object = source.unattached.find(stored);
      if (!isOwn(stored, object === undefined ? instanceNameOf(stored) : undefined)) continue;
      const { kind } = stored;
      if (object === undefined) {
        if (saysNotReady(stored.status)) notReady.set(kind, (notReady.get(kind) ?? 0) + 1);
        continue;
      }
      const key = `${kind} ${object.reason}` as const;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (this.#reported.get(stored) === gistOf(object)) continue;
      const { namespace } = object.meta;
      const turn = turns.get(namespace) ?? 0;
      turns.set(namespace, turn + 1);
      unreported.push({ object, turn });
    }
    metrics.unattached(counts);
    for (const kind of notReadyKinds) metrics.notReady(kind, notReady.get(kind) ?? 0);
    return unreported.toSorted((a, b) => a.turn - b.turn).map(({ object }) => object);
  }

  /** True if its status had to be written. */
  async #report(object: Unattached): Promise<boolean> {
    const { status, clock } = this.#options;
    const { meta, reason, problem: message } = object;
    const after = unattachedStatus(status.read(meta) ?? {}, object, clock.nowMs());
    const failure = after && (await status.write(meta, after));
    if (after !== undefined) status.event(meta, { type: "Warning", reason, message });
    const mustGo = reason === "InvalidSpec" && meta.kind === "WafInstance" && meta.deleting;
    const isDone = failure === undefined && (!mustGo || (await this.#release(object)));
    if (isDone) this.#reported.set(object.stored, gistOf(object));
    return after !== undefined;
  }

  /** A deleted instance that is invalid loses its finalizer, so that it does not stay in Terminating forever. */
  async #release({ meta, problem }: Unattached): Promise<boolean> {
    const { lifecycle, status } = this.#options;
    if ((await lifecycle.removeFinalizer(meta)) !== undefined) return false;
    const kept = `The managed entries stay on the WAF, because this object is invalid: ${problem}`;
    status.event(meta, { type: "Warning", reason: "EntriesLeftBehind", message: kept });
    return true;
  }
}

function gistOf({ reason, problem }: Unattached): string {
  return `${reason} ${problem}`;
}

const wafState: ReadonlySet<string> = new Set(["entries", "progress", "rejected", "sources", "state", "addedTime"]);

/** The status of the object after `before`; undefined if it stays. */
export function unattachedStatus(
  before: Readonly<Record<string, unknown>>,
  { meta, reason, problem: message }: Pick<Unattached, "meta" | "reason" | "problem">,
  nowMs: number,
): Readonly<Record<string, unknown>> | undefined {
  const { generation } = meta;
  if (meta.deleting && meta.kind !== "WafInstance") return undefined;
  const known = (before["conditions"] ?? []) as readonly Condition[];
  const isInvalid = reason === "InvalidSpec";
  // A finished cache clear keeps its status: it needs nothing from the instance.
  const hasFinished = known.some(({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True");
  const isCurrent = meta.kind === "WafCacheClear" && before["observedGeneration"] === generation;
  if (!isInvalid && isCurrent && hasFinished) return undefined;
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
  return isDeepStrictEqual(after, before) ? undefined : after;
}
