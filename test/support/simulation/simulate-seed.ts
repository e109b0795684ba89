// Simulates one installation that a seed determines: active users and processes, faults, crashes, stale views; then a quiet phase, in
// which the declared state must be reached and kept. The same seed always has the same result.
import type { Gathered } from "../../../src/model/gathered.ts";
import { type ListName, listNames } from "../../../src/model/declared.ts";
import type { Entry } from "../../../src/address/entry.ts";
import { isCoveredBy } from "./oracle-networks.ts";
import { aggregates, wantedEntries, wantedOrigins } from "./oracle.ts";
import { anyFault, refusal } from "./sim-faults.ts";
import { watchLagMsMax } from "./sim-cluster.ts";
import type { SimProcess } from "./sim-process.ts";
import { shop, SimUsers } from "./sim-users.ts";
import { spellings } from "./sim-waf.ts";
import { simKey, SimWorld } from "./sim-world.ts";

export interface SeedReport {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  /** The number of events: woken sleepers, and actions of users, networks and processes. */
  readonly steps: number;
  readonly calls: number;
  readonly faults: number;
  readonly kills: number;
  /** The number of times that the clock of a node was set. */
  readonly jumps: number;
  readonly simulatedMs: number;
  /** The pairs of a fault and a step that occurred. */
  readonly pairs: readonly string[];
  readonly processes: number;
  /** The calls to the WAF from the end of all faults until the declared state was reached. */
  readonly callsToSettle: number;
}

const deedsMin = 15;
const deedsMore = 30;
const jumpMsMax = 5 * 3_600_000;
const restartMsMax = 20_000;
/** The duration of a Lease that is not renewed, plus the longest write. */
const takeoverMs = 15_000;
const hourMs = 3_600_000;
/** Rejections count for an hour, and a contested entry is paused for at most four hours. */
const quietMs = 7 * hourMs;
/** After the end of all faults: the reads and verifications of several runs, and at most two calls per entry. */
export const callsToSettleMax = 300;

export async function simulateSeed(seed: number): Promise<SeedReport> {
  const life = new Installation(seed);
  await life.run();
  // The current state: later actions of discarded processes do not count.
  const report = life.report();
  await life.discard();
  return report;
}

