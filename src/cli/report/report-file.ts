// Writes a report completely or not at all, and never overwrites a file that is not a report.
import { randomUUID } from "node:crypto";
import { access, constants, open, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError } from "../describe-error.ts";
import { errorCode } from "../logs/log-checkpoint.ts";
import { reportMark } from "./report-mark.ts";

/** The mark of a report is within the first bytes of the file. */
const headBytes = 4096;

/** Call this before the long work starts. @throws CommandError if the file exists and is not a report */
export async function checkReportFile(path: string): Promise<void> {
  // The page is written next to the file first, which then takes its place: it must be one, and not a device or a pipe.
  await access(dirname(path), constants.W_OK).catch((error: unknown) => {
    throw new CommandError(`${path} cannot be written (${errorCode(error)})`);
  });
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() === false) throw new CommandError(`${path} is not a file`, "Choose another name.");
  const head = await readHead(path);
  if (head === undefined || head === "" || head.includes(reportMark)) return;
  throw new CommandError(`${path} exists and is not a report`, "Choose another name, or remove it first.");
}

/** @throws CommandError */
export async function writeReportFile(path: string, page: string): Promise<void> {
  await checkReportFile(path);
  const draft = `${path}.${randomUUID()}.tmp`;
  try {
    // The page contains personal data (IP addresses).
    await writeFile(draft, page, { flag: "wx", mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new CommandError(`${path} cannot be written (${errorCode(error)})`);
  }
}

/** Undefined if there is no file. */
async function readHead(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, "r");
    const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new CommandError(`${path} cannot be written (${errorCode(error)})`);
  }
}
