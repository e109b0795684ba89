// Finds the WAF whose logs to read: the WAF in the options, or one of the instances that a directory declares.
import { readEnvironment } from "../../app/config.ts";
import { baseUrlObjection, environmentKeyOf, readAllowedBaseUrls } from "../../app/base-url-policy.ts";
import { realClock } from "../../async/clock.ts";
import type { ApiKey } from "../../model/api-key.ts";
import { nameKey } from "../../model/resource.ts";
import type { ObjectName } from "../../model/resource.ts";
import { type LogPlan, logPlans } from "../../plan/logs/log-days.ts";
import { createDirectorySource } from "../../source/directory/directory-source.ts";
import { CommandError } from "../describe-error.ts";
import type { DeclaredKey } from "../key-hint.ts";
import { readApiKey } from "../read-api-key.ts";
import { requireFolder } from "../require-folder.ts";

export interface LogSourceOptions {
  readonly baseUrl?: string;
  readonly keyFile?: string;
  readonly from?: string;
  readonly state?: string;
  readonly instance?: string;
  readonly allowInsecureHttp: boolean;
  readonly allowedBaseUrls?: string;
}

export interface LogSource {
  readonly baseUrl: string;
  readonly key: ApiKey;
  /** The plan that the instance declares. */
  readonly plan: LogPlan | undefined;
  readonly minRequestIntervalMs: number;
  /** The instance of a directory; undefined if the WAF was given by options. */
  readonly instance: ObjectName | undefined;
  /** Where its key is declared; undefined with `instance`. */
  readonly declared: DeclaredKey | undefined;
}

/** @throws CommandError that names the missing option */
export async function findLogSource(options: LogSourceOptions): Promise<LogSource> {
  const found = options.from === undefined ? await fromOptions(options) : await fromDirectory(options, options.from);
  const { allowInsecureHttp } = options;
  const policy = {
    allowInsecureHttp,
    allowedBaseUrls: readAllowedBaseUrls(options.allowedBaseUrls),
    allowPrivateNetworks: true,
  };
  const objection = baseUrlObjection(policy, found.baseUrl);
  if (objection === undefined) return found;
  throw new CommandError(options.from === undefined ? objection.replace("spec.baseUrl", "--base-url") : objection);
}

async function fromOptions({ baseUrl, keyFile, instance }: LogSourceOptions): Promise<LogSource> {
  if (instance !== undefined) throw new CommandError("--instance needs a folder", "Add -f DIR.");
  if (baseUrl === undefined) {
    throw new CommandError(
      "no WAF given",
      "Set --base-url https://… and the API key in WAFSYNC_API_KEY or --key-file, or set -f to the folder that declares the WAF.",
    );
  }
  return {
    baseUrl,
    key: await readApiKey(keyFile),
    plan: undefined,
    minRequestIntervalMs: 0,
    instance: undefined,
    declared: undefined,
  };
}

async function fromDirectory(options: LogSourceOptions, directory: string): Promise<LogSource> {
  if (options.baseUrl !== undefined || options.keyFile !== undefined) {
    throw new CommandError(
      "-f cannot be combined with --base-url and --key-file",
      "Use either -f, or --base-url and --key-file.",
    );
  }
  await requireFolder(directory, options.state);
  const environmentKey = environmentKeyOf(readEnvironment(), readAllowedBaseUrls(options.allowedBaseUrls));
  const source = createDirectorySource({ directory, stateDirectory: undefined, environmentKey, clock: realClock });
  await source.load();
  const instance = chooseInstance(source.instances(), options.instance, directory);
  const gathered = await source.gather(instance);
  await source.close();
  if (gathered === undefined) throw new CommandError(`cannot read the instance in ${directory}`);
  if (gathered.key.state === "Missing") throw new CommandError(gathered.key.problem);
  const { baseUrl, logs, minRequestIntervalMs } = gathered.instance;
  const plan = logPlans.find((one) => one === logs.plan);
  return {
    baseUrl,
    key: gathered.key.key,
    plan,
    minRequestIntervalMs,
    instance,
    declared: { instance: gathered.instance, isInFolder: true },
  };
}

function chooseInstance(instances: readonly ObjectName[], wanted: string | undefined, directory: string): ObjectName {
  const names = instances.map(nameKey).join(", ");
  if (instances.length === 0) {
    throw new CommandError(`${directory} declares no WafInstance`, "Declare one in it, or set -f to another folder.");
  }
  const fitting = instances.filter((one) => wanted === undefined || nameKey(one) === wanted || one.name === wanted);
  const [only] = fitting;
  if (only !== undefined && fitting.length === 1) return only;
  if (fitting.length > 1)
    throw new CommandError(`${directory} declares several instances: ${names}`, "Select one with --instance.");
  throw new CommandError(`${directory} declares no WafInstance ${wanted ?? ""}`, `It declares ${names}.`);
}
