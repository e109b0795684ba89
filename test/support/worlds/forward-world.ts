// The environment of log forwarding, in memory and in virtual time: the logs of a WAF, a record that survives the process,
// an output that may fail, and forwarding runs as in the process.
import type { DeclaredInstance } from "../../../src/model/declared.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import type { LogEntry, LogPage } from "../../../src/model/log-entry.ts";
import type { WafFault, WafResult, LogPort } from "../../../src/model/waf-result.ts";
import { dayMs, parseDay, formatTime } from "../../../src/model/texts.ts";
import type { PublishedJudgements } from "../../../src/blocks/judge.ts";
import { forwardLogs, type ForwardOutcome } from "../../../src/logs/forward-logs.ts";
import { ForwardMemory, type ForwardLogsPorts } from "../../../src/logs/forward-ports.ts";
import type { LogRecord } from "../../../src/logs/log-records.ts";
import { seededRandom } from "../builders/seeded-random.ts";
import { createVirtualClock, type VirtualClock } from "../fakes/virtual-clock.ts";
import { anInstance, instanceName } from "../builders/declare.ts";
import { gathered } from "../builders/gathered.ts";
import { crash, isCrash } from "../fakes/crash.ts";
import { RecordedStatus } from "../fakes/recorded-status.ts";
import { anEntry } from "../builders/log-entry.ts";
import { pageOf } from "../fakes/scripted-logs.ts";

const lookTimeMsMax = 3_600_000;

export type SaveFault = "Conflict" | "Failed" | "TooLarge" | "CrashBefore" | "CrashAfter";

export class ForwardWorld {
  readonly clock: VirtualClock = createVirtualClock({ startMs: Date.UTC(2026, 2, 10, 12) });
  readonly status = new RecordedStatus();
  /** The WAF's rows, each with the time at which it becomes visible. */
  readonly rows: { readonly entry: LogEntry; readonly visibleAtMs: number }[] = [];
  /** Request paths in the order in which they were forwarded. */
  readonly forwarded: string[] = [];
  /** The domains of the forwarded entries. */
  readonly domains = new Set<string | undefined>();
  domain: string | undefined;
  /** Every requested day, with the requested number of rows per page. */
  readonly queries: string[] = [];
  readonly failures: string[] = [];
  pageSize = 10_000;
  /** Changes the rows of a day that the API returns; `total` stays the number of its true rows unless `total` is set. */
  distort: ((rows: readonly LogEntry[], day: number) => readonly LogEntry[]) | undefined;
  total: number | undefined;
  /** The faults of the next calls, one for each. */
  readonly faults: WafFault[] = [];
  readonly saveFaults: SaveFault[] = [];
  /** Decides the result of each write to the output: a problem, or a crash that it throws. */
  onWrite: (entries: readonly LogEntry[]) => string | undefined = () => undefined;
  mayForward = true;
  rowsMax: number | undefined;
  baseUrlObjection: string | undefined;
  gathered: Gathered | undefined;
  record: string | undefined;
  /** The rows that WafAutoBlocks receive. */
  published: PublishedJudgements = {};
  reading: string | undefined;
  readonly stopping = new AbortController();
  #memory = new ForwardMemory();
  #revision = 0;
  #scrolls = new Map<string, { readonly rows: readonly LogEntry[]; readonly total: number }>();
  readonly #random = seededRandom(3);

  constructor(logs: Partial<DeclaredInstance["logs"]> = {}) {
    this.declare(logs);
  }

  get instance(): DeclaredInstance["meta"] {
    if (this.gathered === undefined) throw new Error("no instance is declared");
    return this.gathered.instance.meta;
  }

  declare(logs: Partial<DeclaredInstance["logs"]>, overrides: Partial<Gathered> = {}): void {
    const defaults = {
      enabled: true,
      intervalMs: 300_000,
      lookbackMs: 2 * dayMs,
      plan: undefined,
      output: "Stdout",
    } as const;
    const instance = anInstance({ logs: { ...defaults, ...logs } });
    this.gathered = gathered({ instance, ...overrides });
  }

  /** The state after the first reconcile run of the instance. */
  async becomeReady(): Promise<void> {
    this.domain = "shop.example";
    const lastTransitionTime = formatTime(this.clock.nowMs());
    const condition = (type: string, reason: string) => {
      return { type, status: "True", reason, message: `${type} is well.`, lastTransitionTime, observedGeneration: 1 };
    };
    const conditions = [condition("Ready", "Synced"), condition("Accepted", "Accepted")];
    await this.status.write(this.instance, { observedGeneration: 1, domain: "shop.example", conditions });
  }

  /** Adds rows of different paths. */
  block(timestamp: string, count = 1, visibleAt = timestamp, path?: string): string[] {
    const start = this.rows.length;
    return Array.from({ length: count }, (_, index) => {
      const entry = anEntry({ timestamp, request_path: path ?? `/${start + index}` });
      this.rows.push({ entry, visibleAtMs: Date.parse(visibleAt) });
      return entry.request_path;
    });
  }

