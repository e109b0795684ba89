// One process of a simulation: the real controller with its queue, the real client with its lanes, and ports to the
// simulated world. The process may be killed before and after every call of a port: then it never continues.
import { CacheClears } from "../../../src/clears/clears.ts";
import { InstanceController } from "../../../src/app/controller.ts";
import type { LogController } from "../../../src/app/log-controller.ts";
import type { Clock } from "../../../src/async/clock.ts";
import type { ApiKey } from "../../../src/model/api-key.ts";
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../../../src/model/resource.ts";
import { BlockBook } from "../../../src/blocks/block-book.ts";
import { withAutoBlocks } from "../../../src/blocks/block-rules.ts";
import { blockStatusFrom } from "../../../src/blocks/block-status.ts";
import { Feeds } from "../../../src/feeds/feeds.ts";
import { withFeeds } from "../../../src/feeds/feed-source.ts";
import type { ReconcileObserver, ReconcilePorts, SourcePort, StatusPort } from "../../../src/run/ports.ts";
import { createWafClient, type Permission, type WafClient } from "../../../src/waf/client.ts";
import { type HeldLane, LaneRegistry } from "../../../src/waf/lane.ts";
import type { Knowledge } from "./ledger.ts";
import { logForwarder } from "./sim-log-forwarder.ts";
import { type Life, SimWall } from "./sim-time.ts";
import { simTransport } from "./sim-transport.ts";
import type { SimWorld } from "./sim-world.ts";

interface Opened {
  readonly identity: string;
  readonly lane: HeldLane;
  readonly port: WafClient;
}

export class SimProcess {
  readonly id: number;
  readonly life: Life = { alive: true };
  readonly knowledge = new Map<string, Knowledge>();
  mayWrite = true;
  /** The position of its watch in the history of the declared state. */
  seen: number;
  /** The number of requests in progress. */
  inFlight = 0;
  /** The one that began last, and is not over. */
  request: string | undefined;
  /** The clock of its node. */
  readonly wall: SimWall;
  /** Writes in transit that take effect late. */
  readonly delayed = new Set<() => void>();
  readonly startedMs: number;
  /** Whose call runs in the lane. */
  caller = "";
  readonly #world: SimWorld;
  readonly #stopping = new AbortController();
  readonly #abandon = new AbortController();
  readonly #lanes: LaneRegistry;
  readonly #opened = new Map<string, Opened>();
  readonly #controller: InstanceController;
  readonly #feeds: Feeds;
  readonly #blocks: BlockBook;
  readonly #logs: LogController;
  ended = false;

