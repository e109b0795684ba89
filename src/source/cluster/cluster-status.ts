// Status and events of the custom resources in a cluster. `read` returns the status that was written last, even before the watch
// shows it, so a reconcile run never builds on a status that it has itself replaced. A failed write is a result, not an
// exception: it never fails a reconcile run.
import { type Condition, withTransitionTimesOf } from "../../kinds/conditions.ts";
import { apiVersion } from "../../kinds/kinds.ts";
import type { ApiServer } from "../../kube/api-server.ts";
import type { EventNote, EventRecorder } from "../../kube/event-recorder.ts";
import { isRecord, type KubeObject } from "../../kube/kube-object.ts";
import { StatusWriter } from "../../kube/status-writer.ts";
import { resourceKey, type ResourceMeta, type ResourceRef } from "../../model/resource.ts";
import { type ClusterObject, typeOfKind } from "./cluster-object.ts";

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
