// Makes the record of forwarded entries, and reads one, which may be from another version or damaged.
import type { Clock } from "../../async/clock.ts";
import { inSlices } from "../../async/time-slices.ts";
import { type LogCursor, loadLogCursor } from "../../plan/logs/cursor.ts";
import type { ForwardMemory, LogRecord } from "./forward-ports.ts";

export async function makeLogRecord(
  clock: Pick<Clock, "monotonicMs" | "sleep">,
  cursor: LogCursor,
  { forwarded, lastEntryMs }: Pick<ForwardMemory, "forwarded" | "lastEntryMs">,
): Promise<LogRecord> {
  const position = await inSlices(clock, cursor.saveInSlices());
  return { cursor: position, forwarded, ...(lastEntryMs !== undefined && { lastEntryMs }) };
}

/** Undefined if it cannot be used. */
export function readLogRecord(record: unknown) {
  if (typeof record !== "object" || record === null) return undefined;
  const { cursor: saved, forwarded, lastEntryMs } = record as Partial<Record<keyof LogRecord, unknown>>;
  const cursor = loadLogCursor(saved);
  if (cursor === undefined || !Number.isSafeInteger(forwarded)) return undefined;
  return {
    cursor,
    forwarded: Math.max(0, Number(forwarded)),
    lastEntryMs: typeof lastEntryMs === "number" && Number.isFinite(lastEntryMs) ? lastEntryMs : undefined,
  };
}