  constructor(world: SimWorld, id: number, seen: number, wallOffsetMs: number) {
    this.#world = world;
    this.id = id;
    this.seen = seen;
    this.startedMs = world.time.nowMs();
    this.wall = new SimWall(world.time, wallOffsetMs);
    const clock = this.#clock();
    this.#lanes = new LaneRegistry({ clock, open: () => simTransport(world.networkOf(this)) });
    this.#feeds = this.#makeFeeds();
    this.#blocks = new BlockBook({
      records: {
        load: async (instance) => await this.#call("loadLogs", () => world.logs.peek(instance as ResourceMeta)),
      },
      clock,
      onChange: (instance) => this.#controller.wake(instance, "automatic blocks changed"),
    });
    this.#logs = logForwarder(world, this, {
      clock,
      call: async (where, effect) => await this.#call(where, effect),
      open: (instance, key) => this.#open(instance, key),
      isPermitted: () => this.#permission().permitted,
      book: this.#blocks,
      stopping: this.#stopping.signal,
    });
    const ports = this.#ports();
    this.#controller = new InstanceController({
      startRun: (instance) => {
        return {
          ports,
          onOutcome: ({ result, facts }) => {
            world.note(this, `run of ${nameKey(instance)} ended: ${JSON.stringify(result)}`);
            if (result.kind === "Gone") this.#blocks.forget(instance);
            if (facts !== undefined) world.ledger.reported(facts, this.wall);
          },
          onError: (error) => world.defect(this, `A run of ${nameKey(instance)} threw ${describeError(error)}`),
        };
      },
      version: (instance) => ports.source.version(instance),
      clock,
      random: world.random,
      workers: 4,
    });
    for (const name of world.cluster.at(seen).instances.keys()) this.#wake(name, "start");
    void this.#run().then(() => (this.ended = true));
  }

  /** As the operator does it: what feeds said last is known before the first run. */
  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    if (this.#world.feeds.isUsed) {
      await this.#feeds.load();
      void this.#feeds.run(signal, () => {
        for (const name of this.#world.cluster.at(this.seen).instances.keys()) this.#wake(name, "feeds changed");
      });
    }
    if (this.#world.logs.isUsed || this.#world.blocks.isUsed) void this.#logs.run(signal);
    await this.#controller.run(signal);
  }

  /** What is declared of feeds may have changed. */
  seeFeeds(): void {
    this.#feeds.wake();
  }

  /** Advances the watch to this position. */
  see(index: number): void {
    if (index <= this.seen) return;
    const names = new Set([
      ...this.#world.cluster.at(this.seen).instances.keys(),
      ...this.#world.cluster.at(index).instances.keys(),
    ]);
    this.seen = index;
    for (const name of names) this.#wake(name, "change");
  }

  /** Asks the process to end: it starts no new call. */
  stop(): void {
    this.#stopping.abort();
  }

  /** The current call is also aborted. */
  abandon(): void {
    this.#stopping.abort();
    this.#abandon.abort();
  }

  kill(): void {
    this.life.alive = false;
    this.inFlight = 0;
    for (const letGo of this.delayed) letGo();
  }

  /**
   * At the end of a simulation. Node.js keeps every composite signal that has a listener until it is aborted, and with it the
   * whole world of a process that never continues.
   */
  discard(): void {
    this.kill();
    this.abandon();
    // A lane that waits before its next call also has such a signal.
    void this.#lanes.close();
  }

  knows(instance: ObjectName): Knowledge {
    const name = nameKey(instance);
    const known = this.knowledge.get(name) ?? { seen: {} };
    this.knowledge.set(name, known);
    return known;
  }

  #wake(name: string, reason: string): void {
    this.#controller.wake(parsed(name), reason);
    this.#logs.wake(parsed(name), reason);
  }

  /** A call of a port. A process that is killed during the call never learns its result. */
  async #call<T>(where: string, effect: () => T): Promise<T> {
    if (!this.#world.survives(this, `before ${where}`)) return await forever();
    await this.#world.pause(this);
    const value = effect();
    if (!this.#world.survives(this, `after ${where}`)) return await forever();
    return value;
  }

  #ports(): ReconcilePorts {
    const world = this.#world;
    return {
      baseUrlObjection: () => undefined,
      source: this.#source(),
      inventory: {
        load: async (instance) => await this.#call("load", () => world.load(instance)),
        save: async (instance, inventory, revision) =>
          await this.#call("save", () => world.save(this, instance, inventory, revision)),
        remove: async (instance) => await this.#call("remove", () => world.removeInventory(this, instance)),
      },
      lifecycle: {
        ensureFinalizer: async (instance) => await this.#call("hold", () => world.hold(instance)),
        removeFinalizer: async (instance) => await this.#call("release", () => world.release(instance)),
      },
      openWaf: (instance, key) => this.#open(instance, key),
      newHooks: () => new CacheClears(),
      status: this.#status(),
      statusOf: blockStatusFrom(this.#blocks),
      clock: this.#clock(),
      random: world.random,
      observer: this.#observer(),
      stopping: this.#stopping.signal,
      abandon: this.#abandon.signal,
    };
  }

  /** What a run gets is what is known of the declared state, entries of feeds included. */
  #source(): SourcePort {
    const world = this.#world;
    const fed = withAutoBlocks(
      withFeeds(
        {
          gather: async (instance) => await this.#call("gather", () => world.cluster.gathered(this.seen, instance)),
          confirm: async (instance) => await this.#call("confirm", () => world.confirm(this, instance)),
          version: () => this.seen + this.#feeds.version(),
          removeObject: async (object) => await this.#call("removeObject", () => world.removeObject(object)),
        },
        (feed) => this.#feeds.view(feed),
      ),
      this.#blocks,
    );
    return {
      ...fed,
      gather: async (instance) => {
        const gathered = world.rollouts.extended(this, await fed.gather(instance));
        world.feeds.judgeUse(this, gathered);
        Object.assign(this.knows(instance), { gathered });
        return gathered;
      },
      confirm: async (instance, options) => {
        const confirmed = await fed.confirm(instance, options);
        if (confirmed.state === "Failed") return confirmed;
        const gathered = world.rollouts.extended(this, confirmed.gathered);
        world.feeds.judgeUse(this, gathered);
        Object.assign(this.knows(instance), { gathered, confirmed: gathered });
        return { ...confirmed, gathered };
      },
    };
  }

  #makeFeeds(): Feeds {
    const { feeds, random } = this.#world;
    return new Feeds({
      feeds: () => ({ used: feeds.declared(), unused: [] }),
      store: {
        load: async (feed) => await this.#call(`load of ${feed.name}`, () => feeds.load(this, feed)),
        save: async (feed, state) => await this.#call(`save of ${feed.name}`, () => feeds.save(this, feed, state)),
      },
      fetch: async (feed, _, signal) => {
        const { delayMs, answer } = await this.#call(`fetch of ${feed.meta.name}`, () => feeds.ask(this, feed));
        await this.#clock().sleep(delayMs, signal);
        return await answer;
      },
      status: feeds.status,
      clock: this.#clock(),
      random,
    });
  }

  #status(): StatusPort {
    const world = this.#world;
    return {
      read: (object) => world.status.read(object),
      write: async (object, status) => {
        if (!world.wouldChange(object, status)) return;
        await this.#call(`status of ${object.kind}`, () => world.writeStatus(this, object, status));
      },
      event: (object, event) => {
        if (this.life.alive) world.event(this, object, event);
      },
    };
  }

  #observer(): ReconcileObserver {
    const say = (text: string): void => this.#world.printed(this, text);
    return {
      operationDone: (_, operation) => say(JSON.stringify(operation)),
      waiting: (_, why) => say(why),
      failed: (_, fault) => say(JSON.stringify(fault)),
    };
  }

  #clock(): Clock {
    return this.#world.time.clockOf(this.life, this.wall);
  }

  #permission(): Permission {
    return this.mayWrite ? { permitted: true } : { permitted: false, reason: "The Lease is lost." };
  }

  /** Like the program: one client for each instance, and one lane for each key. */
  #open(instance: DeclaredInstance, key: ApiKey): WafClient {
    const name = nameKey(instance.meta);
    const identity = `${instance.baseUrl} ${key.fingerprint()}`;
    const before = this.#opened.get(name);
    if (before?.identity === identity) {
      before.lane.pace(instance.minRequestIntervalMs);
      return before.port;
    }
    const { baseUrl, minRequestIntervalMs, requestTimeoutMs } = instance;
    const after = before?.lane.release();
    const held = this.#lanes.acquire({ baseUrl, key, minRequestIntervalMs, after });
    const lane: HeldLane = {
      run: async (turn, act) =>
        await held.run(turn, async (connection) => {
          this.caller = name;
          return await act(connection);
        }),
      pauseUntil: (timeMs) => held.pauseUntil(timeMs),
      pace: (intervalMs) => held.pace(intervalMs),
      release: async () => await held.release(),
    };
    const port = createWafClient({
      baseUrl,
      key,
      requestTimeoutMs,
      lane,
      clock: this.#clock(),
      permit: (effect) => (effect === "Read" ? { permitted: true } : this.#permission()),
    });
    this.#opened.set(name, { identity, lane, port });
    return port;
  }
}

function parsed(name: string): ObjectName {
  const [namespace = "", plain = ""] = name.split("/");
  return { namespace, name: plain };
}

/** A promise for each that waits: one for all would keep every process that was ever killed. */
async function forever(): Promise<never> {
  return await new Promise<never>(() => undefined);
}

function describeError(error: unknown): string {
  return Error.isError(error) ? (error.stack ?? error.message) : String(error);
}
