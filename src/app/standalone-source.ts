// The folder with the declared objects, as plan, apply and run read it.
import type { Clock } from "../async/clock.ts";
import { createDirectorySource } from "../source/directory/directory-source.ts";
import type { DirectorySource } from "../source/directory/directory-source.ts";
import type { EnvironmentKey } from "../source/directory/environment-key.ts";
import { readFileTime } from "../source/directory/file-time.ts";

export interface StandaloneSourceOptions {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly environmentKey: EnvironmentKey | undefined;
  /** A dry run creates no file. */
  readonly isDryRun: boolean;
  readonly clock: Clock;
}

export function openSource(options: StandaloneSourceOptions): DirectorySource {
  const { directory, stateDirectory, environmentKey, isDryRun, clock } = options;
  return createDirectorySource({
    directory,
    stateDirectory,
    environmentKey,
    clock,
    ...(isDryRun ? {} : { readFileTime: async () => await readFileTime(stateDirectory) }),
  });
}
