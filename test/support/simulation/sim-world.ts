// Everything outside the processes of a simulation: declared state, stored data, the WAF, time and randomness. The ports of
// all processes end here, where faults are injected and the ledger is kept. One seed determines all events.
import { isDeepStrictEqual } from "node:util";
import { readObservedEntry } from "../../../src/address/entry.ts";
import type { ConfirmedGathering, Gathered } from "../../../src/model/gathered.ts";
import {
  emptyInventory,
  type Inventory,
  type LoadedInventory,
  type SavedInventory,
} from "../../../src/model/inventory.ts";
import { nameKey, type ObjectName, resourceKey, type ResourceMeta } from "../../../src/model/resource.ts";
import type { ObjectEvent } from "../../../src/run/ports.ts";
import { below, seededRandom } from "../builders/seeded-random.ts";
import { RecordedStatus } from "../fakes/recorded-status.ts";
import { callMsMax, Ledger } from "./ledger.ts";
import { SimBlocks } from "./sim-blocks.ts";
import { SimCluster, watchLagMsMax } from "./sim-cluster.ts";
import { SimFeeds } from "./sim-feeds.ts";
import { describeFault, describeSaveFault, type SimFault } from "./sim-faults.ts";
import { SimLogs } from "./sim-logs.ts";
import { SimProcess } from "./sim-process.ts";
import { SimRollouts } from "./sim-rollouts.ts";
import { SimTime } from "./sim-time.ts";
import type { SimNetwork } from "./sim-transport.ts";
import { type SimRequest, SimWaf, type Staleness } from "./sim-waf.ts";

/** Contains every character that is encoded anywhere. */
export const simKey = "sim+key/with=odd&chars%20é";

/** How long after its timeout a write may still take effect. */
const lateMsMax = 2_000;

export interface SimOptions {
  readonly seed: number;
  readonly isDirectory?: boolean;
  /** Whether ports take time. */
  readonly isSlow?: boolean;
  readonly hasFeeds?: boolean;
  readonly hasRollouts?: boolean;
  readonly hasLogs?: boolean;
  readonly hasBlocks?: boolean;
}

export interface SimCall {
  readonly name: string;
  readonly atMs: number;
}

export class SimWorld {
  readonly time = new SimTime();
  readonly random: () => number;
  readonly cluster: SimCluster;
  readonly waf = new SimWaf("shop.example", simKey, () => this.time.nowMs());
  /** Another WAF that the key temporarily belongs to. */
  readonly otherWaf = new SimWaf("staging.example", simKey, () => this.time.nowMs());
  readonly ledger: Ledger;
  readonly feeds: SimFeeds;
  readonly rollouts: SimRollouts;
  readonly logs: SimLogs;
  readonly blocks: SimBlocks;
  readonly status = new RecordedStatus();
  readonly trace: string[] = [];
  readonly calls: SimCall[] = [];
  /** Changes of the WAF by wafsync. */
  readonly writes: string[] = [];
  readonly counts = { faults: 0, kills: 0, jumps: 0, points: 0, clears: 0, processes: 0 };
  /** The pairs that occurred: a fault, and the call to the WAF or to a port at which it happened. */
  readonly pairs = new Set<string>();
  processes: SimProcess[] = [];
  /** Origins whose type a person was asked to check. */
  readonly toldToCheck = new Set<string>();
  readonly #everStarted: SimProcess[] = [];
  /** The fault of the next request, if any. */
  chooseFault: (request: SimRequest) => SimFault | undefined = () => undefined;
  /** The age of the list that the next read returns. */
  chooseStaleness: () => Staleness = () => "None";
  /** Whether the process is killed here. */
  kills: (where: string) => boolean = () => false;
  onKilled: () => void = () => undefined;
  readonly problems: Partial<Record<"inventory" | "api" | "confirm" | "lifecycle", string | undefined>> = {};
  saveFault: () => "Conflict" | "Failed" | undefined = () => undefined;
  isSwapped = false;
  /** Successful writes to the other WAF since the key belonged to it. */
  #strayWrites = 0;
  readonly #inventories = new Map<string, { readonly inventory: Inventory; readonly revision: number }>();
  #revision = 0;
  readonly #isSlow: boolean;
  #lastClearMs = 0;

