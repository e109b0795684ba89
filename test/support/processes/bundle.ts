// The shipped bundle, built once for a whole test run: the process that starts jest builds it and passes on its
// location.
import { join } from "node:path";

/** The environment variable with the folder of the bundle. */
export const bundleVariable = "WAFSYNC_TEST_BUNDLE";

export interface Bundle {
  /** All shipped files of the bundle, and no others. */
  readonly folder: string;
  /** The executable file. */
  readonly program: string;
  /** esbuild's description of the bundle. */
  readonly metafile: string;
}

export function bundleIn(folder: string): Bundle {
  const shipped = join(folder, "dist");
  return { folder: shipped, program: join(shipped, "wafsync.mjs"), metafile: join(folder, "metafile.json") };
}

/** The command that builds it, to be run in the root of the repository. */
export function buildCommand({ program, metafile }: Bundle): readonly string[] {
  return [process.execPath, "scripts/build.ts", program, metafile];
}
