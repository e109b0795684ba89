// Creates and reads the record of forwarded entries. A stored record may be from another version or damaged.
import type { Clock } from "../../async/clock.ts";
import { inSlices } from "../../async/time-slices.ts";
import { Judges } from "../../plan/blocking/judges.ts";
import { LogCursor } from "../../plan/logs/cursor.ts";
import type { ForwardMemory, LogRecord } from "./forward-ports.ts";

export async function makeLogRecord(
  clock: Pick<Clock, "monotonicMs" | "sleep">,
  cursor: LogCursor,
  { forwarded, lastEntryMs, judges }: Pick<ForwardMemory, "forwarded" | "lastEntryMs" | "judges">,
): Promise<LogRecord> {
  const judged = judges.save();
  const position = await inSlices(clock, cursor.saveInSlices());
  return { cursor: position, forwarded, judges: judged, ...(lastEntryMs !== undefined && { lastEntryMs }) };
}

/** Undefined if it cannot be used. */
export function readLogRecord(record: unknown) {
  if (typeof record !== "object" || record === null) return undefined;
  const { cursor: saved, forwarded, lastEntryMs, judges } = record as Partial<Record<keyof LogRecord, unknown>>;
  const cursor = LogCursor.load(saved);
  if (cursor === undefined || !Number.isSafeInteger(forwarded)) return undefined;
  return {
    cursor,
    judges: new Judges(judges),
    forwarded: Math.max(0, Number(forwarded)),
    lastEntryMs: typeof lastEntryMs === "number" && Number.isFinite(lastEntryMs) ? lastEntryMs : undefined,
  };
}
