// The logs of blocked requests in a simulation: rows that the WAF shows late and in small pages, the record of forwarded
// rows, and an output that fails or whose response is lost. These events have their own random sequence.
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import type { LogEntry } from "../../../src/model/log-entry.ts";
import type { ResourceMeta } from "../../../src/model/resource.ts";
import { dayMs, dayOf, parseDay } from "../../../src/model/texts.ts";
import type { LoadedLogRecord, LogRecord, SavedLogRecord } from "../../../src/logs/log-records.ts";
import { below, seededRandom } from "../builders/seeded-random.ts";
import { anEntry } from "../builders/log-entry.ts";
import { LogOracle, type Output } from "./log-oracle.ts";
import { describeSaveFault } from "./sim-faults.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimAnswer, SimRequest } from "./sim-waf.ts";
import type { SimWorld } from "./sim-world.ts";

const shop = "edge/shop";
const logsPath = "/api/logs/";
const pageSize = 10;
const rowsAtOnceMax = 4;
/** The interval between new rows. */
const rowsMsMax = 300_000;
/** The maximum age of a row when it is logged, and its additional delay until it is visible. */
const rowAgeMsMax = 10 * 3_600_000;
const rowLateMsMax = 1_800_000;
const lookbackMs = 2 * dayMs;
const faultShare = 0.1;

interface Row {
  readonly entry: LogEntry;
  readonly visibleAtMs: number;
}

/** The data of one object, by its UID. */
interface Kept {
  readonly oracle: LogOracle;
  record: LogRecord | undefined;
  revision: number;
}

export class SimLogs {
  /** Whether the instance forwards its logs. */
  readonly isUsed: boolean;
  readonly #world: SimWorld;
  readonly #random: () => number;
  readonly #pick = (count: number): number => below(this.#random, count);
  readonly #rows: Row[] = [];
  readonly #scrolls = new Map<string, { readonly rows: readonly LogEntry[]; readonly total: number }>();
  readonly #kept = new Map<string, Kept>();
  readonly #output: Output = { count: 0, rows: new Set() };
  #isQuiet = false;

  constructor(world: SimWorld, seed: number, isUsed: boolean) {
    this.#world = world;
    this.isUsed = isUsed;
    this.#random = seededRandom(seed ^ 0x10_65);
    if (isUsed) this.#later();
  }

