// What wafsync stores in the cluster: records, the finalizer of instances, status and events. Every write checks for
// permission first, so that a process that has lost its Lease no longer writes. Events are fire-and-forget.
import type { InventoryPort } from "../../model/inventory.ts";
import { apiGroup, instanceFinalizer, apiVersion } from "../../kinds/kinds.ts";
import { type EventDropReason, EventRecorder, type EventNote } from "../../kube/event-recorder.ts";
import { type FinalizerResult, setFinalizer } from "../../kube/finalizer.ts";
import { nameKey, type ObjectName, type ResourceMeta, resourceKey, type ResourceRef } from "../../model/resource.ts";
import { ClusterRecordStore, recordOwnerOf } from "../../records/cluster-record-store.ts";
import { createInventoryRecords, inventoryKey } from "../../records/inventory-records.ts";
import { typeOfKind, type ClusterObject } from "./cluster-object.ts";
import type { ClusterSource } from "./cluster-source.ts";
import type { ClusterAccess, ClusterWatches } from "./cluster-watches.ts";
import { type Condition, withTransitionTimesOf } from "../../kinds/conditions.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { StatusWriter } from "../../kube/status-writer.ts";

const sweepIntervalMs = 60_000;
/** The API server needs a moment after it accepts a CRD. */
const usableDelayMs = 500;
const usableAttemptsMax = 60;
const notAllowed = "This process must not write: it is stopping or does not hold the Lease.";

export interface ClusterRecordsOptions extends ClusterAccess {
  readonly source: Pick<ClusterSource, "objectOf"> & { readonly watches: Pick<ClusterWatches, "gaps"> };
  /** The reporting instance of events. */
  readonly podName: string;
  /** Called immediately before every write. */
  readonly mayWrite: () => boolean;
  /** The same for records. What was done before the process was asked to stop must still be recorded. */
  readonly mayRecord: () => boolean;
  readonly onEventDropped: (reason: EventDropReason) => void;
  /** Called when the inventory of an instance that no longer exists was deleted. */
  readonly onInventoryDeleted: (instance: ObjectName) => void;
}

