// What the build writes into the program. From the sources, nothing is written in.

declare const WAFSYNC_COMMIT: string | undefined;

/** The Git commit that the program was built from; `-dirty` behind it means that there were other changes. */
export function builtCommit(): string | undefined {
  return typeof WAFSYNC_COMMIT === "string" && WAFSYNC_COMMIT !== "" ? WAFSYNC_COMMIT : undefined;
}
