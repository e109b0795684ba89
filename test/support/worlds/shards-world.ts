// Replicas that share shards, with faults that a seed determines. They use the program's code for Leases, admission and
// reading Secrets. Every call is recorded with its start and end in true time. Two calls with the same key or
// for the same instance must not overlap if they come from different replicas.
import { electedLeadership } from "../../../src/app/leadership.ts";
import type { Leadership } from "../../../src/app/leadership.ts";
import { HeldShard } from "../../../src/app/held-shard.ts";
import { MovedInstances } from "../../../src/app/moved-instances.ts";
import { ShardAdmission } from "../../../src/app/shard-admission.ts";
import { ShardLayout } from "../../../src/app/shard-layout.ts";
import { ShardLeases } from "../../../src/app/shard-leases.ts";
import { createStopping } from "../../../src/app/stopping.ts";
import type { StoppingControl } from "../../../src/app/stopping.ts";
import type { ApiRequest, ApiServer } from "../../../src/kube/api-server.ts";
import type { ApiResult } from "../../../src/kube/api-result.ts";
import { defaultLeaseTimings as timings } from "../../../src/kube/lease-decision.ts";
import type { LeaseApi } from "../../../src/kube/lease.ts";
import { ApiKey } from "../../../src/model/api-key.ts";
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import { emptyInventory } from "../../../src/model/inventory.ts";
import type { Inventory, LoadedInventory } from "../../../src/model/inventory.ts";
import type { ObjectName } from "../../../src/model/resource.ts";
import { nameKey } from "../../../src/model/resource.ts";
import { shardOfKey } from "../../../src/plan/shards/shard-of-key.ts";
import { ApiKeys } from "../../../src/source/cluster/api-keys.ts";
import { writeTimeoutMsMax } from "../../../src/waf/client.ts";
import { anInstance } from "../builders/declare.ts";
import { seededRandom } from "../builders/seeded-random.ts";
import { FakeLeaseServer, failed, leaseOver } from "../fakes/fake-lease-server.ts";
import type { Network } from "../fakes/fake-lease-server.ts";
import { SkewedClock, VirtualTime } from "../fakes/virtual-time.ts";

export interface Call {
  readonly replica: string;
  readonly instance: string;
  readonly key: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

const lease = { namespace: "wafsync", name: "operator" };
const callsOfRun = 4;
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

export class ShardsWorld {
  readonly time = new VirtualTime();
  readonly random: () => number;
  readonly calls: Call[] = [];
  readonly replicas: SimulatedReplica[] = [];
  readonly leases = new Map<string, FakeLeaseServer>();
  readonly instances: readonly DeclaredInstance[];
  /** The key in the Secret of each instance, by its name. */
  readonly keys = new Map<string, string>();
  readonly records = new Map<string, { readonly inventory: Inventory; readonly revision: number }>();
  /** The duration of each call by the caller's clock; random if undefined. */
  callMs: number | undefined;
  /** How often a replica reconciles an instance because something about it has changed. */
  changeShare = 0.2;
  #rotations = 0;

  constructor(seed: number, instances = 6) {
    this.random = seededRandom(seed);
    this.instances = Array.from({ length: instances }, (_, index) =>
      anInstance({ name: `edge/waf-${index}`, apiKeySecretRef: { name: `key-${index}`, key: "apiKey" } }),
    );
    for (const { meta } of this.instances) this.rotate(meta);
  }

  between(from: number, to: number): number {
    return from + this.random() * (to - from);
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.random() * items.length)] as T;
  }

  /** Gives the instance a key of the shard. */
  rotateInto(instance: ObjectName, shard: number, shards: number): void {
    do this.rotate(instance);
    while (this.shardOf(instance, shards) !== shard);
  }

  shardOf(instance: ObjectName, shards: number): number {
    return shardOfKey(new ApiKey(this.keys.get(nameKey(instance)) ?? "").fingerprint(), shards);
  }

  rotate(instance: ObjectName): void {
    this.#rotations += 1;
    this.keys.set(nameKey(instance), `key number ${this.#rotations}`.replaceAll(" ", "-"));
  }

  get living(): SimulatedReplica[] {
    return this.replicas.filter(({ isOver }) => !isOver);
  }

  start(shards: number, options: { readonly rate?: number; readonly wallMs?: number } = {}): SimulatedReplica {
    const replica = new SimulatedReplica(this, `pod-${this.replicas.length}`, shards, options);
    this.replicas.push(replica);
    return replica;
  }

  leaseServer(name: string): FakeLeaseServer {
    const server = this.leases.get(name) ?? new FakeLeaseServer();
    this.leases.set(name, server);
    return server;
  }

  /** The first two overlapping calls of different replicas with the same key or for the same instance. */
  overlap(): [Call, Call] | undefined {
    const lasts = new Map<string, Call>();
    for (const call of this.calls) {
      for (const name of [`key ${call.key}`, `instance ${call.instance}`]) {
        const last = lasts.get(name);
        if (last !== undefined && last.replica !== call.replica && call.fromMs < last.untilMs) return [last, call];
        if (last === undefined || call.untilMs > last.untilMs) lasts.set(name, call);
      }
    }
    return undefined;
  }

  /** The instances that were not called since then. */
  idleSince(timeMs: number): string[] {
    const called = new Set(this.calls.flatMap((call) => (call.fromMs >= timeMs ? [call.instance] : [])));
    return [...this.keys.keys()].filter((name) => !called.has(name));
  }
}

