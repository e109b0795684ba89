// The target of a command: the instances of a folder or a cluster, each with everything that is known about it.
import type { BaseUrlPolicy } from "../../app/base-url-policy.ts";
import { readAllowedBaseUrls } from "../../app/base-url-policy.ts";
import type { CalledWaf, ReadingWaf } from "../../app/waf-clients.ts";
import type { HeldGroup } from "../../api/waf-instance.ts";
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { HistoryEvent } from "../../model/history.ts";
import type { Inventory, LoadedInventory } from "../../model/inventory.ts";
import type { Redactor } from "../../model/redactor.ts";
import type { FieldSetter, ObjectName, ResourceMeta, ResourceRef } from "../../model/resource.ts";
import { nameKey } from "../../model/resource.ts";
import { CommandError } from "../describe-error.ts";
import type { LastBlocked } from "../last-blocked.ts";
import { parseInstanceName } from "../instance-name.ts";
import type { ChangeOutcome, RuleChanges, WaitOptions } from "./rule-changes.ts";
import type { Seen } from "./seen.ts";

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

export interface OnHold {
  /** The hash that approves all removals on hold; undefined if there are none, or if they can't be approved. */
  readonly hash: string | undefined;
  readonly groups: readonly HeldGroup[];
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
  /** Lets `work` read from the WAF. */
  callWaf<T>(sight: UnreadSight, work: (waf: ReadingWaf) => Promise<T>): Promise<CalledWaf<T>>;
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

/** Which base URLs the command may call. */
export function policyOf({ allowInsecureHttp, allowedBaseUrls }: TargetOptions): BaseUrlPolicy {
  // The user who runs the command can reach private networks anyway.
  return { allowInsecureHttp, allowedBaseUrls: readAllowedBaseUrls(allowedBaseUrls), allowPrivateNetworks: true };
}

/** @param read with the address whose last blocked request is wanted; undefined where the instance does not use the logs */
export async function withLists(
  sight: UnreadSight,
  { live, blocked }: LookOptions,
  read: (blocked: Entry | undefined) => Promise<CalledWaf<LiveLists>>,
): Promise<InstanceSight> {
  if (!live) return { ...sight, live: { state: "Unread", why: "This command does not read the WAF." } };
  const called = await read(sight.gathered.instance.logs.enabled ? blocked : undefined);
  return { ...sight, live: called.ok ? called.value : { state: "Unread", why: called.problem } };
}

/** Undefined without a record, too: a missing record, for example in a fresh clone, doesn't mean that nothing is managed. */
export function recorded(loaded: LoadedInventory): Inventory | undefined {
  return loaded.state === "Loaded" && loaded.revision !== "" ? loaded.inventory : undefined;
}

/** Why there is no record, for the gaps. */
export function unrecorded(loaded: LoadedInventory, instance: ObjectName, where: string): readonly string[] {
  if (loaded.state !== "Loaded") return [loaded.problem];
  if (loaded.revision !== "") return [];
  const what = `There is no record of ${nameKey(instance)} in ${where}.`;
  return [`${what} Without it, wafsync does not know which entries it manages.`];
}

/** The instance that `--instance` selects, or all instances. @throws CommandError if there is none */
export async function chosenInstances(target: Target, wanted: string | undefined): Promise<readonly ObjectName[]> {
  const named = wanted === undefined ? undefined : parseInstanceName(wanted);
  if (named?.namespace !== undefined) return [{ namespace: named.namespace, name: named.name }];
  const all = await target.instances();
  const fitting = named === undefined ? all : all.filter(({ name }) => name === named.name);
  if (fitting.length > 0) return fitting;
  if (named === undefined) throw new CommandError(`there is no WafInstance ${target.where}`, hintOf(all, target));
  throw new CommandError(`there is no WafInstance ${named.name} ${target.where}`, hintOf(all, target));
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

function hintOf(all: readonly ObjectName[], { where }: Target): string {
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
