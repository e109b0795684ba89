// The checkpoint of a download: a file next to the output that records up to which byte the output is complete, and what was read
// by then. It is written after the output has reached the disk. When a download resumes, any bytes after that position are
// truncated.
import { readFile, rm } from "node:fs/promises";
import { LogCursor } from "../../plan/logs/cursor.ts";
import { writeFileAtomically } from "../../source/directory/atomic-file.ts";
import { CommandError } from "../describe-error.ts";

/** The request. A download can be resumed only with the same request. */
export interface LogQuestion {
  readonly baseUrl: string;
  readonly format: string;
  /** Days since 1970. `lastDay` is null with --follow. */
  readonly firstDay: number;
  readonly lastDay: number | null;
  readonly filters: Readonly<Record<string, readonly string[]>>;
}

export interface LogCheckpoint {
  readonly question: LogQuestion;
  /** How many bytes of the output are complete. */
  readonly offset: number;
  readonly rows: number;
  readonly cursor: LogCursor;
}

export function checkpointPath(outputFile: string): string {
  return `${outputFile}.wafsync-resume`;
}

export async function saveCheckpoint(outputFile: string, checkpoint: LogCheckpoint): Promise<void> {
  const { cursor, ...rest } = checkpoint;
  const text = JSON.stringify({ version: 1, ...rest, cursor: cursor.save() });
  await writeFileAtomically(checkpointPath(outputFile), `${text}\n`);
}

export async function removeCheckpoint(outputFile: string): Promise<void> {
  await rm(checkpointPath(outputFile), { force: true });
}

/** Undefined if there is no checkpoint. @throws CommandError if it cannot be read */
export async function loadCheckpoint(outputFile: string): Promise<LogCheckpoint | undefined> {
  const path = checkpointPath(outputFile);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new CommandError(`cannot read ${path} (${errorCode(error)})`);
  });
  if (text === undefined) return undefined;
  const checkpoint = parseCheckpoint(text);
  if (checkpoint !== undefined) return checkpoint;
  throw new CommandError(
    `${path} is damaged, or was written by another version of wafsync`,
    `Remove it and ${outputFile}, and start again without --resume.`,
  );
}

function parseCheckpoint(text: string): LogCheckpoint | undefined {
  const saved = parseJson(text);
  if (saved === undefined || saved["version"] !== 1) return undefined;
  const { question, offset, rows } = saved;
  const cursor = LogCursor.load(saved["cursor"]);
  const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
  if (cursor === undefined || !isWhole(offset) || !isWhole(rows) || !isQuestion(question)) return undefined;
  return { question, offset, rows, cursor };
}

function parseJson(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isQuestion(value: unknown): value is LogQuestion {
  if (typeof value !== "object" || value === null) return false;
  const { baseUrl, format, firstDay, lastDay, filters } = value as Partial<Record<keyof LogQuestion, unknown>>;
  const isDay = Number.isSafeInteger(firstDay) && (lastDay === null || Number.isSafeInteger(lastDay));
  return typeof baseUrl === "string" && typeof format === "string" && isDay && typeof filters === "object";
}

/** The code of a file system error. */
export function errorCode(error: unknown): string {
  const code: unknown = Error.isError(error) && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "unknown error";
}
