// The ports of the log reader.
import type { Clock } from "../../async/clock.ts";
import type { LogPage } from "../../model/log-entry.ts";
import type { WafFault, WafResult } from "../../model/waf-result.ts";
import type { ReadingDefect } from "../../plan/logs/day-reading.ts";
import type { CallOptions } from "../ports.ts";

/** The logs of one key. Calls wait for their turn in the key's lane, behind all more urgent calls. */
export interface LogPort {
  /** The first page of a range of days (`YYYY-MM-DD`, both included); at most 10,000 rows a page. */
  queryLogs(
    query: { readonly startDate: string; readonly endDate: string; readonly perPage: number },
    options?: CallOptions,
  ): Promise<WafResult<LogPage>>;
  /** The page for the scroll ID of the previous page. */
  scrollLogs(scrollId: string, options?: CallOptions): Promise<WafResult<LogPage>>;
}

/** Why the reader waits. */
export interface LogWait {
  readonly day: number;
  readonly why: WafFault | ReadingDefect;
  readonly delayMs: number;
}

export interface LogReaderPorts {
  readonly waf: LogPort;
  readonly clock: Clock;
  /** A number from 0 to below 1. */
  readonly random: () => number;
  /** Aborts when no further call may start. */
  readonly stopping: AbortSignal;
  /** Must not throw. */
  readonly onWait?: ((wait: LogWait) => void) | undefined;
}
