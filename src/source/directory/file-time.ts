// How long ago the files of a directory last changed, by the clock of their own file system: the time of a file that is created
// for this purpose. Only the times that a file system sets by itself (ctime) count, since programs such as rsync and tar set the
// others. Without such a proof, the caller has to watch the files for a while.
import { randomUUID } from "node:crypto";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { refuseLinks, temporarySuffix } from "./atomic-file.ts";

export interface FileTime {
  /** The file system. */
  readonly device: bigint;
  readonly ns: bigint;
}

/** Without the time of any file or folder, or with those of several file systems, nothing is known. */
export type LastChange = FileTime | undefined;

const nsPerMs = 1_000_000n;

/** The time of the file system that the folder is on. Undefined if nothing can be written there. */
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

/** @param now read before the files were */
export function unchangedMs(lastChange: LastChange, now: FileTime): number {
  if (lastChange?.device !== now.device) return 0;
  return Math.max(0, Number((now.ns - lastChange.ns) / nsPerMs));
}
