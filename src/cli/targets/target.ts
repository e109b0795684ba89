// The target of a command: the instances of a folder or a cluster, each with everything that is known about it.
import type { BaseUrlPolicy } from "../../app/base-url-policy.ts";
import { readAllowedBaseUrls } from "../../app/base-url-policy.ts";
import type { CalledWaf, ReadingWaf } from "../../app/waf-clients.ts";
import type { ApiKey } from "../../model/api-key.ts";
import type { DeclaredInstance, DeclaredRule, ListName } from "../../model/declared.ts";
import type { Entry } from "../../address/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { HistoryEvent } from "../../model/history.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Redactor } from "../../model/redactor.ts";
import type { FieldSetter, ObjectName, ResourceMeta, ResourceRef } from "../../model/resource.ts";
import { isNameOfNamespace, isNameOfObject, nameKey } from "../../model/resource.ts";
import { CommandError } from "../describe-error.ts";
import type { LastBlocked } from "../last-blocked.ts";
import type { ChangeOutcome, OnHold, RuleChanges, WaitOptions } from "./rule-changes.ts";

export interface TargetOptions {
  readonly from?: string;
  readonly state?: string;
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly instance?: string;
  readonly allowInsecureHttp: boolean;
  readonly allowedBaseUrls?: string;
}

export type LiveLists =
  | {
      readonly state: "Read";
      readonly lists: Readonly<Record<ListName, readonly string[]>>;
      /** Undefined if it was not requested, or if the instance does not use the logs. */
      readonly lastBlocked?: LastBlocked | undefined;
    }
  | { readonly state: "Unread"; readonly why: string };

export interface InstanceSight {
  readonly gathered: Gathered;
  /** Undefined if the user may not read it. */
  readonly inventory: Inventory | undefined;
  readonly live: LiveLists;
  /** Rules that refer to an instance which does not exist, and why. */
  readonly unattached: readonly { readonly rule: DeclaredRule; readonly message: string }[];
  /** What the result does not consider, one sentence each. */
  readonly gaps: readonly string[];
  /** `rules.yaml:12` in a folder; undefined in a cluster. */
  readonly placeOf: (meta: ResourceMeta, source: string | undefined) => string | undefined;
  readonly statusOf: (object: ResourceRef) => Readonly<Record<string, unknown>> | undefined;
  /** Who last changed the declaration, and when; undefined if unknown. */
  readonly setterOf: (meta: ResourceMeta) => Promise<FieldSetter | undefined>;
}

/** An instance before the lists of its WAF were read. */
export type UnreadSight = Omit<InstanceSight, "live">;

export interface SeenObject extends ResourceRef {
  /** As reported; undefined before the first report. */
  readonly status: Readonly<Record<string, unknown>> | undefined;
}

export interface SeenInstance extends SeenObject {
  readonly kind: "WafInstance";
  readonly baseUrl: string;
  readonly isSuspended: boolean;
}

/** An object that refers to an instance. */
export interface SeenAttached extends SeenObject {
  /** Undefined if the reference can't be read. */
  readonly instance: ObjectName | undefined;
  /** Why the rule exists, in its author's words. */
  readonly description?: string | undefined;
}

export interface Seen {
  readonly atMs: number;
  /** `in folder waf/`, or `in namespace shop`. */
  readonly where: string;
  /** Ordered by name, like the feeds. */
  readonly instances: readonly SeenInstance[];
  readonly attached: readonly SeenAttached[];
  readonly feeds: readonly SeenObject[];
  /** Why nothing could be read, and what to do about it. If this is set, there are no objects. */
  readonly refused: string | undefined;
  /** What could not be read, one sentence each. */
  readonly gaps: readonly string[];
}

export interface LookOptions {
  /** Also reads the lists of the WAF. */
  readonly live: boolean;
  /** Also finds the last blocked request of this address or network, if `spec.logs` is enabled. */
  readonly blocked?: Entry;
}

