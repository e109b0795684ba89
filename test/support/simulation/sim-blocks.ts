// The WafAutoBlocks of a simulation, and the clients that send blocked requests. The log of these requests is unreliable in every way
// that is not wafsync's fault: rows and pages come twice, rows of other days come, rows are completed later, and the clock of the node
// is ahead for a while. An oracle that knows all requests judges every listing when it is recorded.
import type { DeclaredAutoBlock } from "../../../src/model/declared.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import type { PublishedJudgements } from "../../../src/blocks/judge.ts";
import { below, seededRandom } from "../builders/seeded-random.ts";
import { allowing } from "../builders/declare.ts";
import { anAutoBlock } from "../builders/declare-auto-block.ts";
import { anEntry } from "../builders/log-entry.ts";
import { BlockOracle, type SentRequest } from "./block-oracle.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimWorld } from "./sim-world.ts";

const blockName = "edge/attackers";
/** No other rule declares them, and no two of them are neighbors. */
const clients = ["198.51.100.130", "198.51.100.135", "198.51.100.140", "2001:db8:77::5"] as const;
/** Sends requests only in the end. */
const lastClient = "198.51.100.150";
const threshold = 5;
const windowMs = 600_000;
const ttlMs = 5_400_000;
const maxTtlMs = 10_800_000;
const burstMsMax = 90_000;
/** The clock is ahead for a read or two. */
const aheadMsMax = 300_000;
/** Without faults, a run over the log takes less. */
const runMsMax = 900_000;
const aheadByMs = [600_000, 3 * 3_600_000, 4 * 86_400_000];

/** A row of the log, and when it is completed. */
export interface BlockedRequest extends SentRequest {
  readonly entry: LogEntry;
  readonly completeAtMs: number;
}

export class SimBlocks {
  readonly isUsed: boolean;
  readonly #world: SimWorld;
  readonly #random: () => number;
  readonly #pick = (count: number): number => below(this.#random, count);
  readonly #oracles = new Map<string, BlockOracle>();
  readonly requests: BlockedRequest[] = [];
  /** Sets clocks that are ahead right. */
  readonly #ahead = new Set<() => void>();
  #uid = 0;
  #isQuiet = false;

  constructor(world: SimWorld, seed: number, isUsed: boolean) {
    this.#world = world;
    this.isUsed = isUsed;
    this.#random = seededRandom(seed ^ 0xb1_0c);
    if (isUsed) this.#later();
  }