  /** Executes one run to its end. Returns undefined if the process was killed; then the next run belongs to a new process. */
  async look(): Promise<ForwardOutcome | undefined> {
    let over = false;
    const promise = forwardLogs(instanceName, this.ports(), this.#memory).finally(() => (over = true));
    promise.catch(() => undefined);
    await this.clock.advanceUntil(() => over, lookTimeMsMax);
    try {
      return await promise;
    } catch (error) {
      if (!isCrash(error)) throw error;
      this.restart();
      return undefined;
    }
  }

  /** Executes a run at the time that the previous run requested. */
  async lookOnTime(): Promise<ForwardOutcome | undefined> {
    const outcome = await this.look();
    if (outcome?.wakeAtMs === undefined) throw new Error("the run did not request another run");
    return await this.lookAfter(Math.max(0, outcome.wakeAtMs - this.clock.nowMs()));
  }

  async lookAfter(delayMs: number): Promise<ForwardOutcome | undefined> {
    await this.clock.advance(delayMs);
    return await this.look();
  }

  /** Starts a new process, which knows only the stored data. */
  restart(): void {
    this.#memory = new ForwardMemory();
  }

  /** @throws if a written status violates the rules for statuses */
  checkStatuses(): void {
    if (this.status.faults.length > 0) throw new Error(this.status.faults.join("\n"));
  }

  takeForwarded(): string[] {
    return this.forwarded.splice(0).sort();
  }

  condition(): string | undefined {
    return this.status.condition(this.instance, "LogsForwarded");
  }

  /** The ports of a run. */
  ports(): ForwardLogsPorts {
    return {
      source: { gather: async () => this.gathered },
      baseUrlObjection: () => this.baseUrlObjection,
      domainOf: () => (this.domain === undefined ? undefined : { domain: this.domain }),
      openLogs: () => this.#logs(),
      outputOf: () => ({
        write: async ({ domain }, entries) => {
          if (entries.length > 0) this.domains.add(domain);
          const problem = this.onWrite(entries);
          if (problem === undefined) this.forwarded.push(...entries.map((entry) => entry.request_path));
          return problem;
        },
      }),
      records: {
        load: async () => ({
          state: "Loaded",
          record: this.record === undefined ? undefined : (JSON.parse(this.record) as LogRecord | null),
          revision: String(this.#revision),
        }),
        save: async (_instance, record, revision) => this.#save(record, revision),
      },
      status: {
        read: (meta) => this.status.read(meta),
        event: (meta, event) => this.status.event(meta, event),
        update: async (meta, change) => {
          const after = change(this.status.read(meta) ?? {});
          if (after !== undefined) await this.status.write(meta, after);
        },
      },
      blocks: {
        publish: (_instance, judgements) => void (this.published = judgements),
        report: (_instance, { status, reason }) => void (this.reading = `${status} ${reason}`),
      },
      rowsMax: this.rowsMax,
      clock: this.clock,
      random: this.#random,
      mayForward: () => this.mayForward,
      stopping: this.stopping.signal,
      observer: { failed: (_instance, reason) => void this.failures.push(reason) },
    };
  }

  #save(record: LogRecord, revision: string) {
    const fault = this.saveFaults.shift();
    if (fault === "CrashBefore") throw crash("before the cursor was saved");
    if (fault === "TooLarge") return { state: "TooLarge" } as const;
    if (fault === "Failed") return { state: "Failed", problem: "The cursor can't be written." } as const;
    if (fault === "Conflict" || revision !== String(this.#revision)) {
      return { state: "Conflict", problem: "Another writer changed the cursor." } as const;
    }
    this.record = JSON.stringify(record);
    this.#revision += 1;
    if (fault === "CrashAfter") throw crash("after the cursor was saved");
    return { state: "Saved", revision: String(this.#revision) } as const;
  }

  #logs(): LogPort {
    return {
      queryLogs: async ({ startDate, perPage }) => {
        this.queries.push(`${startDate} ${perPage}`);
        const day = parseDay(startDate);
        const nowMs = this.clock.nowMs();
        const rows = this.rows
          .filter(({ entry, visibleAtMs }) => visibleAtMs <= nowMs && Date.parse(entry.timestamp) >= (day ?? 0) * dayMs)
          .filter(({ entry }) => Date.parse(entry.timestamp) < ((day ?? 0) + 1) * dayMs)
          .map(({ entry }) => entry);
        const returned = this.distort?.(rows, day ?? 0) ?? rows;
        return this.#page(returned, this.total ?? rows.length, Math.min(perPage, this.pageSize));
      },
      scrollLogs: async (scrollId) => {
        const scroll = this.#scrolls.get(scrollId);
        this.#scrolls.delete(scrollId);
        if (scroll === undefined) return { ok: false, fault: { code: "Rejected", message: "Invalid scroll_id." } };
        return this.#page(scroll.rows, scroll.total, this.pageSize);
      },
    };
  }

  #page(rows: readonly LogEntry[], total: number, size: number): WafResult<LogPage> {
    const fault = this.faults.shift();
    if (fault !== undefined) return { ok: false, fault };
    const rest = rows.slice(size);
    const scrollId = rest.length === 0 ? null : `scroll-${this.#random()}`;
    if (scrollId !== null) this.#scrolls.set(scrollId, { rows: rest, total });
    return { ok: true, value: pageOf(rows.slice(0, size), total, scrollId) };
  }
}
