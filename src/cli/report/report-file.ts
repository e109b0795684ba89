// Writes a report completely or not at all, and never overwrites a file that is not a report.
import { access, constants, open } from "node:fs/promises";
import { dirname } from "node:path";
import { fileProblem, statUserFile, writeUserFile } from "../../source/directory/atomic-file.ts";
import { asCommandError, CommandError } from "../describe-error.ts";

/** Identifies a file as a report. */
export const reportMark = '<meta name="generator" content="wafsync report">';
/** The mark of a report is within the first bytes of the file. */
const headBytes = 4096;
/** The page contains personal data (IP addresses). */
const privateMode = 0o600;

/** Call this before the long work starts. @throws CommandError if the file exists and is not a report */
export async function checkReportFile(path: string): Promise<void> {
  const known = await statUserFile(path).catch(asCommandError());
  await access(known === undefined ? dirname(path) : path, constants.W_OK).catch((error: unknown) => {
    throw new CommandError(`${path} cannot be written: ${fileProblem(error)}`);
  });
  if (known === undefined || known.size === 0) return;
  await using file = await open(path, "r").catch(asCommandError());
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  if (buffer.toString("utf8", 0, bytesRead).includes(reportMark)) return;
  throw new CommandError(`${path} exists and is not a report`, "Choose another name, or remove it first.");
}

/** @throws CommandError */
export async function writeReportFile(path: string, page: string): Promise<void> {
  await checkReportFile(path);
  await writeUserFile(path, page, privateMode).catch(asCommandError());
}