export class SimulatedReplica {
  readonly name: string;
  readonly clock: SkewedClock;
  readonly network: Network = { partitioned: false, delayMs: () => 5, losesAnswer: () => false };
  readonly leases: ShardLeases;
  readonly layout: ShardLayout;
  readonly #world: ShardsWorld;
  readonly #stopping: StoppingControl;
  readonly #leadership: Leadership;
  readonly #keys: ApiKeys;
  readonly #admission: ShardAdmission;
  readonly #runs = new Set<Promise<void>>();
  readonly #woken = new Set<string>();
  readonly #rate: number;
  #whole: HeldShard | undefined;
  /** Whether only its reads of Secrets fail. */
  readsNoSecrets = false;
  isOver = false;

  constructor(world: ShardsWorld, name: string, shards: number, { rate = 1, wallMs = 0 }) {
    this.#world = world;
    this.name = name;
    this.#rate = rate;
    const clock = new SkewedClock(world.time, { rate, wallMs });
    this.clock = clock;
    const { random } = world;
    this.#stopping = createStopping(clock);
    this.layout = new ShardLayout({ shards, clock, timings });
    const leaseApi = ({ name: plain }: { readonly name: string }): LeaseApi =>
      leaseOver(world.leaseServer(plain), { time: world.time, clock, network: this.network });
    const common = { clock, random, podName: name, lease, timings, layout: this.layout, log: silent };
    this.#leadership = electedLeadership({ ...common, api: leaseApi(lease), onStanding: () => undefined });
    this.#keys = new ApiKeys({ api: this.#api(), clock, onKey: () => undefined });
    const moved = new MovedInstances(clock, (instance) => {
      this.#keys.refresh(instance);
      this.#woken.add(nameKey(instance));
    });
    this.leases = new ShardLeases({
      ...common,
      shards,
      leaseApi,
      stopping: this.#stopping,
      onChange: () => undefined,
      onEvent: () => undefined,
      onGivenUp: async (held) => held.admitted().forEach((instance) => this.#admission.forget(instance)),
      moved: { text: () => moved.text(), see: (shard, text) => moved.see(shard, text) },
    });
    const declared = (wanted: ObjectName) => world.instances.find(({ meta }) => nameKey(meta) === nameKey(wanted));
    this.#admission = new ShardAdmission({
      shards,
      timings,
      clock,
      held: (shard) => this.#held(shard),
      source: {
        declared,
        readKey: async (instance, ageMsMax) => {
          const found = declared(instance);
          return found && (await this.#keys.read(found, ageMsMax));
        },
        usableKey: (instance) => this.#keys.usable(instance),
      },
      loadInventory: async (instance) => await this.#load(instance),
      onKey: () => undefined,
      onMoved: (instance) => moved.note(instance),
    });
    if (shards > 1) this.leases.begin();
    void this.#leadership.begin();
    void Promise.race([this.leases.lost, this.#leadership.lost]).then(() => this.kill());
    for (const instance of world.instances) void this.#work(instance.meta);
  }

  /** Without sharding, the leader does everything. */
  #held(shard: number): HeldShard | undefined {
    if (this.leases.count > 1) return this.leases.held(shard);
    if (!this.#leadership.mayWrite()) return undefined;
    const elector = this.#leadership;
    this.#whole ??= new HeldShard({
      shard,
      elector,
      isAgreed: () => true,
      clock: this.clock,
      stopping: this.#stopping,
    });
    return this.#whole;
  }