class Installation {
  readonly #seed: number;
  readonly #world: SimWorld;
  readonly #hasJumps: boolean;
  readonly #users: SimUsers;
  #process: SimProcess | undefined;
  #faultShare = 0;
  #killShare = 0;
  /** The frequency of stale reads and of writes that take effect late. */
  #staleShare = 0;
  #isQuiet = false;
  #callsToSettle = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#hasJumps = seed % 7 < 3;
    const [isDirectory, hasFeeds] = [seed % 4 === 3, seed % 5 === 1];
    const hasRollouts = seed % 11 < 3 && !isDirectory;
    const hasLogs = seed % 13 < 3 && !isDirectory;
    const hasBlocks = seed % 13 > 1 && seed % 13 < 6 && !isDirectory && !hasLogs;
    const options = { seed, isDirectory, isSlow: true, hasFeeds, hasRollouts, hasLogs, hasBlocks };
    this.#world = new SimWorld(options);
    this.#users = new SimUsers(this.#world);
    const world = this.#world;
    world.waf.spell = spellings[world.pick(spellings.length)] ?? world.waf.spell;
    world.cluster.change({ key: simKey });
    this.#users.createInstance(shop, world.chance(0.5) ? { expectedDomain: undefined } : {});
    world.chooseFault = ({ method, path, parameters }) => {
      if (this.#isQuiet || !world.chance(this.#faultShare)) return undefined;
      const isListWrite = method !== "GET" && path.endsWith("_ip");
      if (isListWrite && world.chance(this.#staleShare)) return { kind: "Late" };
      if (isListWrite && world.chance(0.15)) return refusal;
      const sent = parameters.get("api_key") ?? decodeURIComponent(path.slice("/clear/".length));
      return anyFault(world.random, sent);
    };
    world.chooseStaleness = () => {
      if (this.#isQuiet || !world.chance(this.#staleShare)) return "None";
      return world.chance(0.5) ? "Seconds" : "Write";
    };
    world.kills = () => !this.#isQuiet && world.chance(this.#killShare);
    world.onKilled = () => {
      this.#restartLater(world.pick(restartMsMax));
    };
    world.saveFault = () => {
      if (this.#isQuiet || !world.chance(this.#faultShare / 3)) return undefined;
      world.counts.faults += 1;
      return world.chance(0.5) ? "Conflict" : "Failed";
    };
    world.cluster.onChange = () => this.#deliver();
    world.feeds.onChange = () => this.#deliverFeeds();
  }

  async run(): Promise<void> {
    const world = this.#world;
    this.#process = world.startProcess();
    for (let deeds = deedsMin + world.pick(deedsMore); deeds > 0 && !this.#isBroken(); deeds -= 1) {
      this.#doSomething();
      await world.time.advance(this.#somewhile(), () => this.#isBroken());
    }
    if (!this.#isBroken()) await this.#comeToRest();
  }

  report(): SeedReport {
    const { ledger, trace, time, calls, counts, pairs } = this.#world;
    return {
      seed: this.#seed,
      violations: [...ledger.violations],
      trace: [...trace],
      steps: time.steps + counts.points,
      calls: calls.length,
      faults: counts.faults,
      kills: counts.kills,
      jumps: counts.jumps,
      simulatedMs: time.elapsedMs,
      pairs: [...pairs],
      processes: counts.processes,
      callsToSettle: this.#callsToSettle,
    };
  }

  async discard(): Promise<void> {
    await this.#world.discard();
  }

  #isBroken(): boolean {
    return this.#world.ledger.violations.length > 0;
  }

  #somewhile(): number {
    const world = this.#world;
    const scales = [0, 100, 2_000, 15_000, 60_000, 400_000];
    return world.pick(1 + (scales[world.pick(scales.length)] ?? 0));
  }

  #doSomething(): void {
    const world = this.#world;
    if (world.feeds.isUsed && world.chance(0.3)) return world.feeds.doSomething();
    if (this.#hasJumps && world.chance(0.12)) return this.#setClocks();
    const choice = world.pick(20);
    if (choice < 9) this.#users.declareSomething();
    else if (choice < 12) this.#users.changeByHand();
    else if (choice < 15) this.#changeWeather();
    else if (choice === 15) this.#endProcess();
    else if (choice === 16) this.#users.approve();
    else if (choice === 17) this.#breakPort();
    else if (choice === 18) this.#swapWaf();
    else this.#users.declareBriefly();
  }

  /** Sets the clock of a node to a wrong or to the correct time. */
  #setClocks(): void {
    const world = this.#world;
    const living = world.processes.filter(({ life }) => life.alive);
    const process = living[world.pick(living.length)];
    if (process !== undefined) world.setClock(process, world.chance(0.3) ? 0 : this.#anyOffset());
  }

  #anyOffset(): number {
    const world = this.#world;
    const scales = [20_000, 600_000, hourMs, jumpMsMax];
    const offsetMs = world.pick(scales[world.pick(scales.length)] ?? hourMs);
    return world.chance(0.5) ? offsetMs : -offsetMs;
  }

  /** The frequency of failed calls and killed processes. */
  #changeWeather(): void {
    const world = this.#world;
    this.#faultShare = [0, 0, 0.05, 0.2, 0.6][world.pick(5)] ?? 0;
    this.#killShare = [0, 0, 0.01, 0.05][world.pick(4)] ?? 0;
    this.#staleShare = [0, 0, 0.2, 0.6][world.pick(4)] ?? 0;
    world.note(
      undefined,
      `${this.#faultShare * 100} % of the calls fail, ${this.#killShare * 100} % of the moments kill, ${this.#staleShare * 100} % of the reads are old`,
    );
  }

  /** The first sync determines the domain of an instance; before it, only `expectedDomain` does. */
  #swapWaf(): void {
    const world = this.#world;
    const expected = world.cluster.now.instances.get(shop)?.expectedDomain;
    const isPinned = (world.inventory().domain ?? expected) !== undefined;
    world.isSwapped = !world.isSwapped && isPinned && world.chance(0.5);
    world.note(undefined, `the key belongs to ${world.isSwapped ? "another WAF" : "the WAF"}`);
  }

  #breakPort(): void {
    const { problems } = this.#world;
    const chance = (share: number): boolean => this.#world.chance(share);
    problems.inventory = chance(0.3) ? "The inventory is damaged." : undefined;
    problems.api = chance(0.15) ? "The API server can't be reached." : undefined;
    problems.confirm = chance(0.3) ? "The API server can't be reached." : undefined;
    problems.lifecycle = chance(0.2) ? "The finalizer can't be written." : undefined;
    this.#world.note(undefined, `broken ports: ${Object.values(problems).join(" ")}`);
  }

