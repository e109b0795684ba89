// What the forwarding of logs needs from the world, and what the process remembers of one instance between two runs.
import type { Clock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredAutoBlock, JudgedEntry, ReadingReport } from "../../model/auto-block.ts";
import type { DeclaredInstance, LogForwarding } from "../../model/declared.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import type { ObjectName, ResourceMeta } from "../../model/resource.ts";
import type { WafFault } from "../../model/waf-result.ts";
import { Judges } from "../../plan/blocking/judges.ts";
import type { PublishedJudgements } from "../../plan/blocking/judges.ts";
import type { SavedJudges } from "../../plan/blocking/saved-judges.ts";
import type { LogCursor, SavedLogCursor } from "../../plan/logs/cursor.ts";
import type { LogLimits } from "../../plan/logs/hour-usage.ts";
import { HourUsage } from "../../plan/logs/hour-usage.ts";
import type { LogPort } from "./log-ports.ts";
import type { SourcePort, StatusPort } from "../ports.ts";

/** What survives the process: the cursor, and the figures of the status. */
export interface LogRecord {
  readonly cursor: SavedLogCursor;
  readonly forwarded: number;
  /** Milliseconds since 1970, of the newest forwarded entry. */
  readonly lastEntryMs?: number;
  /** What the rows that the cursor knows came to for WafAutoBlocks. */
  readonly judges?: SavedJudges;
}

/** `record` is undefined where there is none; it is what was saved, or what another writer made of it. */
export type LoadedLogRecord =
  | { readonly state: "Loaded"; readonly record: unknown; readonly revision: string }
  | { readonly state: "Unreachable"; readonly problem: string };

/** `Conflict`: another writer saved since `revision`. `TooLarge`: there is no room for so much. */
export type SavedLogRecord =
  | { readonly state: "Saved"; readonly revision: string }
  | { readonly state: "TooLarge" }
  | { readonly state: "Conflict" | "Failed"; readonly problem: string };

/** Where cursors live. Neither ever rejects. */
export interface LogRecordPort {
  load(instance: ObjectName): Promise<LoadedLogRecord>;
  /** Stored as a whole or not at all. */
  save(instance: ObjectName, record: LogRecord, revision: string): Promise<SavedLogRecord>;
}

/** Where an entry comes from. */
export interface LogOrigin {
  readonly instance: ObjectName;
  /** What the key belongs to, if that is known. */
  readonly domain: string | undefined;
}

/** Where entries go. */
export interface LogOutputPort {
  /** @returns undefined when all of them were taken over; else why not, in a sentence: then none of them counts. Never rejects. */
  write(origin: LogOrigin, entries: readonly LogEntry[]): Promise<string | undefined>;
}

/** The status as it is when its turn has come; what is returned takes its place, and undefined leaves it as it is. */
export type StatusChange = (status: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>> | undefined;

export interface LogStatusPort extends Pick<StatusPort, "read" | "event"> {
  /** Changes only the part that `change` sets, independent of other writers. Never rejects. */
  update(instance: ResourceMeta, change: StatusChange): Promise<void>;
}

/** Who wants to know what the rows came to for WafAutoBlocks. Must not throw. */
export interface BlockPublisher {
  /** Recorded, with the position in the log. */
  publish(instance: ObjectName, judgements: PublishedJudgements): void;
  report(instance: ObjectName, reading: ReadingReport): void;
  listed?(block: DeclaredAutoBlock, listed: readonly JudgedEntry[]): void;
}

export interface ForwardLogsPorts {
  readonly source: Pick<SourcePort, "gather">;
  /** Why the operator may not call this base URL, in a sentence; undefined if it may. */
  readonly baseUrlObjection: (baseUrl: string) => string | undefined;
  /** What the instance's key belongs to, as its last reconcile run found; undefined until one has read the WAF. */
  readonly domainOf: (instance: ObjectName) => string | undefined;
  readonly openLogs: (instance: DeclaredInstance, key: ApiKey) => LogPort;
  readonly outputOf: (output: LogForwarding["output"]) => LogOutputPort;
  readonly records: LogRecordPort;
  readonly blocks: BlockPublisher;
  /** The rest is as in `defaultLogLimits`. */
  readonly limits?: Partial<LogLimits>;
  readonly status: LogStatusPort;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** Whether this process is the one that forwards: asked before each write to the output. */
  readonly mayForward: () => boolean;
  readonly stopping: AbortSignal;
  /** For metrics and logs. Must not throw. */
  readonly observer: {
    forwarded?(gathered: Gathered, entries: readonly LogEntry[], output: LogForwarding["output"]): void;
    /** How long after its time the newest entry was forwarded. */
    lagged?(instance: ObjectName, lagMs: number): void;
    /** How many rows are remembered after a run, or 0 once forwarding is off. */
    remembered?(instance: ObjectName, rows: number): void;
    failed?(instance: ObjectName, reason: string, fault: WafFault | undefined): void;
  };
}

export interface ForwardMemory {
  /** Outlives the rest: turning forwarding off and on gives no instance more. */
  readonly usage: HourUsage;
  /** Undefined until it was loaded, and after another writer has saved it. */
  cursor: LogCursor | undefined;
  /** Know the same rows as the cursor. */
  judges: Judges;
  revision: string;
  forwarded: number;
  lastEntryMs: number | undefined;
  lagMs: number | undefined;
  /** The cursor knows more than its record. */
  isUnsaved: boolean;
  /** Of the monotonic clock. */
  savedAtMs: number;
  /** When the instance was first seen while its domain was unknown, by the monotonic clock. */
  firstSeenMs: number | undefined;
  /** Runs in a row that failed. */
  failures: number;
  /** When the next run is due by the monotonic clock, unless what `attempt` names has changed by then. */
  due: { readonly atMs: number; readonly attempt: string } | undefined;
  /** What is still to be written to the status. */
  report: StatusChange | undefined;
  /** What events said last about each day. */
  readonly emitted: Map<string, string>;
}

export function newForwardMemory(usage = new HourUsage()): ForwardMemory {
  return {
    usage,
    cursor: undefined,
    judges: new Judges(undefined),
    revision: "",
    forwarded: 0,
    lastEntryMs: undefined,
    lagMs: undefined,
    isUnsaved: false,
    savedAtMs: Number.NEGATIVE_INFINITY,
    firstSeenMs: undefined,
    failures: 0,
    due: undefined,
    report: undefined,
    emitted: new Map(),
  };
}
