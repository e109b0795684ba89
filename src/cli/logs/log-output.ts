// The output of `logs`: a stream that another program reads, or a file that one process at a time may write. As long as the download of a
// file is unfinished, a checkpoint next to it records up to which byte the output is complete, and which days it covers. It is written
// after a day has reached the disk. When a download resumes, bytes after that position are truncated, and the unfinished day is read again.
import { type FileHandle, open, readFile, rm } from "node:fs/promises";
import type { Writable } from "node:stream";
import * as z from "zod";
import { realClock } from "../../async/clock.ts";
import { fileProblem, statUserFile, writeFileAtomically } from "../../source/directory/atomic-file.ts";
import { LockFile } from "../../source/directory/lock-file.ts";
import { asCommandError, CommandError } from "../describe-error.ts";
import type { LogRange } from "./log-range.ts";

export interface LogOutput {
  /** Where an earlier run stopped. */
  readonly from?: Pick<LogFile["from"], "nextDay" | "rows" | "isNew">;
  /** @returns false if the reader has closed the stream */
  write(text: string): Promise<boolean>;
  /** All rows before this day are written. */
  dayDone?(nextDay: number, rows: number): Promise<void>;
  finish?(): Promise<void>;
  close(): Promise<void>;
}

/** A pipe or a terminal. It is not closed, because it belongs to the process. */
export function createStreamOutput(stream: Writable): LogOutput {
  let hasEnded = false;
  let wake: (() => void) | undefined;
  const end = (): void => {
    hasEnded = true;
    wake?.();
  };
  // The reader closed the stream, like `head`: this is not a failure.
  stream.on("error", end).on("close", end);
  return {
    async write(text) {
      if (hasEnded || stream.destroyed) return false;
      if (!stream.write(text)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          stream.once("drain", resolve);
        });
      }
      return !hasEnded;
    },
    close: async () => await Promise.resolve(void stream.off("error", end).off("close", end)),
  };
}

/** What a file is opened for. */
export interface Download {
  /** The options of the download, as words. It can be resumed only with the same ones. */
  readonly question: string;
  readonly range: LogRange;
  readonly isResuming: boolean;
}

const whole = z.int().nonnegative();
const savedDownload = z.object({
  version: z.literal(1),
  question: z.string(),
  /** The period, which relative times such as `7d` meant when the download started. */
  range: z.object({
    days: z.object({ firstDay: whole, lastDay: whole }),
    sinceMs: z.number().optional(),
    untilMs: z.number().optional(),
  }),
  nextDay: whole,
  /** How many bytes of the output are complete. */
  offset: whole,
  rows: whole,
});

type Checkpoint = Omit<z.output<typeof savedDownload>, "version">;

/** The rows contain personal data (IP addresses). */
const privateMode = 0o600;

/** @throws CommandError if another process is writing the file, or the options do not match the files that exist */
export async function openLogFile(path: string, download: Download): Promise<LogFile> {
  await statUserFile(path).catch(asCommandError());
  const failed = notWritable(path);
  const lock = new LockFile(`${path}.wafsync-lock`, { clock: realClock, command: "wafsync logs" });
  const locked = await lock.acquire().catch(failed);
  if (locked.state === "Busy") {
    throw new CommandError(
      `${path} is being written by ${locked.holder.by}`,
      "Wait until that process has ended, or choose another file.",
    );
  }
  try {
    const start = { ...download, nextDay: download.range.days.firstDay, offset: 0, rows: 0 };
    const found = await findCheckpoint(path, download);
    const checkpoint = { ...(found ?? start), isNew: found === undefined };
    const file = await open(path, "a", privateMode).catch(failed);
    if ((await file.stat()).size < checkpoint.offset) {
      await file.close();
      throw new CommandError(
        `cannot resume ${path}: the file is shorter than when the download stopped`,
        "Remove the file, and the file next to it that ends in .wafsync-resume. Then start again.",
      );
    }
    await file.truncate(checkpoint.offset);
    return logFile(path, file, lock, checkpoint);
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** For `catch`. */
function notWritable(path: string, hint?: string): (error: unknown) => never {
  return (error) => {
    throw new CommandError(`${path} cannot be written: ${fileProblem(error)}`, hint);
  };
}

async function findCheckpoint(path: string, { question, isResuming }: Download): Promise<Checkpoint | undefined> {
  const checkpoint = await loadCheckpoint(path);
  if (checkpoint === undefined && (await statUserFile(path)) !== undefined) {
    throw new CommandError(
      isResuming ? `${path} exists and is not an unfinished download` : `${path} exists already`,
      "Choose another name, or remove it first.",
    );
  }
  if (checkpoint !== undefined && !isResuming) {
    throw new CommandError(`${path} is an unfinished download`, "Add --resume to continue it, or remove it first.");
  }
  if (checkpoint !== undefined && checkpoint.question !== question) {
    throw new CommandError(
      `the unfinished download in ${path} was started with other options`,
      `It was started with ${checkpoint.question}.`,
    );
  }
  return checkpoint;
}

async function loadCheckpoint(path: string): Promise<Checkpoint | undefined> {
  const saved = checkpointPath(path);
  const text = await readFile(saved, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CommandError(`cannot read ${saved}: ${fileProblem(error)}`);
  });
  try {
    return text === undefined ? undefined : savedDownload.parse(JSON.parse(text));
  } catch {
    throw new CommandError(
      `${saved} is damaged, or was written by another version of wafsync`,
      `Remove it and ${path}, and start again without --resume.`,
    );
  }
}

function checkpointPath(path: string): string {
  return `${path}.wafsync-resume`;
}

export type LogFile = ReturnType<typeof logFile>;

function logFile(path: string, file: FileHandle, lock: LockFile, checkpoint: Checkpoint & { readonly isNew: boolean }) {
  const { question, range, nextDay, rows, isNew } = checkpoint;
  const { days, sinceMs, untilMs } = range;
  let { offset } = checkpoint;
  let isEmpty = isNew;
  const failed = notWritable(path, "The rows up to the last complete day are kept; continue with --resume.");
  return {
    /** The period of the run that started the download, and how far it came. */
    from: { range: { days, sinceMs, untilMs }, nextDay, rows, isNew },
    async write(text: string) {
      isEmpty = false;
      await file.appendFile(text).catch(failed);
      offset += Buffer.byteLength(text);
      return true;
    },
    async dayDone(next: number, rowsNow: number) {
      await file.datasync().catch(failed);
      const now = { version: 1, question, range, nextDay: next, offset, rows: rowsNow };
      await writeFileAtomically(checkpointPath(path), `${JSON.stringify(now)}\n`);
    },
    /** The download is complete. */
    async finish() {
      await file.datasync().catch(failed);
      await rm(checkpointPath(path), { force: true });
    },
    async close() {
      await file.close();
      // The first call failed.
      if (isEmpty) await rm(path, { force: true });
      lock.release();
    },
  };
}
