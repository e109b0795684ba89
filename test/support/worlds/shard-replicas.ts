// Several replicas of the operator that share the shards of some instances, behind a proxy that records their calls to WAFs.
// Their clocks are accelerated, so a Lease expires within seconds.
import { setTimeout as realDelay } from "node:timers/promises";
import { ApiKey } from "../../../src/model/api-key.ts";
import { shardOfKey } from "../../../src/plan/shards/shard-of-key.ts";
import { addresses, rule } from "../builders/manifests.ts";
import type { UnreliableProxy } from "../fakes/unreliable-proxy.ts";
import { startUnreliableProxy } from "../fakes/unreliable-proxy.ts";
import type { OperatorProcess } from "../processes/operator-process.ts";
import type { OperatorWorld, TestWaf } from "./operator-world.ts";
import type { RecordingProxy } from "./recording-proxy.ts";
import { startRecordingProxy } from "./recording-proxy.ts";

/** Without a release: the time until the Lease has expired and the new holder may write, including polling intervals. */
const takeoverMsMax = 60_000;

export interface Replica {
  readonly name: string;
  readonly operator: OperatorProcess;
  /** The proxy between this replica and the API server. */
  readonly network: UnreliableProxy;
}

interface SharedInstance {
  readonly namespace: string;
  readonly waf: TestWaf;
}

export class ShardReplicas {
  readonly proxy: RecordingProxy;
  readonly instances: SharedInstance[] = [];
  readonly #world: OperatorWorld;
  readonly #timesAsFast: number;
  readonly #replicas: Replica[] = [];
  #started = 0;
  #rules = 0;
  #addresses = 0;

  private constructor(world: OperatorWorld, proxy: RecordingProxy, timesAsFast: number) {
    this.#world = world;
    this.proxy = proxy;
    this.#timesAsFast = timesAsFast;
  }

  static async begin(world: OperatorWorld, timesAsFast: number, instances: number): Promise<ShardReplicas> {
    const proxy = await startRecordingProxy(world.simulator.baseUrl);
    const replicas = new ShardReplicas(world, proxy, timesAsFast);
    for (let count = 0; count < instances; count += 1) {
      replicas.instances.push(await world.newInstance("shards", { baseUrl: proxy.url }));
    }
    return replicas;
  }

  get living(): Replica[] {
    return this.#replicas.filter(({ operator }) => operator.isRunning());
  }

  async start(lease: string, shards: number): Promise<Replica> {
    this.#started += 1;
    const name = `wafsync-${this.#started}`;
    const network = await startUnreliableProxy(Number(new URL(this.#world.cluster.url).port));
    const parameters = [lease, String(shards), name];
    const operator = await this.#world.startOperator({
      timesAsFast: this.#timesAsFast,
      parameters,
      port: network.port,
    });
    const replica = { name, operator, network };
    this.#replicas.push(replica);
    return replica;
  }

  /** From the metrics of each running replica, in the order of their start. */
  async shardsHeld(): Promise<number[]> {
    return await Promise.all(
      this.living.map(async ({ operator }) => (await operator.metric("wafsync_shards_held")) ?? Number.NaN),
    );
  }

  /** Waits until the running replicas hold the shards evenly. */
  async evenlyShared(shards: number): Promise<void> {
    const most = Math.ceil(shards / this.living.length);
    const least = Math.floor(shards / this.living.length);
    await this.#world.eventually(`${shards} shards are shared by ${this.living.length} replicas`, async () => {
      const held = await this.shardsHeld();
      const sum = held.reduce((total, count) => total + count, 0);
      return sum === shards && held.every((count) => count >= least && count <= most);
    });
  }

  /** Declares an address for every instance, and waits until it is on every WAF's list. */
  async everyInstanceWorks(): Promise<void> {
    this.#rules += 1;
    const address = `203.0.113.${this.#rules}`;
    for (const { namespace } of this.instances) {
      await this.#world.apply(rule(namespace, `rule-${this.#rules}`, [address]));
    }
    await this.#world.eventually(
      `${address} is blocked everywhere`,
      () => this.instances.every(({ waf }) => waf.view.has("blocklist", address)),
      this.realMs(takeoverMsMax) + 20_000,
    );
  }

  /** How long this takes in real time. */
  realMs(durationMs: number): number {
    return durationMs / this.#timesAsFast;
  }

  async pass(durationMs: number): Promise<void> {
    await realDelay(this.realMs(durationMs));
  }

  async endAll(): Promise<void> {
    await Promise.all(
      this.#replicas.map(async ({ operator, network }) => {
        await operator.end("SIGTERM");
        await network.close();
      }),
    );
    this.#replicas.length = 0;
  }

  /** The replica that last called a WAF of each shard. */
  holders(shards: number): Map<number, string> {
    return new Map(
      this.proxy.calls.map(({ key, replica }) => [shardOfKey(new ApiKey(key).fingerprint(), shards), replica]),
    );
  }

  /** Descriptions of overlapping calls to the same WAF. */
  overlaps(): string[] {
    const seen = this.instances.flatMap(({ waf }) => (waf.view.overlaps === 0 ? [] : [waf.domain]));
    return [...this.proxy.overlaps(), ...seen];
  }

  /** Declares this number of addresses to block on every WAF. */
  async declareMany(count: number): Promise<void> {
    this.#rules += 1;
    this.#addresses += count;
    for (const { namespace } of this.instances) {
      await this.#world.apply(rule(namespace, `many-${this.#rules}`, addresses(count, this.#addresses)));
    }
  }
}
