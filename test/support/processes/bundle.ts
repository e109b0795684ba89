// The bundle that ships, built once for a whole run of the tests: the process that starts jest builds it and passes on where
// it is.
import { join } from "node:path";

/** The name of the environment variable that tells the suites in which folder the bundle was built. */
export const bundleVariable = "WAFSYNC_TEST_BUNDLE";

export interface Bundle {
  /** Everything that ships of it, and nothing else. */
  readonly folder: string;
  /** The file that is run. */
  readonly program: string;
  /** What esbuild wrote about the bundle. */
  readonly metafile: string;
}

export function bundleIn(folder: string): Bundle {
  const shipped = join(folder, "dist");
  return { folder: shipped, program: join(shipped, "wafsync.mjs"), metafile: join(folder, "metafile.json") };
}

/** Builds it, run from the root of the repository. */
export function buildCommand({ program, metafile }: Bundle): readonly string[] {
  return [process.execPath, "scripts/build.ts", program, metafile];
}
