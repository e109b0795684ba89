// What wafsync stores in the cluster: inventories, the finalizer of instances, status and events. Every write checks for
// permission first, so that a process that has lost its Lease no longer writes. Events are fire-and-forget.
import { apiGroup } from "../../api/kinds.ts";
import type { Clock } from "../../async/clock.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { EventNote } from "../../kube/event-aggregate.ts";
import { eventApi } from "../../kube/object-apis.ts";
import { type EventDropReason, EventRecorder } from "../../kube/event-recorder.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../../model/resource.ts";
import { ClusterRecordStore } from "../../records/cluster-record-store.ts";
import { createInventoryRecords, inventoryKey, type InventoryRecords } from "../../records/inventory-records.ts";
import { recordOwnerOf } from "../../records/record-object.ts";
import type { ClusterSource } from "./cluster-source.ts";
import { type CachedStatus, createClusterStatus } from "./cluster-status.ts";
import { createInstanceFinalizers, type FinalizerOutcome, type InstanceFinalizers } from "./instance-finalizer.ts";

const sweepIntervalMs = 300_000;
/** After the deletion of an instance, its records are deleted a moment later, so sweeps follow at growing intervals. */
const sweepDelayMs = 2_000;
/** The API server needs a moment after it accepts a CRD. */
const usableDelayMs = 500;
const usableAttemptsMax = 60;
const notAllowed = "This process must not write: it is stopping or does not hold the Lease.";

export interface ClusterRecordsOptions {
  readonly api: ApiServer;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** The only namespace to watch; all namespaces if undefined. */
  readonly namespace: string | undefined;
  readonly source: Pick<ClusterSource, "objectOf" | "isSynced" | "hasGaps">;
  /** The reporting instance of events. */
  readonly podName: string;
  /** Called immediately before every write. */
  readonly mayWrite: () => boolean;
  readonly onEventDropped: (reason: EventDropReason) => void;
  /** Called when the inventory of an instance that no longer exists was deleted. */
  readonly onInventoryDeleted: (instance: ObjectName) => void;
}

export interface ClusterRecords {
  readonly inventory: InventoryRecords;
  readonly lifecycle: {
    /** Adds the finalizer. Call it before the first write to the WAF. Returns undefined, or why it could not be added. */
    ensureFinalizer(instance: ResourceMeta): Promise<string | undefined>;
    /** Removes the finalizer. Call it after the last write. Returns undefined, or why it could not be removed. */
    removeFinalizer(instance: ResourceMeta): Promise<string | undefined>;
  };
  readonly status: CachedStatus;
  /** Emits an event about an object that is none of wafsync's kinds. */
  emit(note: EventNote): void;
  /** Waits a while until records can be read, or until the signal aborts. Never rejects. */
  whenUsable(signal: AbortSignal): Promise<void>;
  /**
   * Deletes inventories whose instance no longer exists, periodically and soon after `status.cached` reports the deletion of an
   * instance, until the signal aborts. Never rejects.
   */
  tidyUp(signal: AbortSignal): Promise<void>;
  /** Accepts no more events, and waits at most this long until the queued ones are written. */
  close(flushMs: number): Promise<void>;
}

export function createClusterRecords(options: ClusterRecordsOptions): ClusterRecords {
  return new Records(options);
}

class Records implements ClusterRecords {
  readonly inventory: ClusterRecords["inventory"];
  readonly lifecycle: ClusterRecords["lifecycle"];
  readonly status: CachedStatus;
  readonly #options: ClusterRecordsOptions;
  readonly #store: ClusterRecordStore;
  readonly #events: EventRecorder;
  #deleted = new AbortController();

