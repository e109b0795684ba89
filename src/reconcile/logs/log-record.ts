// Reads a record of forwarded entries, which may be from another version or damaged.
import { loadLogCursor } from "../../plan/logs/cursor.ts";
import { Judges } from "../../plan/blocking/judges.ts";
import type { LogRecord } from "./forward-ports.ts";

/** Undefined if it cannot be used. */
export function readLogRecord(record: unknown) {
  if (typeof record !== "object" || record === null) return undefined;
  const { cursor: saved, forwarded, lastEntryMs, judges } = record as Partial<Record<keyof LogRecord, unknown>>;
  const cursor = loadLogCursor(saved);
  if (cursor === undefined || !Number.isSafeInteger(forwarded)) return undefined;
  return {
    cursor,
    judges: new Judges(judges),
    forwarded: Math.max(0, Number(forwarded)),
    lastEntryMs: typeof lastEntryMs === "number" && Number.isFinite(lastEntryMs) ? lastEntryMs : undefined,
  };
}