  /** Users, clients and clocks. */
  #later(): void {
    this.#world.time.after(1 + this.#pick(burstMsMax), () => {
      if (this.#isQuiet) return;
      const choice = this.#pick(12);
      if (choice < 7) this.#attack(clients[this.#pick(clients.length)] ?? lastClient, 1 + this.#pick(threshold + 2));
      else if (choice < 9) this.#edit();
      else if (choice === 9) this.#allow();
      else this.#setAhead();
      this.#later();
    });
  }

  #attack(client: string, count: number): void {
    const { time } = this.#world;
    this.#world.note(undefined, `${client} sends ${count} blocked requests`);
    const isLate = this.#random() < 0.2;
    for (let index = 0; index < count; index += 1) {
      const atMs = time.nowMs() - this.#pick(this.#random() < 0.8 ? windowMs / 2 : 4 * windowMs);
      // The same request may be sent twice.
      const previous = this.requests.at(-1);
      const isEqual = previous?.client === client && this.#random() < 0.1;
      const isMatching = isEqual ? previous.isMatching : this.#random() < 0.8;
      const visibleAtMs = time.nowMs() + (isLate ? this.#pick(windowMs) : this.#pick(1_000));
      const entry = anEntry({
        timestamp: new Date(atMs).toISOString(),
        client_ip: client,
        request_path: `/blocked-${this.requests.length}`,
        block_reason: isMatching ? "SQL Injection 942100" : "XSS 941100",
      });
      const completeAtMs = visibleAtMs + this.#pick(2) * this.#pick(windowMs);
      if (isEqual) this.requests.push({ ...previous, visibleAtMs });
      else this.requests.push({ client, atMs, visibleAtMs, isMatching, entry, completeAtMs });
    }
  }

  /** Users create, change, suspend and delete the WafAutoBlock. */
  #edit(change: Partial<DeclaredAutoBlock> = {}): void {
    const { cluster } = this.#world;
    const before = cluster.now.autoBlocks.get(blockName);
    if (before !== undefined && this.#random() < 0.15 && !this.#isQuiet) {
      this.#world.status.forget(before.meta);
      return cluster.remove("autoBlocks", blockName);
    }
    if (before === undefined) this.#uid += 1;
    const settings = {
      mode: this.#random() < 0.2 ? "Suggest" : "Enforce",
      suspend: this.#random() < 0.1,
      exempt: this.#random() < 0.3 ? ["198.51.100.128/28"] : [],
      ...change,
    } as const;
    const fixed = { threshold, windowMs, ttlMs, maxTtlMs, repeatFactor: 2, match: { reasons: ["SQL"] } };
    const meta = {
      ...(before?.meta ?? { createdAtMs: this.#world.time.nowMs(), uid: `uid-block-${this.#uid}` }),
      generation: (before?.meta.generation ?? 0) + 1,
    };
    cluster.put("autoBlocks", anAutoBlock({ name: "attackers", ...fixed, ...settings, meta }));
    this.#world.note(undefined, `${blockName}: ${JSON.stringify(settings)}`);
  }

  /** A person allows a client, or takes this back. */
  #allow(): void {
    const { cluster, time } = this.#world;
    if (cluster.now.rules.has("edge/friend")) return cluster.remove("rules", "edge/friend");
    this.#uid += 1;
    const meta = { uid: `uid-friend-${this.#uid}`, createdAtMs: time.nowMs() };
    cluster.put("rules", allowing("friend", [clients[this.#pick(clients.length)] ?? lastClient], { meta }));
    this.#world.note(undefined, "a client is allowed");
  }

  /** When the last entry ends. */
  get endMs(): number {
    return Math.max(0, ...[...this.#oracles.values()].map(({ endMs }) => endMs));
  }

  /** The clock of a process shows this time, perhaps for the last time before it is set. */
  clockShows(wallMs: number): void {
    for (const oracle of this.#oracles.values()) oracle.clockShows(wallMs);
  }

  #setAhead(): void {
    const world = this.#world;
    if (this.#ahead.size > 0) return;
    const aheadMs = aheadByMs[this.#pick(aheadByMs.length)] ?? 0;
    for (const process of world.processes.filter(({ life }) => life.alive)) {
      const { offsetMs } = process.wall;
      world.setClock(process, offsetMs + aheadMs);
      const setRight = (): void => {
        if (this.#ahead.delete(setRight)) world.setClock(process, offsetMs);
      };
      this.#ahead.add(setRight);
      world.time.after(1 + this.#pick(aheadMsMax), setRight, process.life);
    }
  }

  /** The rows that a query for the day returns, and the total. Rows of other days, and doubled ones, are not counted. */
  rowsOf(isOfDay: (atMs: number) => boolean): { readonly rows: readonly LogEntry[]; readonly total: number } {
    const nowMs = this.#world.time.nowMs();
    const shown = this.requests.filter(({ visibleAtMs }) => visibleAtMs <= nowMs);
    const asShown = ({ entry, completeAtMs }: BlockedRequest): LogEntry =>
      completeAtMs <= nowMs
        ? { ...entry, timestamp: entry.timestamp.replace("Z", "+00:00"), response_size: 512 }
        : { ...entry, country: null, response_size: 0 };
    const rows = shown.filter(({ atMs }) => isOfDay(atMs)).map(asShown);
    if (this.#isQuiet) return { rows, total: rows.length };
    const choice = this.#pick(20);
    if (choice === 0) return { rows: rows.flatMap((row) => [row, row]), total: rows.length };
    if (choice === 1) return { rows: [...rows, ...rows.slice(0, 10)], total: rows.length };
    if (choice === 2) return { rows: shown.map(asShown), total: shown.length };
    if (choice === 3) return { rows: shown.map(asShown), total: rows.length };
    return { rows, total: rows.length };
  }

  /** Adds the rule of the WafAutoBlock to a declared state, with the clients that the process knows to be listed. */
  extended(gathered: Gathered, known: Gathered | undefined): Gathered {
    const rules = (known?.rules ?? []).flatMap(({ rule, texts }) => {
      const declared = gathered.autoBlocks?.find(({ meta }) => meta.uid === rule.meta.uid);
      if (declared === undefined) return [];
      const { meta, exempt, mode } = declared;
      const { suggests: _, ...rest } = rule;
      return [
        { rule: { ...rest, meta, yieldsTo: exempt, ...(mode === "Suggest" && { suggests: true as const }) }, texts },
      ];
    });
    return rules.length === 0 ? gathered : { ...gathered, rules: [...gathered.rules, ...rules] };
  }

  /** Listings that a process has recorded. Another instance with the same name has its own record. */
  published(process: SimProcess, instance: ResourceMeta, judgements: PublishedJudgements): void {
    for (const [id, judgement] of Object.entries(judgements)) {
      const [key = "", uid = ""] = id.split(" ");
      const declared = this.#world.cluster.declaredBlock(key, uid);
      if (declared === undefined) continue;
      const name = `${instance.uid} ${uid}`;
      const oracle = this.#oracles.get(name) ?? new BlockOracle();
      this.#oracles.set(name, oracle);
      oracle.clockShows(process.wall.nowMs());
      const facts = { declared, sent: this.requests, nowMs: this.#world.time.nowMs() };
      for (const judged of judgement.listed) {
        const objection = oracle.listed(judged, facts);
        if (objection !== undefined) this.#world.defect(process, `WafAutoBlock ${key}: ${objection}`);
      }
    }
  }

  /** The log is reliable from now on, and the WafAutoBlock blocks. */
  settle(): void {
    if (!this.isUsed) return;
    this.#isQuiet = true;
    for (const setRight of this.#ahead) setRight();
    this.#world.cluster.remove("rules", "edge/friend");
    this.#edit({ mode: "Enforce", suspend: false, exempt: [] });
  }

  /**
   * A client that must be blocked. It waits until no run judges for an earlier state: a row counts once, and if it counted for a
   * WafAutoBlock that was deleted meanwhile, it does not count for another one with the same name.
   */
  attackLater(): void {
    const { time } = this.#world;
    if (!this.isUsed) return;
    time.after(runMsMax, () => {
      const nowMs = time.nowMs();
      for (let index = 0; index < threshold; index += 1) {
        const atMs = nowMs + index;
        const entry = anEntry({
          timestamp: new Date(atMs).toISOString(),
          client_ip: lastClient,
          request_path: `/last-${index}`,
        });
        const sent = { client: lastClient, atMs, visibleAtMs: nowMs, isMatching: true };
        this.requests.push({ ...sent, entry, completeAtMs: nowMs });
      }
      this.#world.note(undefined, `${lastClient} sends ${threshold} blocked requests`);
    });
  }

  /** In the end, it was blocked, if the instance is active. By a wrong clock, its requests may be too old or in the future. */
  expectBlocked(): void {
    const { processes, logs } = this.#world;
    if (!this.isUsed || !logs.isActive()) return;
    const isWrong = processes.some(({ life, wall }) => life.alive && wall.offsetMs !== 0);
    if (!isWrong && !this.#world.writes.includes(`POST /api/blocklist_ip ${lastClient}`))
      this.#world.ledger.violation(`${lastClient} sent ${threshold} blocked requests, and was never blocked`);
  }
}
