// Determines how long ago the files of a directory last changed, by the clock of their own file system: the time of a file that is
// created for this purpose. Only ctime counts, because file systems set it themselves, whereas programs such as rsync and tar set the
// other times. Without such a proof, the caller has to watch the files for a while.
import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { refuseLinks, temporarySuffix } from "./atomic-file.ts";

export interface FileTime {
  /** Identifies the file system. */
  readonly device: bigint;
  readonly ns: bigint;
}

/** Undefined if unknown: a time is missing, or the files are on several file systems. */
export type LastChange = FileTime | undefined;

const nsPerMs = 1_000_000n;

/** The current time of the folder's file system. Undefined if the folder is not writable. */
export async function readFileTime(folder: string): Promise<FileTime | undefined> {
  const path = join(folder, `.${randomUUID()}${temporarySuffix}`);
  try {
    await refuseLinks([folder]);
    await using file = await open(path, "wx", 0o600);
    const { dev, ctimeNs } = await file.stat({ bigint: true });
    return { device: dev, ns: ctimeNs };
  } catch {
    return undefined;
  } finally {
    await rm(path, { force: true }).catch(() => undefined);
  }
}

/** The later change of two. Undefined if they are on different file systems, whose clocks may differ. */
export function laterChange(one: LastChange, other: LastChange): LastChange {
  if (one?.device !== other?.device) return undefined;
  return one !== undefined && other !== undefined && one.ns > other.ns ? one : other;
}

/** @param now must be read before the files */
export function unchangedMs(lastChange: LastChange, now: FileTime): number {
  if (lastChange?.device !== now.device) return 0;
  return Math.max(0, Number((now.ns - lastChange.ns) / nsPerMs));
}
