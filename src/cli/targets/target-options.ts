// The options that select the target of a command and its instances, and the words that select them again in suggested commands.
import { type BaseUrlPolicy, readAllowedBaseUrls } from "../../app/base-url-policy.ts";
import { type ObjectName, isNameOfNamespace, isNameOfObject, nameKey } from "../../model/resource.ts";
import { listed } from "../../model/texts.ts";
import type { OptionsOf } from "../commands/declare.ts";
import type { targetOptions } from "../commands/option-groups.ts";
import { CommandError } from "../describe-error.ts";
import type { Target } from "./target.ts";

export type TargetOptions = Partial<OptionsOf<typeof targetOptions>> & { readonly allowInsecureHttp: boolean };

/** Which base URLs the command may call. */
export function policyOf({
  allowInsecureHttp,
  allowedBaseUrls,
}: Pick<TargetOptions, "allowInsecureHttp" | "allowedBaseUrls">): BaseUrlPolicy {
  // The user who runs the command can reach private networks anyway.
  return { allowInsecureHttp, allowedBaseUrls: readAllowedBaseUrls(allowedBaseUrls), allowPrivateNetworks: true };
}

const namesShownMax = 10;

type KnownInstances = Pick<Target, "where" | "instances">;

/** The instance that `--instance` selects, or all instances. @throws CommandError if there is none */
export async function chosenInstances(
  target: KnownInstances,
  wanted: string | undefined,
): Promise<readonly ObjectName[]> {
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  // Users who may not list instances can still name one.
  if (named?.namespace !== undefined) return [{ namespace: named.namespace, name: named.name }];
  return chosenFrom(await target.instances(), wanted, target);
}

/** The same from these instances. @throws CommandError if there is none */
export function chosenFrom<T extends ObjectName>(
  all: readonly T[],
  wanted: string | undefined,
  { where }: Pick<KnownInstances, "where">,
): readonly T[] {
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  const fitting = all.filter(
    ({ namespace, name }) =>
      named === undefined || (named.name === name && (named.namespace ?? namespace) === namespace),
  );
  if (fitting.length > 0) return fitting;
  throw new CommandError(
    `there is no WafInstance ${wanted === undefined ? "" : `${wanted} `}${where}`,
    hintOf(all, where),
  );
}

/** The only instance that the command can use. @throws CommandError that lists the others */
export async function onlyInstance(target: KnownInstances, wanted: string | undefined): Promise<ObjectName> {
  const chosen = await chosenInstances(target, wanted);
  const [first] = chosen;
  if (first !== undefined && chosen.length === 1) return first;
  throw new CommandError(
    `there are ${chosen.length} WafInstances ${target.where}`,
    `Select one with --instance: ${listed(chosen.map(nameKey), namesShownMax)}.`,
  );
}

function hintOf(all: readonly ObjectName[], where: string): string {
  if (all.length > 0) return `Available instances: ${listed(all.map(nameKey), namesShownMax)}.`;
  if (where.startsWith("in folder")) return "Declare one in it, or set -f to another folder.";
  return "Set -n NAMESPACE or --instance NAMESPACE/NAME; `kubectl get wafinstances -A` lists all of them.";
}

/**
 * The options that select the same target, for the commands that hints suggest: `-f waf/ ` or `--context staging `, with a space at
 * the end; empty for the current context.
 */
export function targetWords(options: TargetOptions): string {
  const { from, state, kubeconfig, context, allowInsecureHttp, allowedBaseUrls } = options;
  const words: string[] = [];
  if (from !== undefined) words.push("-f", quoted(from));
  if (state !== undefined) words.push("--state", quoted(state));
  if (kubeconfig !== undefined) words.push("--kubeconfig", quoted(kubeconfig));
  if (context !== undefined) words.push("--context", quoted(context));
  if (allowedBaseUrls !== undefined) words.push("--allowed-base-urls", quoted(allowedBaseUrls));
  if (allowInsecureHttp) words.push("--allow-insecure-http");
  return words.map((word) => `${word} `).join("");
}

/**
 * The same for a suggested command that calls the WAF although this one did not: with a folder, it may have to allow `http://`.
 */
export function planningWords(
  options: TargetOptions,
  { baseUrl = "" }: { readonly baseUrl?: string | undefined },
): string {
  const allowInsecureHttp = options.allowInsecureHttp || (options.from !== undefined && baseUrl.startsWith("http://"));
  return targetWords({ ...options, allowInsecureHttp });
}

/** For a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Accepts `NAME`, without a namespace, or `NAMESPACE/NAME`. @throws CommandError if the text is neither */
export function parseInstanceName(text: string): Pick<ObjectName, "name"> & Partial<ObjectName> {
  const [first = "", second, ...more] = text.split("/");
  const parsed: ReturnType<typeof parseInstanceName> =
    second === undefined ? { name: first } : { namespace: first, name: second };
  const isNamespace = parsed.namespace === undefined || isNameOfNamespace(parsed.namespace);
  if (more.length === 0 && isNamespace && isNameOfObject(parsed.name)) return parsed;
  throw new CommandError(
    `--instance ${text} is not the name of an instance`,
    "Write NAME or NAMESPACE/NAME, for example --instance shop/shop.",
  );
}
