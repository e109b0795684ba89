// The shards of this replica, wired up: the Leases, the agreement on their number, and which instances belong to them.
import type { Clock } from "../async/clock.ts";
import type { ApiServer } from "../kube/api-server.ts";
import type { EventNote } from "../kube/event-aggregate.ts";
import { defaultLeaseTimings, type LeaseTimings } from "../kube/lease-decision.ts";
import { leaseApi } from "../kube/object-apis.ts";
import type { ObjectAddress } from "../kube/resource-path.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { Redactor } from "../model/redactor.ts";
import type { ObjectName } from "../model/resource.ts";
import { shardOfKey } from "../plan/shards/shard-of-key.ts";
import type { ReconcilePorts } from "../reconcile/ports.ts";
import type { ClusterSource } from "../source/cluster/cluster-source.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { HeldShard } from "./held-shard.ts";
import { MovedInstances } from "./moved-instances.ts";
import { ShardAdmission } from "./shard-admission.ts";
import type { ShardLayout } from "./shard-layout.ts";
import { ShardLeases } from "./shard-leases.ts";
import type { Stopping } from "./stopping.ts";

/** What is known before the watches are wired up. */
export interface ShardingOptions {
  readonly shards: number;
  readonly lease: ObjectAddress;
  /** A separate client, so that no other traffic delays a renewal. */
  readonly leaseClient: ApiServer;
  readonly layout: ShardLayout;
  readonly timings?: LeaseTimings;
}

export interface OperatorShardsOptions extends ShardingOptions {
  readonly source: ClusterSource;
  readonly inventory: Pick<ReconcilePorts["inventory"], "load">;
  readonly metrics: Pick<Metrics, "shardsHeld">;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly random: () => number;
  readonly podName: string;
  readonly stopping: Stopping;
  readonly log: Logger;
  /** Emits an event about an object that is not of one of wafsync's kinds. */
  readonly emit: (note: EventNote) => void;
  /** Wakes the instance. */
  readonly wake: (instance: ObjectName, reason: string) => void;
  /** Called when this process no longer works on the instance and must forget everything about it. */
  readonly leave: (instance: ObjectName) => void;
  /** Writes what is buffered for other processes to read. */
  readonly flush: () => Promise<void>;
}

export class OperatorShards {
  readonly leases: ShardLeases;
  readonly admission: ShardAdmission;
  readonly #options: OperatorShardsOptions;

  constructor(options: OperatorShardsOptions) {
    const { shards, source, inventory, clock, redactor, metrics, wake, timings = defaultLeaseTimings } = options;
    this.#options = options;
    const moved = new MovedInstances(clock, (instance) => {
      source.secretRefused(instance);
      wake(instance, "key rotated");
    });
    this.leases = new ShardLeases({
      ...options,
      timings,
      leaseApi: (lease) => leaseApi(options.leaseClient, lease),
      moved: { text: () => moved.text(), see: (shard, text) => moved.see(shard, text) },
      onChange: () => {
        metrics.shardsHeld(this.leases.all().length);
        for (const instance of source.instances()) wake(instance, "shards changed");
      },
      onEvent: (object, reason, message) =>
        options.emit({
          object: { apiVersion: "coordination.k8s.io/v1", kind: "Lease", ...object },
          type: "Normal",
          reason,
          message,
        }),
      onGivenUp: async (held) => await this.#givenUp(held),
    });
    this.admission = new ShardAdmission({
      shards,
      source,
      timings,
      clock,
      held: (shard) => this.leases.held(shard),
      loadInventory: async (instance) => await inventory.load(instance),
      onKey: (instance, key) => redactor.add(key, instance),
      onMoved: (instance) => {
        moved.note(instance);
        options.leave(instance);
      },
    });
  }

  /** For calls that belong to no run. Returns undefined if another process uses the key, or a function to call at the end. */
  async beginCalls({ namespace, name }: ObjectName, key: ApiKey): Promise<(() => void) | undefined> {
    const instance = { namespace, name };
    await this.admission.prepare(instance);
    if (!this.admission.permit(instance, key).permitted) return undefined;
    return this.leases.held(shardOfKey(key.fingerprint(), this.leases.count))?.begin(instance);
  }

  /** Whether this process may write at all: each run and each call checks its own shard as well. */
  mayWrite(): boolean {
    return this.leases.all().some((held) => held.mayWrite());
  }

  mayRecord(): boolean {
    return this.leases.all().some((held) => held.mayRecord());
  }

  async #givenUp(held: HeldShard): Promise<void> {
    const { flush, leave } = this.#options;
    await flush();
    for (const instance of held.admitted()) {
      this.admission.forget(instance);
      leave(instance);
    }
  }
}