  constructor(options: ClusterRecordsOptions) {
    this.#options = options;
    const { api, clock, random, source, podName, mayWrite, namespace, onEventDropped } = options;
    const objectOf = source.objectOf.bind(source);
    this.#store = new ClusterRecordStore({
      api,
      ownerOf: ({ namespace: home, name }) => recordOwnerOf(objectOf({ kind: "WafInstance", namespace: home, name })),
      mayWrite,
      wasUninstalled: () => source.hasGaps(),
      ...(namespace === undefined ? {} : { namespace }),
    });
    this.#events = new EventRecorder({
      api: eventApi(api),
      clock,
      random,
      controller: `${apiGroup}/operator`,
      instance: podName,
      onDropped: (reason) => onEventDropped(reason),
    });
    this.inventory = createInventoryRecords(this.#store, clock);
    this.status = this.#status(createClusterStatus({ api, clock, objectOf, events: this.#events }));
    // Otherwise, the first status would be sent for the version before the finalizer, and refused.
    const onReturned = this.status.returned;
    this.lifecycle = this.#lifecycle(createInstanceFinalizers({ api, objectOf, onReturned }));
  }

  emit(note: EventNote): void {
    this.#events.record(note);
  }

  async whenUsable(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; attempt < usableAttemptsMax && !signal.aborted; attempt += 1) {
      if (await this.#store.isUsable()) return;
      await this.#options.clock.sleep(usableDelayMs, signal);
    }
  }

  async tidyUp(signal: AbortSignal): Promise<void> {
    const { clock, source, mayWrite, onInventoryDeleted } = this.#options;
    let delayMs = sweepIntervalMs;
    while (!signal.aborted) {
      // Sleep first, so that after a restart all objects are listed before the first sweep.
      await clock.sleep(delayMs, AbortSignal.any([signal, this.#deleted.signal]));
      delayMs = Math.min(4 * delayMs, sweepIntervalMs);
      if (this.#deleted.signal.aborted) {
        this.#deleted = new AbortController();
        delayMs = 4 * sweepDelayMs;
        await clock.sleep(sweepDelayMs, signal);
      }
      if (signal.aborted) return;
      // While a CRD is missing, a missing instance may be restored and then needs its inventory.
      if (mayWrite() && source.isSynced() && !source.hasGaps()) {
        for (const instance of await this.#store.sweep()) onInventoryDeleted(instance);
      }
    }
  }

  async close(flushMs: number): Promise<void> {
    await this.#events.stop(flushMs);
  }

  #lifecycle(finalizers: InstanceFinalizers): ClusterRecords["lifecycle"] {
    const { mayWrite } = this.#options;
    return {
      ensureFinalizer: async (instance) => {
        if (finalizers.hasFinalizer(instance)) return undefined;
        return mayWrite() ? holdProblem(await finalizers.ensureFinalizer(instance), instance) : notAllowed;
      },
      removeFinalizer: async (instance) => {
        if (!mayWrite()) return notAllowed;
        // Existing records are kept.
        const problem = await this.#store.detach(inventoryKey(instance));
        if (problem !== undefined) return problem;
        const outcome = await finalizers.releaseFinalizer(instance);
        return outcome.state === "Failed" ? outcome.problem : undefined;
      },
    };
  }

  #status(status: CachedStatus): CachedStatus {
    const { mayWrite } = this.#options;
    return {
      read: (object) => status.read(object),
      write: async (object, next) => (mayWrite() ? await status.write(object, next) : undefined),
      update: async (object, change) => (mayWrite() ? await status.update(object, change) : undefined),
      event: (object, event) => {
        if (mayWrite()) status.event(object, event);
      },
      cached: (change) => {
        if (change.type === "Deleted" && change.old.kind === "WafInstance") this.#deleted.abort();
        status.cached(change);
      },
      returned: (object) => status.returned(object),
    };
  }
}

function holdProblem(outcome: FinalizerOutcome, instance: ObjectName): string | undefined {
  switch (outcome.state) {
    case "Done":
      return undefined;
    case "Gone":
      return `WafInstance ${nameKey(instance)} no longer exists.`;
    case "Deleting":
      return `WafInstance ${nameKey(instance)} is being deleted.`;
    case "Failed":
      return outcome.problem;
  }
}