  #mayCall(instance: ObjectName, key: ApiKey): boolean {
    if (this.leases.count === 1) return this.#leadership.mayWrite();
    return this.#admission.permit(instance, key).permitted;
  }

  /** Something about the instance has changed. */
  wake(instance: ObjectName): void {
    this.#woken.add(nameKey(instance));
  }

  /** Like SIGKILL. */
  kill(): void {
    this.isOver = true;
    this.network.partitioned = true;
    this.clock.pause(1e9);
  }

  /** Like SIGTERM. */
  async end(): Promise<void> {
    this.#stopping.begin("SIGTERM");
    const ended = async (): Promise<void> => void (await Promise.all(this.#runs));
    await Promise.all([this.leases.end(ended), this.#leadership.end(ended)]);
    this.isOver = true;
  }

  /** Reconciles one instance in a loop, like the controller: admission, record, and then some calls. */
  async #work({ namespace, name }: ObjectName): Promise<void> {
    const instance = { namespace, name };
    while (!this.isOver && !this.#stopping.stop.aborted) {
      await this.clock.sleep(this.#world.between(100, 4_000));
      const isChanged = this.#woken.delete(nameKey(instance)) || this.#world.random() < this.#world.changeShare;
      const admitted = await this.#admission.admit(instance, isChanged);
      if (admitted.kind !== "Admitted") continue;
      const end = admitted.held.begin(instance);
      const run = this.#run(instance, admitted.held);
      this.#runs.add(run);
      await run;
      this.#runs.delete(run);
      end();
    }
  }

  async #run(instance: ObjectName, held: HeldShard): Promise<void> {
    const stored = await this.#load(instance);
    const key = this.#keys.usable(instance)?.key;
    if (stored.state !== "Loaded" || key === undefined) return;
    const keyMark = key.markFor("waf.example");
    if (stored.inventory.waf?.keyMark !== keyMark && !(await this.#save(instance, keyMark, stored.revision, held)))
      return;
    for (let count = 0; count < callsOfRun && !held.stopping.stop.aborted; count += 1) {
      await this.#admission.prepare(instance);
      await this.clock.whenRunning();
      if (this.isOver || !this.#mayCall(instance, key)) return;
      const fromMs = this.#world.time.nowMs;
      const isLong = this.#world.random() < 0.1;
      const usualMs = isLong ? writeTimeoutMsMax / this.#rate : this.#world.between(5, 400);
      const durationMs = this.#world.callMs ?? usualMs;
      const call = { replica: this.name, instance: nameKey(instance), key: key.reveal() };
      this.#world.calls.push({ ...call, fromMs, untilMs: fromMs + durationMs });
      await this.clock.sleep(durationMs * this.#rate);
    }
  }

  async #load(instance: ObjectName): Promise<LoadedInventory> {
    const { records } = this.#world;
    const read = await this.#exchange(() => records.get(nameKey(instance)));
    if (!read.ok) return { state: "Unreachable", problem: "" };
    const { inventory = emptyInventory, revision = "" } = read.value ?? {};
    return { state: "Loaded", inventory, revision: String(revision) };
  }

  async #save(instance: ObjectName, keyMark: string, revision: string, held: HeldShard): Promise<boolean> {
    if (!held.mayWrite()) return false;
    const { records } = this.#world;
    const saved = await this.#exchange(() => {
      const stored = records.get(nameKey(instance))?.revision;
      if (String(stored ?? "") !== revision) return false;
      const waf = { baseUrl: "https://waf.example", keyMark };
      const inventory = { ...emptyInventory, domain: "waf.example", waf };
      records.set(nameKey(instance), { inventory, revision: (stored ?? 0) + 1 });
      return true;
    });
    return saved.ok && saved.value;
  }

  #api(): ApiServer {
    const request = async ({ path }: ApiRequest): Promise<ApiResult<unknown>> => {
      if (this.readsNoSecrets) return failed("Unavailable");
      return await this.#exchange(() => {
        const { meta } = this.#world.instances.find(({ apiKeySecretRef }) =>
          path.endsWith(`/${apiKeySecretRef.name}`),
        ) as DeclaredInstance;
        const apiKey = Buffer.from(this.#world.keys.get(nameKey(meta)) ?? "").toString("base64");
        return { metadata: { name: "key", uid: "uid", resourceVersion: "1" }, data: { apiKey } };
      });
    };
    return { request } as Pick<ApiServer, "request"> as ApiServer;
  }

  /** The API server's response at one moment, through this replica's network. */
  async #exchange<T>(act: () => T): Promise<ApiResult<T>> {
    const { time } = this.#world;
    await time.sleep(this.network.delayMs());
    if (this.network.partitioned) {
      await this.clock.sleep(10_000);
      return failed("TimedOut");
    }
    const value = act();
    await time.sleep(this.network.delayMs());
    await this.clock.whenRunning();
    return this.network.losesAnswer() ? failed("TimedOut") : { ok: true, value, status: 200 };
  }
}
