// One run over the logs of an instance: forwards new entries and advances the cursor. However the run ends, it records the entries
// that were forwarded. While recording fails, nothing more is forwarded.
import { dayOf, formatDay } from "../model/texts.ts";
import type { ApiKey } from "../model/api-key.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import type { WafFault } from "../model/waf-result.ts";
import { suggest } from "../blocks/block-book.ts";
import { judgedBlocks, Judges, type SavedJudges } from "../blocks/judge.ts";
import { LogCursor } from "./cursor.ts";
import {
  type ForwardLogsPorts,
  type ForwardMemory,
  type LogOutputPort,
  noFigures,
  outputFor,
  rowsMaxDefault,
  dayProblem,
  faultFinding,
  type LogsFinding,
  reportLogs,
  restOfDay,
  restOfHour,
  type Resting,
} from "./forward-ports.ts";
import { daysToRead, firstOfLookback } from "./log-days.ts";
import { dayDefects } from "./day-reading.ts";
import { DayJudging } from "../blocks/judge-day.ts";
import { labelOfReason } from "./row-tests.ts";
import { type LogPiece, randomSeed, type ReadPage, readLogs } from "./read-logs.ts";

/** The maximum number of entries in one write to the output. Either all of them count as forwarded, or none. */
export const entriesPerWrite = 500;
/** How long a long run may forward entries without recording them. */
const recordIntervalMs = 30_000;
const emittedMax = 100;

/** `finding` is undefined if there is nothing to report. */
export type ForwardResult =
  | { readonly kind: "Done"; readonly finding: LogsFinding }
  | {
      readonly kind: "Failed";
      readonly finding: LogsFinding | undefined;
      readonly fault?: WafFault;
    }
  /** The WAF must not be called until the instance changes. */
  | { readonly kind: "Blocked"; readonly finding: LogsFinding }
  | Resting
  | { readonly kind: "Stopped" };

const outputWords = { Stdout: "the operator's stdout", OTLP: "the OpenTelemetry collector" } as const;

export class ForwardRun {
  readonly #gathered: Gathered;
  readonly #instance: DeclaredInstance;
  readonly #key: ApiKey;
  readonly #ports: ForwardLogsPorts;
  readonly #memory: ForwardMemory;
  readonly #rowsMax: number;
  readonly #output: LogOutputPort | undefined;
  /** The day that is being judged. */
  #judging: DayJudging | undefined;

  constructor(gathered: Gathered, key: ApiKey, ports: ForwardLogsPorts, memory: ForwardMemory) {
    this.#gathered = gathered;
    this.#instance = gathered.instance;
    this.#key = key;
    this.#ports = ports;
    this.#memory = memory;
    this.#rowsMax = ports.rowsMax ?? rowsMaxDefault;
    this.#output = outputFor(ports, gathered.instance.logs);
  }