  /** A process is killed, is asked to stop, or loses the Lease. */
  #endProcess(): void {
    const world = this.#world;
    const process = this.#process;
    if (process === undefined || !process.life.alive) return;
    const choice = world.pick(3);
    world.interrupted(process, ["killed", "asked to stop", "Lease lost"][choice] ?? "killed");
    if (choice === 0) return world.killed(process, "by the system");
    if (choice === 1) {
      world.note(process, "is asked to stop");
      process.stop();
      world.time.after(5_000, () => process.abandon(), process.life);
    } else {
      world.note(process, "loses the Lease");
      process.mayWrite = false;
      process.abandon();
    }
    world.time.after(takeoverMs, () => {
      process.kill();
      this.#restart();
    });
  }

  #restartLater(delayMs: number): void {
    this.#world.time.after(delayMs, () => this.#restart());
  }

  /** Its first list may come from a stale API server. */
  #restart(): void {
    const { cluster } = this.#world;
    if (this.#process?.life.alive === true) return;
    const behind = this.#isQuiet ? 0 : this.#world.pick(3);
    // Usually on the same node.
    const offsetMs = this.#world.chance(0.8) ? (this.#process?.wall.offsetMs ?? 0) : 0;
    const process = this.#world.startProcess(Math.max(1, cluster.latest - behind), this.#hasJumps ? offsetMs : 0);
    this.#process = process;
    this.#world.time.after(
      this.#isQuiet ? 0 : this.#world.pick(5_000),
      () => process.see(cluster.latest),
      process.life,
    );
  }

  /** A change reaches the watch immediately, soon, or after a while. */
  #deliver(): void {
    const world = this.#world;
    const index = world.cluster.latest;
    const process = this.#process;
    if (process === undefined) return;
    const delayMs = this.#isQuiet ? 0 : world.pick([1, 500, watchLagMsMax][world.pick(3)] ?? 1);
    world.time.after(delayMs, () => process.see(index), process.life);
  }

  #deliverFeeds(): void {
    const process = this.#process;
    const delayMs = this.#isQuiet ? 0 : this.#world.pick(watchLagMsMax);
    if (process !== undefined) this.#world.time.after(delayMs, () => process.seeFeeds(), process.life);
  }

  async #comeToRest(): Promise<void> {
    const world = this.#world;
    world.note(undefined, "from here on, all is quiet");
    this.#isQuiet = true;
    world.time.turns = 2;
    world.isSwapped = false;
    Object.assign(world.problems, { inventory: undefined, api: undefined, confirm: undefined, lifecycle: undefined });
    world.logs.settle();
    world.blocks.settle();
    this.#users.settle();
    world.feeds.settle();
    world.rollouts.settle();
    if (world.cluster.now.instances.get(shop)?.meta.deleting === true) await this.#advance(hourMs);
    if (!world.cluster.now.instances.has(shop)) this.#users.createInstance();
    this.#users.settle();
    const before = world.calls.length;
    world.blocks.attackLater();
    await this.#advance(quietMs);
    // Time stands still after a violation: nothing more is reached, and reports of that would only hide the cause.
    if (this.#isBroken()) return;
    this.#callsToSettle = world.calls.length - before;
    if (this.#callsToSettle > callsToSettleMax)
      world.ledger.violation(`It took ${this.#callsToSettle} calls to settle`);
    this.#users.checkOrigins();
    if (!this.#isBroken()) this.#expectDeclared();
    world.logs.expectForwarded();
    world.blocks.expectBlocked();
    if (!this.#isBroken()) await this.#expectQuiet();
  }

  async #advance(delayMs: number): Promise<void> {
    await this.#world.time.advance(delayMs, () => this.#isBroken());
  }

  #expectDeclared(): void {
    const { cluster, waf, ledger } = this.#world;
    const writer = [...cluster.now.instances.values()].toSorted(
      (a, b) => (a.meta.createdAtMs ?? 0) - (b.meta.createdAtMs ?? 0) || (a.meta.name < b.meta.name ? -1 : 1),
    )[0];
    const declared = writer === undefined ? undefined : cluster.gathered(cluster.latest, writer.meta);
    if (declared === undefined) return ledger.violation("There is no instance in the end");
    const gathered = this.#world.feeds.current(declared);
    const known = this.#process?.knows(gathered.instance.meta).gathered;
    const wanted = wantedEntries(this.#world.blocks.extended(gathered, known), this.#wallMs(), ledger.memory);
    // Entries that another instance has left on the WAF and still records belong to that instance.
    const own = this.#world.inventoryOf(gathered.instance.meta);
    const all = this.#world.inventory().entries;
    for (const list of listNames) {
      const isOfOther = (entry: Entry): boolean => !own.entries[list].has(entry) && all[list].has(entry);
      this.#expectList(list, gathered, wanted[list], isOfOther);
    }
    for (const [host, type] of wantedOrigins(gathered)) {
      if (waf.origins.get(host) !== type) ledger.violation(`${host} is not an origin as ${type} in the end`);
    }
    for (const host of waf.origins.keys()) {
      if (ledger.isOurOrigin(host) && !wantedOrigins(gathered).has(host) && own.origins.has(host))
        ledger.violation(`${host} is left in the end`);
    }
    const ready = this.#world.status.condition(gathered.instance.meta, "Ready");
    this.#world.feeds.expectCurrent();
    if (ready !== "True Synced") ledger.violation(`The instance is ${ready ?? "not reported on"} in the end`);
  }

  /** The clock of the process's node determines what has expired. */
  #wallMs(): number {
    return (this.#process?.wall ?? this.#world.time).nowMs();
  }

  #expectList(
    list: ListName,
    gathered: Gathered,
    wanted: ReadonlySet<string>,
    isOfOther: (entry: Entry) => boolean,
  ): void {
    const { waf, ledger } = this.#world;
    const isExclusive = gathered.instance.policies[list] === "Exclusive";
    const isMerging = aggregates(gathered, list);
    const live = waf.entries(list);
    for (const entry of wanted) {
      const isOn = isMerging ? isCoveredBy(entry, live) : live.has(entry as never);
      if (!isOn) ledger.violation(`${entry} is not on the ${list} in the end`);
    }
    for (const entry of live) {
      if (wanted.has(entry) || (isMerging && isCoveredBy(entry, wanted))) continue;
      if (isExclusive) ledger.violation(`${entry} is still on the ${list} in the end, which is Exclusive`);
      else if (ledger.ownersOf(list).get(entry) === "Ours" && !isOfOther(entry))
        ledger.violation(`${entry} is left on the ${list} in the end`);
    }
  }

  /** Each resync makes three reads and no other calls. */
  async #expectQuiet(): Promise<void> {
    const world = this.#world;
    // Automatic blocks must have ended by any clock, because one that is set back before their end begins them again.
    if (this.#hasJumps) await this.#advance(Math.max(0, world.blocks.endMs + jumpMsMax + hourMs - world.time.nowMs()));
    const before = world.calls.length;
    // Nothing else can expire, so setting a clock has no effect.
    if (this.#hasJumps) this.#setClocks();
    await this.#advance(3 * hourMs + hourMs / 2);
    if (this.#isBroken()) return;
    const calls = world.calls.slice(before);
    const writes = calls.filter(({ name }) => !name.startsWith("GET"));
    if (writes.length > 0) world.ledger.violation(`${writes[0]?.name} was called when all was done`);
    // After a clock was set forward, the guards' counts expire, and another read precedes the save of the record without them.
    const moreMax = this.#hasJumps ? 1 : 0;
    if (calls.length > 4 * 3 + moreMax) world.ledger.violation(`${calls.length} calls were made when all was done`);
    if (calls.length < 3 * 3) world.ledger.violation(`Only ${calls.length} calls were made when all was done`);
  }
}
