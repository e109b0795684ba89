// The checkpoint of a download: a file next to the output that records up to which byte the output is complete, and which days it
// covers. It is written after a day has reached the disk. When a download resumes, any bytes after that position are truncated, and the
// unfinished day is read again.
import { readFile, rm } from "node:fs/promises";
import * as z from "zod";
import { fileProblem, writeFileAtomically } from "../../source/directory/atomic-file.ts";
import { CommandError } from "../describe-error.ts";
import { quoted } from "../targets/target-options.ts";

const whole = z.int().nonnegative();

const checkpoint = z.object({
  version: z.literal(1),
  /** The options of the download, as they were written. It can be resumed only with the same ones. */
  question: z.object({
    baseUrl: z.string(),
    format: z.string(),
    since: z.string().optional(),
    until: z.string().optional(),
    filters: z.record(z.string(), z.array(z.string()).readonly()),
  }),
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
export type LogQuestion = LogCheckpoint["question"];
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
  const parsed = checkpoint.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new CommandError(
    `${path} is damaged, or was written by another version of wafsync`,
    `Remove it and ${outputFile}, and start again without --resume.`,
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws CommandError if the options differ from those of the unfinished download */
export function requireSameQuestion(outputFile: string, question: LogQuestion, before: LogQuestion): void {
  if (JSON.stringify(question) === JSON.stringify(before)) return;
  const { baseUrl, format, since, until, filters } = before;
  const options = [
    ["base-url", baseUrl],
    ["since", since],
    ["until", until],
    ["output", format],
  ] as const;
  const texts = [
    ...options,
    ...Object.entries(filters).flatMap(([name, all]) => all.map((text) => [name, text] as const)),
  ];
  const words = texts.flatMap(([name, text]) => (text === undefined ? [] : [`--${name} ${quoted(text)}`]));
  throw new CommandError(
    `the unfinished download in ${outputFile} was started with other options`,
    `It was started with ${words.join(" ")}.`,
  );
}
