// Metrics of the controller machinery: reconcile runs, like those of controller-runtime, queues, under the names that client-go uses,
// the Lease, watches, events, and objects that no run covers.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { QueueObserver, QueueStats } from "../async/keyed-queue.ts";
import { notReadyKinds, type ResourceKind, resourceKinds } from "../model/resource.ts";

/** Why an event was dropped, as the event recorder names it. */
export const eventDropReasons = ["QueueFull", "Spam", "Refused", "Unavailable", "Stopped"] as const;
export type EventDropReason = (typeof eventDropReasons)[number];

/** Why no reconcile run covers an object, as its condition Ready names it. */
export const unattachedReasons = ["InstanceNotFound", "NotAllowed", "InvalidSpec"] as const;
export type UnattachedKey = `${ResourceKind} ${(typeof unattachedReasons)[number]}`;

/**
 * - `success`: the run completed. `error`: it failed, or threw.
 * - `requeue`: it must run again, because something changed in the meantime or a backoff has not ended.
 * - `blocked`: only an external change helps. `interrupted`: the process is stopping.
 */
export const reconcileResults = ["success", "error", "requeue", "blocked", "interrupted"] as const;
export type ReconcileResult = (typeof reconcileResults)[number];

/** The series of one controller and its queue. */
export interface MeasuredController extends QueueObserver {
  ended(result: ReconcileResult, durationMs: number): void;
}

interface WatchFigures {
  readonly plural: string;
  readonly isSynced: boolean;
  /** Lists after the first one. */
  readonly relists: number;
}

export type RuntimeMetrics = ReturnType<typeof makeRuntimeMetrics>;

const secondsBuckets = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300];
/** A run without changes takes some milliseconds; the first run of a long list may take an hour. */
const runSecondsBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600];

/** What metrics of a registry have in common. */
type Define = ReturnType<typeof definerOf>;

function definerOf(registry: Registry) {
  return (name: string, help: string, ...labelNames: string[]) => ({ name, help, labelNames, registers: [registry] });
}

export function makeRuntimeMetrics(registry: Registry) {
  const define = definerOf(registry);
  const leader = new Gauge(
    define("leader_election_master_status", "1 if this process holds the Lease and reconciles, 0 if not.", "name"),
  );
  const dropped = new Counter(
    define("wafsync_events_dropped_total", "Events that were not written, by reason.", "reason"),
  );
  for (const reason of eventDropReasons) dropped.inc({ reason }, 0);
  const help = "Objects that no reconcile run covers, by kind and by the reason of their condition Ready.";
  const uncovered = new Gauge(define("wafsync_unattached_objects", help, "kind", "reason"));
  const unattached = (counts: ReadonlyMap<UnattachedKey, number>): void => {
    for (const kind of resourceKinds) {
      for (const reason of unattachedReasons) uncovered.set({ kind, reason }, counts.get(`${kind} ${reason}`) ?? 0);
    }
  };
  unattached(new Map());
  const unreadyHelp = "Objects whose condition Ready is False although an instance uses them, and feeds, by kind.";
  const unready = new Gauge(define("wafsync_objects_not_ready", unreadyHelp, "kind"));
  for (const kind of notReadyKinds) unready.set({ kind }, 0);
  const reconciles = makeReconciles(define);
  const queues = makeQueues(define);
  return {
    /** Creates the series of a controller, at zero; call it once for each name. Every scrape calls `stats`. */
    controller: (name: string, stats: () => QueueStats): MeasuredController => ({
      ...queues(name, stats),
      ...reconciles(name),
    }),
    leading: (name: string, isLeading: boolean) => leader.set({ name }, isLeading ? 1 : 0),
    watches: makeWatches(define),
    eventDropped: (reason: EventDropReason) => dropped.inc({ reason }),
    /** The number of objects that no reconcile run covers; a missing key counts as zero. */
    unattached,
    /** The number of all other objects of the kind that are not Ready. */
    notReady: (kind: (typeof notReadyKinds)[number], count: number) => unready.set({ kind }, count),
  };
}

function makeReconciles(define: Define): (controller: string) => Pick<MeasuredController, "ended"> {
  const labels = ["controller", "result"];
  const help = "Reconcile runs by controller and result: success, error, requeue, blocked or interrupted.";
  const runs = new Counter(define("wafsync_reconcile_total", help, ...labels));
  const durationHelp = "Duration of reconcile runs by controller and result.";
  const durations = new Histogram({
    ...define("wafsync_reconcile_duration_seconds", durationHelp, ...labels),
    buckets: runSecondsBuckets,
  });
  return (controller) => {
    for (const result of reconcileResults) {
      runs.inc({ controller, result }, 0);
      durations.zero({ controller, result });
    }
    return {
      ended(result, durationMs) {
        runs.inc({ controller, result });
        durations.observe({ controller, result }, durationMs / 1000);
      },
    };
  };
}

/** Follows the list-watches: every scrape calls the function that is passed. */
function makeWatches(define: Define): (health: () => readonly WatchFigures[]) => void {
  let health: () => readonly WatchFigures[] = () => [];
  void new Counter({
    ...define("wafsync_watch_relists_total", "Lists of all objects of the kind after the first one.", "kind"),
    collect() {
      this.reset();
      for (const { plural, relists } of health()) this.inc({ kind: plural }, relists);
    },
  });
  void new Gauge({
    ...define("wafsync_watch_synced", "1 if all objects of the kind have been listed at least once, 0 if not.", "kind"),
    collect() {
      for (const { plural, isSynced } of health()) this.set({ kind: plural }, isSynced ? 1 : 0);
    },
  });
  return (read) => void (health = read);
}

function makeQueues(define: Define): (name: string, stats: () => QueueStats) => QueueObserver {
  const followed = new Map<string, () => QueueStats>();
  const gauge = (name: string, help: string, value: (stats: QueueStats) => number): Gauge =>
    new Gauge({
      ...define(name, help, "name"),
      collect() {
        for (const [queue, stats] of followed) this.set({ name: queue }, value(stats()));
      },
    });
  const gauges = [
    gauge("workqueue_depth", "Keys that are ready and waiting for a worker.", ({ depth }) => depth),
    gauge(
      "workqueue_unfinished_work_seconds",
      "Total time for which the keys in progress have been processed.",
      ({ unfinishedMs }) => unfinishedMs / 1000,
    ),
    gauge(
      "workqueue_longest_running_processor_seconds",
      "Time for which the longest-running key in progress has been processed.",
      ({ longestRunningMs }) => longestRunningMs / 1000,
    ),
  ];
  const counter = (name: string, help: string): Counter => new Counter(define(name, help, "name"));
  const histogram = (name: string, help: string): Histogram =>
    new Histogram({ ...define(name, help, "name"), buckets: secondsBuckets });
  const adds = counter("workqueue_adds_total", "Keys that became ready.");
  const retries = counter("workqueue_retries_total", "Keys that were requeued with backoff after a failure.");
  const waitsHelp = "Time for which keys were ready before a worker took them.";
  const waits = histogram("workqueue_queue_duration_seconds", waitsHelp);
  const work = histogram("workqueue_work_duration_seconds", "Time for which keys were processed.");
  return (name, stats) => {
    followed.set(name, stats);
    for (const each of [...gauges, adds, retries]) each.inc({ name }, 0);
    for (const each of [waits, work]) each.zero({ name });
    return {
      added: () => adds.inc({ name }),
      retried: () => retries.inc({ name }),
      waited: (durationMs) => waits.observe({ name }, durationMs / 1000),
      worked: (durationMs) => work.observe({ name }, durationMs / 1000),
    };
  };
}