export interface Target {
  /** `in folder waf/`, or `in namespace shop`. */
  readonly where: string;
  /** The namespace of `-n`, or of the context; undefined in a folder. */
  readonly namespace: string | undefined;
  readonly redactor: Redactor;
  /** Ordered by name. @throws CommandError if they can't be listed */
  instances(): Promise<readonly ObjectName[]>;
  /** @throws CommandError if there is no such instance */
  look(instance: ObjectName, options: LookOptions): Promise<InstanceSight>;
  /**
   * The reported state of all objects. Reads files and objects again, but calls no WAF. In a cluster: of the instances in this
   * namespace, by default that of `-n`, or all that may be listed.
   */
  see(namespace?: string): Promise<Seen>;
  /** Lets `work` read from the WAF, unless another process is writing to it. */
  callWaf<T>(sight: UnreadSight, work: (waf: ReadingWaf) => Promise<T>): Promise<CalledWaf<T>>;
  /** The API key of the instance, or why it is unknown. */
  keyOf(gathered: Gathered): CalledWaf<ApiKey>;
  /** Whether another process, with which this one can't take turns, is writing to the WAF. */
  isWrittenByOthers(sight: UnreadSight): Promise<boolean>;
  /** The namespace for the rules of a command: the namespace of `-n`, or of the instance. */
  namespaceOfRules(instance: ObjectName): string;
  /** The location of a rule with this name, for messages. */
  placeOfRule(name: ObjectName): Promise<string>;
  /** Writes and removes rules, and optionally waits for the WAF. @throws CommandError if they can't be written */
  change(changes: RuleChanges, wait: WaitOptions | undefined): Promise<ChangeOutcome>;
  /** Deletes rules that have no effect any longer. Returns those that it could delete. */
  tidy(rules: readonly ObjectName[]): Promise<readonly ObjectName[]>;
  /** The removals that are on hold now. @throws CommandError if they are not known */
  removalsOnHold(instance: ObjectName): Promise<OnHold>;
  /** Approves exactly the removals of the hash. Returns where the approval is recorded. @throws CommandError if it can't be written */
  approve(instance: ObjectName, hash: string): Promise<string>;
  /** Oldest first. @throws CommandError if it may not be read */
  history(instance: ObjectName): Promise<readonly HistoryEvent[]>;
  close(): Promise<void>;
}

/** The API accepts one call at a time. */
export const busy = {
  ok: false,
  problem: "wafsync is already writing to this WAF, which accepts one call at a time.",
} as const;

/** Which base URLs the command may call. */
export function policyOf({
  allowInsecureHttp,
  allowedBaseUrls,
}: Pick<TargetOptions, "allowInsecureHttp" | "allowedBaseUrls">): BaseUrlPolicy {
  // The user who runs the command can reach private networks anyway.
  return { allowInsecureHttp, allowedBaseUrls: readAllowedBaseUrls(allowedBaseUrls), allowPrivateNetworks: true };
}

/** The instance that `--instance` selects, or all instances. @throws CommandError if there is none */
export async function chosenInstances(target: Target, wanted: string | undefined): Promise<readonly ObjectName[]> {
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  // Users who may not list instances can still name one.
  if (named?.namespace !== undefined) return [{ namespace: named.namespace, name: named.name }];
  return chosenFrom(await target.instances(), wanted, target);
}

/** The same from these instances. @throws CommandError if there is none */
export function chosenFrom<T extends ObjectName>(
  all: readonly T[],
  wanted: string | undefined,
  { where }: Pick<Target, "where">,
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
export async function onlyInstance(target: Target, wanted: string | undefined): Promise<ObjectName> {
  const [first, ...others] = await chosenInstances(target, wanted);
  if (first !== undefined && others.length === 0) return first;
  const names = [first, ...others].flatMap((one) => (one === undefined ? [] : [nameKey(one)]));
  throw new CommandError(
    `there are ${names.length} WafInstances ${target.where}`,
    `Select one with --instance: ${excerpt(names)}.`,
  );
}

function hintOf(all: readonly ObjectName[], where: string): string {
  if (all.length > 0) return `Available instances: ${excerpt(all.map(nameKey))}.`;
  return where.startsWith("in namespace")
    ? "Set -n NAMESPACE or --instance NAMESPACE/NAME; `kubectl get wafinstances -A` lists all of them."
    : "Declare one in it, or set -f to another folder.";
}

function excerpt(names: readonly string[]): string {
  const shownMax = 10;
  const more = names.length > shownMax ? ` and ${names.length - shownMax} more` : "";
  return `${names.slice(0, shownMax).join(", ")}${more}`;
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
export function planningWords(options: TargetOptions, { baseUrl }: Pick<DeclaredInstance, "baseUrl">): string {
  const allowInsecureHttp = options.allowInsecureHttp || (options.from !== undefined && baseUrl.startsWith("http://"));
  return targetWords({ ...options, allowInsecureHttp });
}

/** For a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The objects that refer to each instance, by its name. */
export function attachedByInstance({ attached }: Seen): ReadonlyMap<string, readonly SeenAttached[]> {
  return Map.groupBy(attached, ({ instance }) => (instance === undefined ? "" : nameKey(instance)));
}

export function byName<T extends ObjectName>(objects: readonly T[]): T[] {
  return objects.toSorted((a, b) => (nameKey(a) < nameKey(b) ? -1 : 1));
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
