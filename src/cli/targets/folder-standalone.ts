// Opens a folder for runs of a command, with the same limits as `apply` and `plan`.
import packageJson from "../../../package.json" with { type: "json" };
import { readEnvironment } from "../../app/config.ts";
import { environmentKeyOf } from "../../app/base-url-policy.ts";
import type { OpenedStandalone, StandaloneOptions } from "../../app/standalone.ts";
import { openStandalone } from "../../app/standalone.ts";
import { realClock } from "../../async/clock.ts";
import type { Redactor } from "../../model/redactor.ts";
import { processLocks } from "../process-locks.ts";
import type { TargetOptions } from "./target.ts";
import { policyOf } from "./target.ts";

export interface FolderPlace {
  readonly directory: string;
  readonly stateDirectory: string;
  readonly options: TargetOptions;
  readonly redactor: Redactor;
}

export async function openFolderStandalone(
  { directory, stateDirectory, options, redactor }: FolderPlace,
  how: Pick<StandaloneOptions, "isDryRun" | "stopping" | "observer"> & { readonly command: string },
): Promise<OpenedStandalone> {
  const baseUrls = policyOf(options);
  return await openStandalone({
    ...how,
    directory,
    stateDirectory,
    baseUrls,
    feedPolicy: { allowInsecureHttp: options.allowInsecureHttp, allowPrivateFeeds: false },
    version: packageJson.version,
    environmentKey: environmentKeyOf(readEnvironment(), baseUrls.allowedBaseUrls),
    clock: realClock,
    random: Math.random,
    redactor,
    locks: processLocks(how.command),
  });
}