  /** What the instance declares of it. */
  declared(): Partial<Pick<DeclaredInstance, "logs">> {
    if (!this.isUsed && !this.#world.blocks.isUsed) return {};
    const intervalMs = this.#isQuiet ? 3_600_000 : this.isUsed ? 240_000 : 60_000;
    return { logs: { enabled: this.isUsed, intervalMs, lookbackMs, plan: undefined, output: "Stdout" } };
  }

  isLogCall({ path }: SimRequest): boolean {
    return path.startsWith(logsPath);
  }

  /** Another WAF has no rows. */
  serve({ path, parameters }: SimRequest, key: string, isSwapped: boolean): SimAnswer {
    if (parameters.get("api_key") !== key)
      return { status: 403, body: JSON.stringify({ success: false, message: "Bad API Key Value" }) };
    if (path === `${logsPath}scroll`) {
      const id = parameters.get("scroll_id") ?? "";
      const scroll = this.#scrolls.get(id);
      this.#scrolls.delete(id);
      if (scroll === undefined) return { status: 400, body: "Invalid scroll_id" };
      return this.#page(scroll.rows, scroll.total, pageSize);
    }
    const day = parseDay(parameters.get("start_date") ?? "");
    const nowMs = this.#world.time.nowMs();
    const shown = this.#rows.filter(({ entry, visibleAtMs }) => {
      return visibleAtMs <= nowMs && dayOf(Date.parse(entry.timestamp)) === day;
    });
    const own = shown.map(({ entry }) => entry);
    const { rows, total } = this.#world.blocks.rowsOf((atMs) => dayOf(atMs) === day);
    const all = isSwapped ? [] : [...own, ...rows];
    return this.#page(all, isSwapped ? 0 : own.length + total, Math.min(pageSize, Number(parameters.get("per_page"))));
  }

  load(process: SimProcess, { uid }: ResourceMeta): LoadedLogRecord {
    const { api } = this.#world.problems;
    if (api !== undefined) return { state: "Unreachable", problem: api };
    const { oracle, record, revision } = this.#of(uid);
    oracle.loaded(process.id);
    return { state: "Loaded", record: structuredClone(record), revision: `${uid} ${revision}` };
  }

  /** For the plans. */
  peek({ uid }: ResourceMeta): LoadedLogRecord {
    const { api } = this.#world.problems;
    if (api !== undefined) return { state: "Unreachable", problem: api };
    const { record, revision } = this.#of(uid);
    return { state: "Loaded", record: structuredClone(record), revision: `${uid} ${revision}` };
  }

  save(process: SimProcess, { uid }: ResourceMeta, record: LogRecord, revision: string): SavedLogRecord {
    const kept = this.#of(uid);
    const fault = this.#fault("Conflict", "Failed");
    if (fault !== undefined) this.#world.cover(describeSaveFault(fault), "saveLogs");
    if (fault === "Failed" || this.#world.problems.api !== undefined)
      return { state: "Failed", problem: "The record could not be written." };
    if (fault === "Conflict" || revision !== `${uid} ${kept.revision}`)
      return { state: "Conflict", problem: "Another writer changed the record." };
    kept.record = structuredClone(record);
    kept.revision += 1;
    this.#complain(process, kept.oracle.saved(process.id, record.forwarded));
    return { state: "Saved", revision: `${uid} ${kept.revision}` };
  }

  /** The output accepts all rows or none; its response may be lost. */
  write(process: SimProcess, { uid }: ResourceMeta, entries: readonly LogEntry[]): string | undefined {
    const fault = this.#fault("Failed", "Lost");
    if (fault === "Failed") return "The collector is gone.";
    const paths = entries.map(({ request_path }) => request_path);
    this.#world.note(process, `forwards ${paths.join(" ")}${fault === undefined ? "" : ", and the response is lost"}`);
    this.#world.printed(process, JSON.stringify(entries));
    this.#complain(process, this.#of(uid).oracle.forwarded(process.id, paths, fault === "Lost"));
    return fault === "Lost" ? "The collector did not respond." : undefined;
  }

  /** No more rows are logged, and the output works. */
  settle(): void {
    this.#isQuiet = true;
  }

  /** Of several instances with the same key, only the oldest one is active. */
  isActive(): boolean {
    const { instances } = this.#world.cluster.now;
    const meta = instances.get(shop)?.meta;
    if (meta === undefined || meta.deleting) return false;
    return ![...instances.values()].some((other) => (other.meta.createdAtMs ?? 0) < (meta.createdAtMs ?? 0));
  }

  /** In the end, every row was forwarded if the instance is active. */
  expectForwarded(): void {
    if (!this.isUsed || !this.isActive()) return;
    const paths = this.#rows.map(({ entry }) => entry.request_path);
    const missed = paths.filter((path) => !this.#output.rows.has(path));
    if (missed.length > 0) this.#world.ledger.violation(`Log rows were never forwarded: ${missed.join(" ")}`);
  }

  #of(uid: string): Kept {
    const kept = this.#kept.get(uid) ?? { oracle: new LogOracle(this.#output), record: undefined, revision: 0 };
    this.#kept.set(uid, kept);
    return kept;
  }

  #complain(process: SimProcess, objection: string | undefined): void {
    if (objection !== undefined) this.#world.defect(process, objection);
  }

  #fault<A extends string, B extends string>(one: A, other: B): A | B | undefined {
    if (this.#isQuiet || this.#random() >= faultShare) return undefined;
    this.#world.counts.faults += 1;
    return this.#random() < 0.5 ? one : other;
  }

  #page(rows: readonly LogEntry[], total: number, size: number): SimAnswer {
    const rest = rows.slice(size);
    const scrollId = rest.length === 0 ? null : `scroll-${this.#random()}`;
    if (scrollId !== null) this.#scrolls.set(scrollId, { rows: rest, total });
    const hits = { total: { value: total }, hits: rows.slice(0, size) };
    return { status: 200, body: JSON.stringify({ _scroll_id: scrollId, hits }) };
  }

  #later(): void {
    this.#world.time.after(1 + this.#pick(rowsMsMax), () => {
      if (this.#isQuiet) return;
      for (let count = 1 + this.#pick(rowsAtOnceMax); count > 0; count -= 1) this.#log();
      this.#later();
    });
  }

  #log(): void {
    const nowMs = this.#world.time.nowMs();
    const timestamp = new Date(nowMs - this.#pick(this.#random() < 0.5 ? 1_000 : rowAgeMsMax)).toISOString();
    const entry = anEntry({ timestamp, request_path: `/row-${this.#rows.length}` });
    this.#rows.push({ entry, visibleAtMs: nowMs + this.#pick(this.#random() < 0.5 ? 1_000 : rowLateMsMax) });
  }
}
