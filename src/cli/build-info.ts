// Values that the build injects. They are unset when the program runs from source.

declare const WAFSYNC_COMMIT: string | undefined;

/** The Git commit of the build, with the suffix `-dirty` if there were uncommitted changes. */
export function builtCommit(): string | undefined {
  return typeof WAFSYNC_COMMIT === "string" && WAFSYNC_COMMIT !== "" ? WAFSYNC_COMMIT : undefined;
}
