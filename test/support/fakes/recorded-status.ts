// Statuses and events in memory. Every written status is checked against the rules for all statuses; violations are recorded.
import { isDeepStrictEqual } from "node:util";
import { type Condition, detailOf } from "../../../src/kinds/conditions.ts";
import type { ConditionType } from "../../../src/kinds/reasons.ts";
import { resourceKey, type ResourceMeta } from "../../../src/model/resource.ts";
import type { ObjectEvent, StatusPort } from "../../../src/run/ports.ts";
import { statusFaults } from "../worlds/conformance.ts";

export interface RecordedEvent extends ObjectEvent {
  /** `WafIpRule namespace/name`. */
  readonly object: string;
}

type Status = Readonly<Record<string, unknown>>;

export class RecordedStatus implements StatusPort {
  readonly #statuses = new Map<string, Status>();
  readonly events: RecordedEvent[] = [];
  /** Every write that changed something, oldest first. */
  readonly writes: { readonly object: string; readonly status: Status }[] = [];
  /** The violations in the written statuses. */
  readonly faults: string[] = [];

  read(object: ResourceMeta): Status | undefined {
    return this.#statuses.get(resourceKey(object));
  }

  async write(object: ResourceMeta, status: Status): Promise<void> {
    await Promise.resolve();
    const key = resourceKey(object);
    const before = this.#statuses.get(key);
    // Like the API server, this removes undefined fields.
    const after = JSON.parse(JSON.stringify(status)) as Status;
    if (isDeepStrictEqual(before, after)) return;
    this.#statuses.set(key, after);
    this.writes.push({ object: key, status: after });
    for (const fault of statusFaults(object, before, after)) this.faults.push(`${key}: ${fault}`);
  }

  /** The object was deleted, and its status with it. */
  forget(object: ResourceMeta): void {
    this.#statuses.delete(resourceKey(object));
  }

  event(object: ResourceMeta, event: ObjectEvent): void {
    this.events.push({ object: resourceKey(object), ...event });
  }

  /** `reason` of every event, in order. */
  eventReasons(): string[] {
    return this.events.map(({ reason }) => reason);
  }

  /** The status and the reason of a condition, such as `True Synced` or `False Held`; undefined if it does not exist. */
  condition(object: ResourceMeta, type: string): string | undefined {
    const found = this.conditionOf(object, type);
    return found === undefined ? undefined : `${found.status} ${found.reason}`;
  }

  /** The details about a condition, which another one may carry. */
  message(object: ResourceMeta, type: ConditionType): string {
    return detailOf((this.read(object)?.["conditions"] ?? []) as readonly Condition[], type) ?? "";
  }

  conditionOf(object: ResourceMeta, type: string): Condition | undefined {
    const conditions = (this.read(object)?.["conditions"] ?? []) as readonly Condition[];
    return conditions.find((condition) => condition.type === type);
  }
}
