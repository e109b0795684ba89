// The output of the rows: a stream that another program reads, or a file that can be resumed. Both write text in order and
// make the caller wait while they are busy.
import { open } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import type { Writable } from "node:stream";
import { CommandError } from "../describe-error.ts";
import { fileProblem } from "../../source/directory/atomic-file.ts";

export interface LogOutput {
  /** @returns false if the reader has closed the stream */
  write(text: string): Promise<boolean>;
  /** Syncs a file to the disk. @returns the length of the output in bytes */
  settle(): Promise<number>;
  close(): Promise<void>;
}

/** A pipe or a terminal. It is not closed, because it belongs to the process. */
export function createStreamOutput(stream: Writable): LogOutput {
  let written = 0;
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
      written += Buffer.byteLength(text);
      if (!stream.write(text)) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          stream.once("drain", resolve);
        });
      }
      return !hasEnded;
    },
    settle: async () => await Promise.resolve(written),
    async close() {
      stream.off("error", end).off("close", end);
      await Promise.resolve();
    },
  };
}

/** The rows contain personal data (IP addresses). */
const privateMode = 0o600;

/** Opens the file and truncates it at `offset`; 0 creates a new file. @throws CommandError */
export async function openFileOutput(path: string, offset: number): Promise<LogOutput> {
  const file = await open(path, offset === 0 ? "w" : "r+", privateMode).catch((error: unknown) => {
    throw new CommandError(`${path} cannot be written: ${fileProblem(error)}`);
  });
  const { size } = await file.stat();
  if (size < offset) {
    await file.close();
    throw new CommandError(
      `cannot resume ${path}: the file is shorter than when the download stopped`,
      "Remove the file, and the file next to it that ends in .wafsync-resume. Then start again.",
    );
  }
  await file.truncate(offset);
  return fileOutput(path, file, offset);
}

function fileOutput(path: string, file: FileHandle, offset: number): LogOutput {
  let position = offset;
  const failed = (error: unknown): never => {
    throw new CommandError(
      `${path} cannot be written: ${fileProblem(error)}`,
      "The rows up to the last complete day are kept; continue with --resume.",
    );
  };
  return {
    async write(text) {
      const bytes = Buffer.from(text);
      let done = 0;
      while (done < bytes.length) {
        const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done).catch(failed);
        done += bytesWritten;
      }
      position += bytes.length;
      return true;
    },
    async settle() {
      await file.datasync().catch(failed);
      return position;
    },
    async close() {
      await file.close();
    },
  };
}