  async run(): Promise<ForwardResult> {
    const { clock, random, stopping } = this.#ports;
    const memory = this.#memory;
    // First record what an earlier run could not record.
    const unsaved = memory.isUnsaved ? await this.#save() : undefined;
    if (unsaved !== undefined) return unsaved;
    const cursor = memory.cursor ?? (await this.#load());
    if (!(cursor instanceof LogCursor)) return cursor;
    this.#noteJudges(new Judges(memory.figures.judges, judgedBlocks(this.#gathered), clock.nowMs()).save());
    memory.savedAtMs = clock.monotonicMs();
    const resting = this.#resting();
    if (resting !== undefined) return resting;
    // The clock may be set while the logs are read.
    const nowMs = clock.nowMs();
    const today = dayOf(nowMs);
    if (cursor.isClosed(today)) return restOfDay(today, this.#rowsMax, nowMs);
    const { days, lost } = daysToRead(cursor, this.#instance.logs, nowMs);
    if (lost !== undefined) {
      const named = `${formatDay(lost.firstDay)} to ${formatDay(lost.lastDay)}`;
      const message = `Blocked requests from ${named} were not forwarded, and the API no longer keeps them.`;
      this.#emitOnce("LogEntriesLost", message);
    }
    const waf = this.#ports.openLogs(this.#instance, this.#key);
    const mayRead = (): boolean => memory.usage.takePage(clock.nowMs());
    const { nextDay } = cursor;
    const pieces = readLogs({ waf, clock, random, stopping }, { days, cursor, mayRead });
    const ended = await this.#takeAll(cursor, pieces);
    if (ended === undefined) cursor.forget(today, today - firstOfLookback(this.#instance.logs, nowMs));
    // Days without new entries are worth recording as well, but not before the end.
    const problem = memory.isUnsaved || cursor.nextDay !== nextDay ? await this.#save() : undefined;
    const failed = ended ?? problem;
    if (failed !== undefined) return failed;
    this.#publish();
    const message = `New blocked requests are forwarded to ${outputWords[this.#instance.logs.output]}.`;
    return { kind: "Done", finding: { status: "True", reason: "Forwarded", message } };
  }

  /** Returns undefined if all days were read. */
  async #takeAll(cursor: LogCursor, pieces: AsyncIterable<LogPiece>): Promise<ForwardResult | undefined> {
    for await (const piece of pieces) {
      if (piece.kind === "Stopped") return this.#resting() ?? { kind: "Stopped" };
      if (piece.kind === "Failed") return this.#failed(piece.fault);
      if (piece.kind === "DayDone") this.#dayDone(cursor, piece);
      else {
        if (this.#gathered.autoBlocks !== undefined) this.#judge(cursor, piece);
        const problem = await this.#forward(cursor, piece.day, piece.newEntries);
        if (problem !== undefined) return problem;
        const full = this.#makeRoom(cursor, piece.day);
        if (full !== undefined) return full;
      }
      const ended = await this.#recordProgress(piece);
      if (ended !== undefined) return ended;
    }
    return undefined;
  }

  /** Returns undefined unless the instance has reached a limit of its hour. */
  #resting(): Resting | undefined {
    const { clock, stopping } = this.#ports;
    const end = stopping.aborted ? undefined : this.#memory.usage.endOf(clock.nowMs(), this.#rowsMax);
    return end === undefined ? undefined : restOfHour(end, this.#rowsMax);
  }

  /** Only a day whose rows are all remembered can be read again, so a day with too many rows is closed. */
  #makeRoom(cursor: LogCursor, day: number): Resting | undefined {
    while (cursor.rowsKept > this.#rowsMax) {
      const closed = cursor.closeOldest();
      if (closed === undefined || closed === day) {
        cursor.closeThrough(day);
        this.#emitOnce("LogEntriesLost", dayProblem(day, this.#rowsMax));
        return restOfDay(day, this.#rowsMax, this.#ports.clock.nowMs());
      }
      this.#emitTooLarge(closed);
    }
    return undefined;
  }

  #failed(fault: WafFault): ForwardResult {
    if (this.#ports.stopping.aborted) return { kind: "Stopped" };
    // The connection was replaced during the run, because the instance or its key changed.
    if (fault.code === "Aborted") return { kind: "Failed", finding: undefined };
    return { kind: "Failed", finding: faultFinding(fault), fault };
  }

  #judge(cursor: LogCursor, page: ReadPage): void {
    const { day } = page;
    if (this.#judging?.day !== day) {
      const { judges } = this.#memory.figures;
      const known = cursor.markOf(day).judged;
      this.#judging = new DayJudging({ day, known, seed: cursor.seed, gathered: this.#gathered, judges });
    }
    this.#judging.page(page, this.#ports.clock.nowMs());
  }

  #dayDone(cursor: LogCursor, { day, total, summary }: Extract<LogPiece, { kind: "DayDone" }>): void {
    const judged = this.#judging?.day === day && summary !== undefined ? this.#judging.end(summary) : undefined;
    this.#judging = undefined;
    // An unjudged day is read again.
    cursor.dayDone(day, judged?.isComplete === false ? undefined : total);
    if (judged?.judges !== undefined) {
      this.#noteJudges(judged.judges);
      this.#memory.isUnsaved = true;
    }
    for (const { block, listed } of judged?.listed ?? []) suggest(this.#ports.status, block, listed);
    for (const problem of judged?.problems ?? []) this.#emitOnce("LogEntriesUnjudged", problem);
    for (const defect of summary ? dayDefects(day, summary) : []) this.#emitOnce("LogEntriesMissing", `${defect}.`);
  }

  async #forward(cursor: LogCursor, day: number, entries: readonly LogEntry[]): Promise<ForwardResult | undefined> {
    const { mayForward, domainOf, observer, clock } = this.#ports;
    const { usage } = this.#memory;
    const { meta, logs } = this.#instance;
    const origin = { instance: meta, domain: domainOf(meta)?.domain };
    for (let start = 0; start < entries.length;) {
      const nowMs = clock.nowMs();
      const left = usage.rowsLeft(nowMs, this.#rowsMax);
      if (left === 0) {
        cursor.giveBack(day, entries.slice(start));
        return this.#resting() ?? { kind: "Stopped" };
      }
      const chunk = entries.slice(start, start + Math.min(entriesPerWrite, left));
      const problem = mayForward() ? await this.#output?.write(origin, chunk) : "";
      if (problem !== undefined) {
        cursor.giveBack(day, entries.slice(start));
        if (problem === "") return { kind: "Stopped" };
        const message = `${problem} The API keeps the blocked requests. wafsync retries.`;
        return { kind: "Failed", finding: { status: "False", reason: "OutputUnavailable", message } };
      }
      this.#memory.isUnsaved = true;
      usage.rowsForwarded(nowMs, chunk.length);
      start += chunk.length;
      if (this.#output === undefined) continue;
      this.#noteForwarded(chunk);
      const rows = chunk.map(({ block_reason, country }) => [labelOfReason(block_reason), country] as const);
      observer.forwarded?.(this.#gathered, rows, logs.output);
    }
    return undefined;
  }

  #noteForwarded(entries: readonly LogEntry[]): void {
    const memory = this.#memory;
    const { forwarded, lastEntryMs = Number.NEGATIVE_INFINITY } = memory.figures;
    const times = entries.map(({ timestamp }) => logTimeMs(timestamp)).filter((timeMs) => !Number.isNaN(timeMs));
    const newestMs = Math.max(lastEntryMs, ...times);
    memory.figures = { ...memory.figures, forwarded: forwarded + entries.length };
    if (newestMs <= lastEntryMs) return;
    memory.figures = { ...memory.figures, lastEntryMs: newestMs };
    memory.lagMs = Math.max(0, this.#ports.clock.nowMs() - newestMs);
    this.#ports.observer.lagged?.(this.#instance.meta, memory.lagMs);
  }

  #noteJudges(judges: SavedJudges): void {
    this.#memory.figures = { ...this.#memory.figures, judges };
  }

  #publish(): void {
    this.#ports.blocks.publish(this.#instance.meta, this.#memory.figures.judges);
  }

  /** Records the progress after each day, and at intervals during a long day. */
  async #recordProgress(piece: LogPiece): Promise<ForwardResult | undefined> {
    const { clock, status } = this.#ports;
    const memory = this.#memory;
    const { meta } = this.#instance;
    const isLong = clock.monotonicMs() - memory.savedAtMs >= recordIntervalMs;
    if (!memory.isUnsaved || (piece.kind !== "DayDone" && !isLong)) return undefined;
    const problem = await this.#save();
    if (problem !== undefined || !isLong || this.#output === undefined) return problem;
    const message = `Older blocked requests (${formatDay(piece.day)}) are still being read.`;
    const finding = { status: "True", reason: "Forwarded", message } as const;
    await reportLogs(status, meta, memory, finding, clock.nowMs());
    return undefined;
  }

  async #load(): Promise<LogCursor | ForwardResult> {
    const { records, random, clock, status } = this.#ports;
    const memory = this.#memory;
    const { logs, meta } = this.#instance;
    const loaded = await records.load(meta);
    if (loaded.state === "Unreachable") return cursorUnavailable(loaded.problem);
    const { record, revision } = loaded;
    const cursor = record ? LogCursor.load(record.cursor) : undefined;
    if (cursor === undefined && record !== undefined) {
      const message =
        "The record of forwarded entries can't be read: blocked requests of the last days may be forwarded again.";
      status.event(meta, { type: "Warning", reason: "LogCursorBroken", message });
    }
    memory.revision = revision;
    memory.cursor = cursor ?? new LogCursor(firstOfLookback(logs, clock.nowMs()), randomSeed(random));
    memory.figures = noFigures;
    if (cursor !== undefined && record) {
      const { cursor: _, ...figures } = record;
      memory.figures = figures;
    }
    memory.isUnsaved = false;
    this.#publish();
    return memory.cursor;
  }

  /** Returns undefined if the record was saved, or if it is too large, which an event reports. */
  async #save(): Promise<ForwardResult | undefined> {
    const { records, clock } = this.#ports;
    const memory = this.#memory;
    const { cursor } = memory;
    if (cursor === undefined) return undefined;
    memory.savedAtMs = clock.monotonicMs();
    for (;;) {
      const record = { cursor: cursor.save(), ...memory.figures };
      const saved = await records.save(this.#instance.meta, record, memory.revision);
      if (saved.state === "Saved") {
        memory.revision = saved.revision;
        memory.isUnsaved = false;
        this.#publish();
        return undefined;
      }
      // Each attempt saves one day less.
      if (saved.state === "TooLarge") {
        const closed = cursor.closeOldest();
        this.#emitTooLarge(closed);
        if (closed === undefined) return undefined;
        continue;
      }
      if (saved.state === "Conflict") {
        memory.cursor = undefined;
        memory.isUnsaved = false;
      }
      return cursorUnavailable(saved.problem);
    }
  }

  #emitTooLarge(closed: number | undefined): void {
    if (closed === undefined) {
      const message =
        "There are too many blocked requests per day to record which of them were forwarded. After a restart, wafsync forwards them again.";
      return this.#emitOnce("LogCursorTooLarge", message);
    }
    const message = `There are too many blocked requests to track: wafsync no longer looks for late blocked requests of ${formatDay(closed)}.`;
    this.#emitOnce("LogCursorTooLarge", message);
  }

  #emitOnce(reason: string, message: string): void {
    const { emitted } = this.#memory;
    if (emitted.has(message)) return;
    if (emitted.size >= emittedMax) emitted.clear();
    emitted.add(message);
    this.#ports.status.event(this.#instance.meta, { type: "Warning", reason, message });
  }
}

function cursorUnavailable(problem: string): ForwardResult {
  const message = `${problem} wafsync retries.`;
  return { kind: "Failed", finding: { status: "False", reason: "OutputUnavailable", message } };
}
