// The checkpoint of a download: a file next to the output that records up to which byte the output is complete, and which days it
// covers. It is written after a day has reached the disk. When a download resumes, any bytes after that position are truncated, and the
// unfinished day is read again.
import { readFile, rm } from "node:fs/promises";
import * as z from "zod";
import { fileProblem, writeFileAtomically } from "../../source/directory/atomic-file.ts";
import { CommandError } from "../describe-error.ts";

const whole = z.int().nonnegative();

const checkpoint = z.object({
  version: z.literal(1),
  /** The options of the download, as words. It can be resumed only with the same ones. */
  question: z.string(),
  /** The period, which relative times such as `7d` meant when the download started. */
  range: z.object({
    days: z.object({ firstDay: whole, lastDay: whole }),
    sinceMs: z.number().optional(),
    untilMs: z.number().optional(),
  }),
  position: z.object({
    nextDay: whole,
    /** How many bytes of the output are complete. */
    offset: whole,
    rows: whole,
  }),
});

export type LogCheckpoint = Omit<z.output<typeof checkpoint>, "version">;
export type LogPosition = LogCheckpoint["position"];

function checkpointPath(outputFile: string): string {
  return `${outputFile}.wafsync-resume`;
}

export async function saveCheckpoint(outputFile: string, saved: LogCheckpoint): Promise<void> {
  await writeFileAtomically(checkpointPath(outputFile), `${JSON.stringify({ version: 1, ...saved })}\n`);
}

export async function removeCheckpoint(outputFile: string): Promise<void> {
  await rm(checkpointPath(outputFile), { force: true });
}

/** Undefined if there is no checkpoint. @throws CommandError if it cannot be read */
export async function loadCheckpoint(outputFile: string): Promise<LogCheckpoint | undefined> {
  const path = checkpointPath(outputFile);
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CommandError(`cannot read ${path}: ${fileProblem(error)}`);
  });
  if (text === undefined) return undefined;
  try {
    return checkpoint.parse(JSON.parse(text));
  } catch {
    throw new CommandError(
      `${path} is damaged, or was written by another version of wafsync`,
      `Remove it and ${outputFile}, and start again without --resume.`,
    );
  }
}
