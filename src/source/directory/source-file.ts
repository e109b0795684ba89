// Reads one file as text. Distinguishes permanent faults, which the user has to fix, from transient ones: a file that
// disappears or changes while it is read is read again by the next scan.
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import type { BigIntStats } from "node:fs";
import { sourceFault } from "./source-fault.ts";
import type { SourceFault } from "./source-fault.ts";

export const fileBytesMax = 4 * 1024 * 1024;

export interface FoundFile {
  /** Relative to the directory, with `/`. */
  readonly file: string;
  readonly path: string;
  /** Device, inode, size and times of the file: changes with the content. */
  readonly stamp: string;
}

export type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: SourceFault };

/** Identifies a version of the file's content without reading it. */
export function fileStamp(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(" ");
}

/** The text of the file, if it has not changed since it was found. Never throws. */
export async function readSourceFile(found: FoundFile): Promise<ReadText> {
  const refuse = (message: string, overrides: Partial<SourceFault> = {}): ReadText => ({
    ok: false,
    fault: sourceFault(found.file, message, overrides),
  });
  const changed = (): ReadText =>
    refuse("the file changed while it was being read; wafsync will read it again", { isTransient: true });
  let bytes: Buffer;
  try {
    // Non-blocking, because the file may have been replaced by a pipe.
    await using file = await open(found.path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = await file.stat({ bigint: true });
    if (!before.isFile()) return refuse("not a regular file");
    if (before.size > BigInt(fileBytesMax)) return refuse(tooBig(before.size));
    if (fileStamp(before) !== found.stamp) return changed();
    bytes = Buffer.alloc(Number(before.size));
    let length = 0;
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
      if (bytesRead === 0) return changed();
      length += bytesRead;
    }
    if (fileStamp(await file.stat({ bigint: true })) !== found.stamp) return changed();
  } catch (error) {
    return { ok: false, fault: accessFault(found.file, error) };
  }
  const decoded = decodeText(bytes);
  return decoded.ok ? decoded : refuse(decoded.message, { line: decoded.line });
}

/** Why a file or folder cannot be accessed. */
export function accessFault(file: string, error: unknown): SourceFault {
  const code = (error as NodeJS.ErrnoException).code ?? "unknown error";
  if (code === "ENOENT" || code === "ESTALE") {
    const message = "the file disappeared while it was being read; wafsync will look for it again";
    return sourceFault(file, message, { isTransient: true });
  }
  if (code === "EACCES" || code === "EPERM") return sourceFault(file, "cannot be read: permission denied");
  return sourceFault(file, `cannot be read (${code})`, { isTransient: true });
}

function tooBig(size: bigint): string {
  const megabytes = (Number(size) / 1024 / 1024).toFixed(1);
  return `the file has ${megabytes} MiB, but the limit is ${fileBytesMax / 1024 / 1024} MiB: split it`;
}

type DecodedText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly message: string; readonly line: number | undefined };

function decodeText(bytes: Buffer): DecodedText {
  const mark = bytes.subarray(0, 2).toString("hex");
  if (mark === "fffe" || mark === "feff") {
    return { ok: false, message: "the file is UTF-16: save it as UTF-8", line: undefined };
  }
  const nul = bytes.indexOf(0);
  if (nul >= 0) return { ok: false, message: "the file is binary, or not UTF-8", line: lineOfByte(bytes, nul) };
  try {
    // The decoder drops a byte order mark.
    return { ok: true, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    const replaced = bytes.toString("utf8").indexOf("\uFFFD");
    const line = bytes.toString("utf8").slice(0, Math.max(0, replaced)).split("\n").length;
    return { ok: false, message: "the file is not UTF-8: save it as UTF-8", line };
  }
}

function lineOfByte(bytes: Buffer, offset: number): number {
  return bytes.subarray(0, offset).toString("latin1").split("\n").length;
}