export class ClusterRecords {
  readonly store: ClusterRecordStore;
  readonly inventory: InventoryPort;
  readonly lifecycle = {
    /** Adds the finalizer. Call it before the first write to the WAF. Returns undefined, or why it could not be added. */
    ensureFinalizer: async (instance: ResourceMeta): Promise<string | undefined> => {
      const object = this.#options.source.objectOf(instance);
      if (object?.metadata.finalizers?.includes(instanceFinalizer) === true) return undefined;
      if (!this.#options.mayWrite()) return notAllowed;
      const name = `WafInstance ${nameKey(instance)}`;
      const { kind, problem } = await this.#setFinalizer(instance, true);
      if (kind === "Gone") return `${name} no longer exists.`;
      return kind === "Deleting" ? `${name} is being deleted.` : problem;
    },
    /** Removes the finalizer. Call it after the last write. Returns undefined, or why it could not be removed. */
    removeFinalizer: async (instance: ResourceMeta): Promise<string | undefined> => {
      if (!this.#options.mayWrite()) return notAllowed;
      // Existing records are kept.
      const problem = await this.store.detach(inventoryKey(instance));
      if (problem !== undefined) return problem;
      return (await this.#setFinalizer(instance, false)).problem;
    },
  };
  readonly status: ClusterStatus;
  readonly #options: ClusterRecordsOptions;
  readonly #events: EventRecorder;

  constructor(options: ClusterRecordsOptions) {
    this.#options = options;
    const { api, clock, random, source, podName, mayWrite, mayRecord, namespace, onEventDropped } = options;
    const objectOf = source.objectOf.bind(source);
    this.store = new ClusterRecordStore({
      api,
      ownerOf: (key) => recordOwnerOf(key, objectOf({ ...key, kind: key.type === "Feed" ? "WafFeed" : "WafInstance" })),
      mayWrite: mayRecord,
      wasUninstalled: () => source.watches.gaps().length > 0,
      namespace,
    });
    this.#events = new EventRecorder({
      api,
      clock,
      random,
      controller: `${apiGroup}/operator`,
      instance: podName,
      onDropped: onEventDropped,
    });
    this.inventory = createInventoryRecords(this.store);
    this.status = new ClusterStatus({ api, objectOf, events: this.#events, mayWrite });
  }

  /** Waits a while until records can be read, or until the signal aborts. Never rejects. */
  async whenUsable(signal: AbortSignal): Promise<void> {
    for (let attempt = 1; attempt < usableAttemptsMax && !signal.aborted; attempt += 1) {
      if (await this.store.isUsable()) return;
      await this.#options.clock.sleep(usableDelayMs, signal);
    }
  }

  /** Deletes inventories whose instance no longer exists, until the signal aborts. Call it with synced caches. Never rejects. */
  async tidyUp(signal: AbortSignal): Promise<void> {
    const { clock, source, mayWrite, onInventoryDeleted } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(sweepIntervalMs, signal);
      // Before the first list and while a CRD is missing, a missing instance may be restored and then needs its inventory.
      if (signal.aborted || !mayWrite() || source.watches.gaps().length > 0) continue;
      for (const instance of await this.store.sweep()) onInventoryDeleted(instance);
    }
  }

  /** Accepts no more events, and waits at most this long until the queued ones are written. */
  async close(flushMs: number): Promise<void> {
    await this.#events.stop(flushMs);
  }

  async #setFinalizer(
    instance: ResourceMeta,
    isWanted: boolean,
  ): Promise<{ readonly kind: FinalizerResult["kind"]; readonly problem?: string }> {
    const object = this.#options.source.objectOf(instance);
    if (object === undefined) return { kind: "Gone" };
    const target = { type: typeOfKind("WafInstance"), object, finalizer: instanceFinalizer };
    const result = await setFinalizer(this.#options.api, target, isWanted);
    if (result.kind === "Failed") {
      const problem = `The finalizer of WafInstance ${nameKey(instance)} could not be changed: ${result.fault.message}`;
      return { kind: result.kind, problem };
    }
    // Otherwise, the first status would be sent for the version before the finalizer, and refused.
    if (result.kind === "Done") this.status.returned(result.object);
    return { kind: result.kind };
  }
}

// Status and events of the custom resources in a cluster. `read` returns the status that was written last, even before the watch
// shows it, so a reconcile run never builds on a status that it has itself replaced. A failed write is a result, not an
// exception: it never fails a reconcile run.

type Status = Readonly<Record<string, unknown>>;

export interface ClusterStatusOptions {
  readonly api: ApiServer;
  /** The object as the watch last saw it. */
  readonly objectOf: (ref: ResourceRef) => ClusterObject | undefined;
  readonly events: Pick<EventRecorder, "record">;
  /** Called before every write and event. */
  readonly mayWrite: () => boolean;
}

export class ClusterStatus {
  readonly #options: ClusterStatusOptions;
  readonly #writer: StatusWriter;

  constructor(options: ClusterStatusOptions) {
    this.#options = options;
    this.#writer = new StatusWriter(options.api);
  }

  /** The current status, as far as this process knows; undefined if there is none. */
  read(meta: ResourceMeta): Status | undefined {
    const stored = this.#stored(meta);
    const status = stored === undefined ? undefined : this.#writer.newest(stored).status;
    return isRecord(status) ? status : undefined;
  }

  /**
   * Writes the status if it differs, and never to another object of the same name. Never rejects.
   * @returns Why it could not be written, in a sentence; undefined if it was, or if the object no longer exists.
   */
  async write(meta: ResourceMeta, status: Status): Promise<string | undefined> {
    return await this.update(meta, () => status);
  }

  /** Like `write` for several writers: computes the status from the current one; undefined leaves it unchanged. */
  async update(meta: ResourceMeta, change: (status: Status) => Status | undefined): Promise<string | undefined> {
    const object = this.#stored(meta);
    if (object === undefined || !this.#options.mayWrite()) return undefined;
    const isBehind = this.#writer.newest(object) !== object;
    const compute = ({ status }: ClusterObject): Status | undefined => {
      const current = isRecord(status) ? status : {};
      const desired = change(current);
      // This process has already reported on a newer version of the object, which it read when the watch lagged.
      if (desired === undefined || (isBehind && generationOf(desired) < generationOf(current))) return undefined;
      // As the API server will store it, so that the comparison is exact.
      return JSON.parse(JSON.stringify(rebased(desired, current))) as Status;
    };
    const result = await this.#writer.write({ type: typeOfKind(meta.kind), object, compute });
    // The watch may have shown the new version before the response.
    this.shown(this.#stored(meta) ?? object);
    if (result.kind !== "Failed") return undefined;
    return `The status of ${resourceKey(meta)} could not be written: ${result.fault.message}`;
  }

  event(
    { kind, namespace, name, uid }: ResourceMeta,
    { type, reason, message }: Pick<EventNote, "type" | "reason" | "message">,
  ): void {
    if (!this.#options.mayWrite()) return;
    this.#options.events.record({ object: { apiVersion, kind, namespace, name, uid }, type, reason, message });
  }

  /** Call this when the watch shows another version of an object: what it shows need not be remembered. */
  shown(object: KubeObject): void {
    this.#writer.newest(object);
  }

  /** Call this after another write has returned a new version of an object. */
  readonly returned = (object: KubeObject): void => this.#writer.returned(object);

  #stored(meta: ResourceMeta): ClusterObject | undefined {
    const object = this.#options.objectOf(meta);
    return object?.metadata.uid === meta.uid ? object : undefined;
  }
}

function generationOf({ observedGeneration }: Status): number {
  return typeof observedGeneration === "number" ? observedGeneration : 0;
}

/** If the watch lags, the status may be derived from an older one: transition times must not change then. */
function rebased(desired: Status, current: Status): Status {
  const [next, before] = [desired["conditions"], current["conditions"]];
  if (!Array.isArray(next) || !Array.isArray(before)) return desired;
  return { ...desired, conditions: withTransitionTimesOf(next as Condition[], before as Condition[]) };
}