  constructor(options: SimOptions) {
    const { seed, isDirectory = false, isSlow = false } = options;
    const { hasFeeds = false, hasRollouts = false, hasLogs = false, hasBlocks = false } = options;
    this.random = seededRandom(seed);
    this.cluster = new SimCluster(isDirectory, () => this.time.nowMs());
    this.#isSlow = isSlow;
    this.feeds = new SimFeeds(this, hasFeeds);
    this.rollouts = new SimRollouts(this, seed, hasRollouts);
    this.logs = new SimLogs(this, seed, hasLogs);
    this.blocks = new SimBlocks(this, seed, hasBlocks);
    this.ledger = new Ledger(
      this.waf,
      (instance) => (instance === undefined ? this.inventory() : this.inventoryOf(instance)),
      () => this.time.nowMs(),
    );
  }

  pick(count: number): number {
    return below(this.random, count);
  }

  chance(share: number): boolean {
    return this.random() < share;
  }

  /** `wallOffsetMs`: how far the clock of its node is ahead. */
  startProcess(seen = this.cluster.latest, wallOffsetMs = 0): SimProcess {
    this.counts.processes += 1;
    const process = new SimProcess(this, this.counts.processes, seen, wallOffsetMs);
    this.processes = [...this.processes.filter(({ life }) => life.alive), process];
    this.#everStarted.push(process);
    // It may clear for what it sees first, and again for what it sees then.
    for (let count = seen < this.cluster.latest ? 2 : 0; count > 0; count -= 1) this.rollouts.upset();
    this.note(process, "starts");
    return process;
  }

  /** Marks this world as no longer used. */
  async discard(): Promise<void> {
    for (const process of this.#everStarted) process.discard();
    await this.time.settle();
  }

  note(process: SimProcess | undefined, text: string): void {
    const seconds = ((this.time.nowMs() - this.time.startMs) / 1000).toFixed(3);
    this.trace.push(`${seconds.padStart(10)}  ${process === undefined ? "world" : `p${process.id}`}  ${text}`);
  }

  defect(process: SimProcess, what: string): void {
    this.note(process, `DEFECT: ${what}`);
    this.ledger.violation(what);
  }

  /** Records a moment at which the process may be killed. Returns false if it was killed. */
  survives(process: SimProcess, where: string): boolean {
    if (!process.life.alive) return false;
    this.counts.points += 1;
    if (!this.kills(where)) return true;
    this.cover(
      `killed ${where.split(" ")[0] ?? ""}`,
      where.slice(where.indexOf(" ") + 1).replace(/ of [a-z]+$/, " of feed"),
    );
    this.killed(process, where);
    return false;
  }

  killed(process: SimProcess, where: string): void {
    this.note(process, `is killed ${where}`);
    this.counts.kills += 1;
    this.blocks.clockShows(process.wall.nowMs());
    this.rollouts.upset();
    process.kill();
    this.onKilled();
  }

  /** Sets the clock of a node. */
  setClock(process: SimProcess, offsetMs: number): void {
    this.counts.jumps += 1;
    this.interrupted(process, offsetMs > process.wall.offsetMs ? "clock set forward" : "clock set back");
    this.blocks.clockShows(process.wall.nowMs());
    process.wall.set(offsetMs);
    this.note(process, `has a clock that is ${Math.round(offsetMs / 1000)} s ahead`);
  }

  /** An event affects a process, whatever it is currently doing. */
  interrupted(process: SimProcess, how: string): void {
    this.rollouts.upset();
    this.cover(how, process.request ?? "no call");
  }

  cover(fault: string, step: string): void {
    this.pairs.add(`${fault} @ ${step}`);
  }

  async pause(process: SimProcess): Promise<void> {
    const delayMs = this.#isSlow && this.chance(0.3) ? this.pick(200) : 0;
    if (delayMs > 0) await this.time.clockOf(process.life).sleep(delayMs);
    else await Promise.resolve();
  }

  /** For all instances together: at most one of them writes. */
  inventory(): Inventory {
    const stored = [...this.#inventories.values()].map(({ inventory }) => inventory);
    if (stored.length <= 1) return stored[0] ?? emptyInventory;
    return {
      ...emptyInventory,
      refusals: stored.flatMap(({ refusals }) => refusals),
      disputes: stored.flatMap(({ disputes }) => disputes),
      approvals: Math.max(...stored.map(({ approvals }) => approvals)),
      domain: stored.find(({ domain }) => domain !== undefined)?.domain,
      entries: {
        blocklist: new Map(stored.flatMap(({ entries }) => [...entries.blocklist])),
        allowlist: new Map(stored.flatMap(({ entries }) => [...entries.allowlist])),
      },
      origins: new Map(stored.flatMap(({ origins }) => [...origins])),
    };
  }

  /** Of one instance. */
  inventoryOf(instance: ObjectName): Inventory {
    return this.#inventories.get(nameKey(instance))?.inventory ?? emptyInventory;
  }

  confirm(process: SimProcess, instance: ObjectName): ConfirmedGathering {
    const problem = this.problems.confirm ?? this.problems.api;
    if (problem !== undefined) return { state: "Failed", problem };
    const gathered = this.cluster.gathered(this.cluster.latest, instance);
    const atMs = this.time.nowMs();
    const known = { gathered, confirmed: gathered, confirmedAtMs: atMs };
    Object.assign(process.knows(instance), known);
    return { state: "Read", gathered };
  }

  load(instance: ObjectName): LoadedInventory {
    const { inventory: damage, api } = this.problems;
    if (api !== undefined) return { state: "Unreachable", problem: api };
    if (damage !== undefined) return { state: "Unreadable", problem: damage };
    const stored = this.#inventories.get(nameKey(instance));
    if (stored === undefined) return { state: "Loaded", inventory: emptyInventory, revision: "" };
    return { state: "Loaded", inventory: structuredClone(stored.inventory), revision: String(stored.revision) };
  }

  save(process: SimProcess, instance: ObjectName, inventory: Inventory, revision: string): SavedInventory {
    const name = nameKey(instance);
    const stored = this.#inventories.get(name);
    const fault = this.problems.api === undefined ? this.saveFault() : "Failed";
    if (fault !== undefined) this.cover(describeSaveFault(fault), "save");
    if (fault !== undefined) this.rollouts.upset();
    if (fault === "Failed") return { state: "Failed", problem: "The inventory could not be written." };
    if (fault === "Conflict" || revision !== String(stored?.revision ?? "")) {
      return { state: "Conflict", problem: "Another writer changed the inventory." };
    }
    this.#revision += 1;
    const before = stored?.inventory ?? emptyInventory;
    this.#inventories.set(name, { inventory: structuredClone(inventory), revision: this.#revision });
    this.ledger.saved(before, inventory, process.knows(instance), process.wall);
    this.printed(process, describeInventory(inventory));
    this.note(process, `saves the inventory of ${name}: ${describeInventory(inventory)}`);
    return { state: "Saved", revision: String(this.#revision) };
  }

  removeInventory(process: SimProcess, instance: ObjectName): string | undefined {
    const stored = this.#inventories.get(nameKey(instance));
    this.#inventories.delete(nameKey(instance));
    this.note(process, `deletes the inventory of ${nameKey(instance)}`);
    this.rollouts.upset();
    if (stored !== undefined) this.ledger.forgotten(stored.inventory, process.knows(instance));
    return undefined;
  }

  hold(instance: ResourceMeta): string | undefined {
    if (this.problems.lifecycle !== undefined) return this.problems.lifecycle;
    if (!this.cluster.isDirectory && this.cluster.current(instance) !== undefined)
      this.cluster.held.add(nameKey(instance));
    return undefined;
  }

  release(instance: ResourceMeta): string | undefined {
    if (this.problems.lifecycle !== undefined) return this.problems.lifecycle;
    this.status.forget(instance);
    this.cluster.release(nameKey(instance));
    return undefined;
  }

  removeObject(object: ResourceMeta): undefined {
    if (this.cluster.current(object) !== undefined) this.cluster.remove("clears", nameKey(object));
    this.status.forget(object);
  }

  wouldChange(object: ResourceMeta, status: Readonly<Record<string, unknown>>): boolean {
    return !isDeepStrictEqual(this.status.read(object), JSON.parse(JSON.stringify(status)));
  }

  writeStatus(process: SimProcess, object: ResourceMeta, status: Readonly<Record<string, unknown>>): undefined {
    const current = this.cluster.current(object);
    if (current === undefined) return;
    void this.status.write(current, status);
    this.printed(process, JSON.stringify(status));
    for (const fault of this.status.faults.splice(0)) {
      // Messages about broken contracts contain "expected string, received undefined".
      if (!fault.includes("Invalid input: expected")) this.ledger.violation(`Status: ${fault}`);
    }
    this.#judgeClear(object, status);
  }

  event(process: SimProcess, object: ResourceMeta, event: ObjectEvent): void {
    if (event.reason === "AddedUnconfirmed") this.toldToCheck.add(/add origin (\S+)/.exec(event.message)?.[1] ?? "");
    if (event.reason === "EntriesLeftBehind") process.knows(object).saidLeftBehind = true;
    this.note(process, `event on ${resourceKey(object)}: ${event.reason}: ${event.message}`);
    this.printed(process, JSON.stringify(event));
  }

  /** Searches all output of wafsync for the key. */
  printed(process: SimProcess, text: string): void {
    for (const key of this.cluster.keys) {
      const spelt = [key, encodeURIComponent(key), new URLSearchParams({ key }).toString().slice("key=".length)];
      if (spelt.some((spelling) => text.includes(spelling)))
        this.defect(process, `The API key is in an output: ${text}`);
    }
  }

  networkOf(process: SimProcess): SimNetwork {
    /** Of the current call. */
    let isClearLost = false;
    return {
      latencyMs: () => (this.#isSlow ? 1 + this.pick(300) : 1),
      after: (delayMs, act) => this.time.after(delayMs, act, process.life),
      faultOf: (request) => {
        const fault = this.chooseFault(request);
        if (fault !== undefined) {
          this.counts.faults += 1;
          if (request.path.startsWith("/clear/")) isClearLost = true;
          this.cover(describeFault(fault), stepOf(request));
          this.note(process, `${describeRequest(request)} meets a fault: ${describeFault(fault)}`);
        }
        return fault;
      },
      serve: (request) => this.#serve(process, request),
      delay: (request) => this.#delay(process, request),
      begun: (request) => this.#begun(process, request),
      ended: (request, how) => {
        process.inFlight = Math.max(0, process.inFlight - 1);
        process.request = undefined;
        if (request.path.startsWith("/clear/") && (isClearLost || how !== "200")) this.rollouts.upset();
        isClearLost = false;
        this.note(process, `${describeRequest(request)} → ${how}`);
      },
      survives: (where) => this.survives(process, where),
    };
  }

  #begun(process: SimProcess, request: SimRequest): void {
    if (!this.logs.isLogCall(request)) this.calls.push({ name: describeRequest(request), atMs: this.time.nowMs() });
    // Also after a rotation: both keys belong to the same WAF.
    if (this.processes.some(({ inFlight }) => inFlight > 0))
      this.ledger.violation(`${describeRequest(request)} was sent while another request was in progress`);
    process.inFlight += 1;
    process.request = stepOf(request);
    if (request.path === "/api/origins" && request.method === "GET") this.#strayWrites = 0;
  }

  #serve(process: SimProcess, request: SimRequest) {
    if (this.logs.isLogCall(request)) return this.logs.serve(request, this.waf.key, this.isSwapped);
    if (this.isSwapped) return this.#serveElsewhere(request);
    const knowledge = process.knowledge.get(process.caller);
    const list = request.path.includes("blocklist") ? "blocklist" : "allowlist";
    const isListRead = request.method === "GET" && request.path !== "/api/origins";
    const staleness = isListRead ? this.chooseStaleness() : "None";
    const shown = this.waf.shown(list, staleness);
    if (isListRead && shown !== this.waf.lists[list]) {
      this.cover(staleness === "Write" ? "old by a write" : "old by seconds", stepOf(request));
      this.note(process, `is shown an old ${list}: ${shown.join(" ")}`);
    }
    const answer = this.waf.serve(
      request,
      (change) => {
        if (change.kind === "CacheCleared") {
          this.counts.clears += 1;
          this.#lastClearMs = this.time.nowMs();
          this.rollouts.cleared(process);
        }
        if (!process.mayWrite) this.ledger.violation(`${describeRequest(request)} by a process without the Lease`);
        this.writes.push(describeRequest(request));
        this.ledger.changedByUs(change, process.caller, knowledge, {
          declared: this.#declaredFor(process),
          wall: process.wall,
        });
      },
      staleness,
    );
    if (isListRead && knowledge !== undefined) knowledge.seen[list] = new Set(shown.map(readObservedEntry));
    return answer;
  }

  /** The states that a process may act on: those since its call started, as its watch shows them, but never from before its start. */
  #declaredFor(process: SimProcess): readonly Gathered[] {
    const [namespace = "", name = ""] = process.caller.split("/");
    const sinceMs = Math.max(process.startedMs, this.time.nowMs() - watchLagMsMax - callMsMax);
    const declared = this.cluster.declaredSince(sinceMs, { namespace, name });
    const known = process.knowledge.get(process.caller)?.gathered;
    return declared
      .map((gathered) => this.blocks.extended(gathered, known))
      .flatMap((gathered) => this.feeds.extended(gathered, process));
  }

  /** A write to the lists whose result no process receives. */
  #delay(process: SimProcess, request: SimRequest): () => void {
    const sentAtMs = this.time.nowMs();
    const letGo = (): void => {
      if (!process.delayed.delete(letGo)) return;
      this.time.after(this.pick(lateMsMax), () => {
        this.note(undefined, `${describeRequest(request)} takes effect late`);
        this.waf.serve(request, (change) => this.ledger.changedLate(change, sentAtMs));
      });
    };
    process.delayed.add(letGo);
    return letGo;
  }

  /** One write may reach the other WAF before the response shows its domain. */
  #serveElsewhere(request: SimRequest) {
    const answer = this.otherWaf.serve(request, () => undefined);
    if (request.method === "GET" || answer.status !== 200) return answer;
    this.#strayWrites += 1;
    if (this.#strayWrites > 4) this.ledger.violation(`${describeRequest(request)} went to the WAF of another domain`);
    return answer;
  }

  /** A completed clear was made after its request. */
  #judgeClear({ kind, namespace, name }: ResourceMeta, status: Readonly<Record<string, unknown>>): void {
    if (kind !== "WafCacheClear") return;
    const conditions = (status["conditions"] ?? []) as readonly { readonly type: string; readonly status: string }[];
    const isComplete = conditions.some((condition) => condition.type === "Complete" && condition.status === "True");
    if (isComplete && this.#lastClearMs === 0)
      this.ledger.violation(`${namespace}/${name} is complete, and no call was made`);
  }
}

/** Without what varies. */
function stepOf({ method, path }: SimRequest): string {
  return `${method} ${path.startsWith("/clear/") ? "/clear" : path}`;
}

export function describeRequest({ method, path, parameters }: SimRequest): string {
  const what = [parameters.get("ip"), parameters.get("origin"), parameters.get("origin_type")].filter(
    (part) => part !== null,
  );
  return [method, path.startsWith("/clear/") ? "/clear" : path, ...what].join(" ");
}

function describeInventory({ entries, origins }: Inventory): string {
  const hosts = [...origins].map(
    ([host, { type, addedAtMs }]) => `${host} ${type}${addedAtMs === undefined ? "?" : ""}`,
  );
  return `blocklist [${[...entries.blocklist.keys()].join(" ")}] allowlist [${[...entries.allowlist.keys()].join(" ")}] origins [${hosts.join(" ")}]`;
}
