// Shared by `block` and `unblock`: the addresses, the limits of waiting, the description of outcomes, and which rules of commands must
// go for addresses to be unblocked, and what then still blocks them.
import type { Entry } from "../address/entry.ts";
import { NetworkIndex, without } from "../address/ranges.ts";
import { realClock } from "../async/clock.ts";
import type { DeclaredInstance, DeclaredRule, ListName } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { compileDesired } from "../decide/desired.ts";
import type { RuleCommandOptions } from "./commands/incident-commands.ts";
import { parseAddress } from "./arguments.ts";
import { type CommandRule, declaredRule, entriesOf, isCommandRule } from "./command-rule.ts";
import { CommandError } from "./describe-error.ts";
import { withTarget } from "./targets/open-target.ts";
import type { ChangeOutcome, RuleChange, WaitOptions } from "./targets/rule-changes.ts";
import { type TargetOptions, targetWords } from "./targets/target-options.ts";
import type { Target } from "./targets/target.ts";
import type { Terminal } from "./terminal.ts";
import type { CoveringView, WhyView } from "./why-view.ts";

/** More addresses need a separate rule. */
export const addressesMax = 100;

export interface RuleSession {
  readonly target: Target;
  readonly addresses: readonly Entry[];
  readonly out: Terminal;
  readonly notes: Terminal;
  /** Undefined if the command must not wait. */
  readonly wait: WaitOptions | undefined;
}

export async function withRuleSession(
  texts: readonly string[],
  options: RuleCommandOptions,
  work: (session: RuleSession) => Promise<number>,
): Promise<number> {
  const addresses = [...new Set(texts.map(parseAddress))];
  if (addresses.length > addressesMax) {
    throw new CommandError(
      `this command accepts at most ${addressesMax} addresses, not ${addresses.length}`,
      "Write a WafIpRule for them.",
    );
  }
  return await withTarget(options, async (target, { out, notes, stopping }) => {
    const { stop } = stopping();
    const printed = new Set<string>();
    const onMessage = (message: string): void => {
      if (!printed.has(message)) notes.line(message);
      printed.add(message);
    };
    const wait = { timeoutMs: options.timeout * 1000, stop, onMessage };
    return await work({ target, addresses, out, notes, wait: options.wait ? wait : undefined });
  });
}

/**
 * Checks rules before they are written: in an incident, a rejection by a guard must be reported immediately, not only in a status.
 * @throws CommandError if one of them would not take effect
 */
export function refuseIneffective(
  rules: readonly CommandRule[],
  gathered: Gathered,
  objection: (rule: CommandRule, why: string) => string,
): void {
  const nowMs = realClock.nowMs();
  const names = new Set(rules.map(nameKey));
  const others = gathered.rules.filter(({ rule: { meta } }) => !names.has(nameKey(meta)));
  const added = rules.map((rule) => ({ rule: declaredRule(rule, nowMs), texts: [] }));
  const desired = compileDesired({ ...gathered, rules: [...others, ...added] }, nowMs);
  for (const rule of rules) {
    const compiled = desired.rules.find(({ id }) => id === nameKey(rule));
    const why = compiled?.isAttached === false ? compiled.message : compiled?.rejected[0]?.message;
    if (why !== undefined) throw new CommandError(objection(rule, why), "Nothing was written.");
  }
}

/**
 * 0 if the WAF shows the change or the command did not wait, 1 if the WAF does not show it yet, 130 if a signal ended the wait.
 */
export function exitCodeOf({ state }: ChangeOutcome): number {
  if (state === "Stopped") return 130;
  return state === "Settled" || state === "NotWaited" ? 0 : 1;
}

/** Why the WAF does not follow the change, and what to run in a folder that no process watches. */
export function folderAdvice(
  options: TargetOptions,
  { state, isFollowed }: ChangeOutcome,
  { suspend, policies }: Pick<DeclaredInstance, "suspend" | "policies">,
  { what, until }: { readonly what: "block" | "exception"; readonly until: string | undefined },
): string[] {
  if (suspend && state !== "Settled") return ["note: the instance is suspended, so wafsync writes nothing to its WAF."];
  if (policies.blocklist === "Observe" && state !== "Settled") {
    return ["note: the policy of the blocklist is Observe, so wafsync writes nothing to it."];
  }
  if (options.from === undefined || isFollowed) return [];
  const words = targetWords(options).trim();
  const unwatched = "note: no process is watching this folder";
  if (state !== "Settled") {
    const so = state === "NotWaited" ? "applies the change" : "retries";
    const again = until === undefined ? "" : `, and again after ${until}`;
    return [`${unwatched}, so nothing ${so}: run \`wafsync apply ${words}\` now${again}.`];
  }
  if (until === undefined) return [];
  return [
    `${unwatched}. Keep \`wafsync run ${words}\` running, or run \`wafsync apply ${words}\` after ${until} to remove the ${what}.`,
  ];
}

/** Each part is one call, so their number is limited. */
const piecesMax = 64;

/** What takes entries off a list again. */
export type Release = Exclude<RuleChange, { kind: "Add" }>;

/** Takes the addresses out of every rule of a command with this action that contains them, or that they contain. */
export function planRelease(
  addresses: readonly Entry[],
  rules: readonly DeclaredRule[],
  action: DeclaredRule["action"],
): Release[] {
  return rules.flatMap((rule): Release[] => {
    if (rule.action !== action || !isCommandRule(rule.meta)) return [];
    const before = entriesOf(rule);
    const pieces = before.map((entry) => without(entry, addresses, piecesMax));
    // Too many networks: the rule stays as it is.
    if (pieces.includes(undefined)) return [];
    const left = pieces.flatMap((some) => some ?? []);
    if (left.length === before.length && left.every((entry, index) => entry === before[index])) return [];
    if (left.length === 0) return [{ kind: "Remove", before: rule }];
    return [{ kind: "Narrow", before: rule, rule: narrowedTo(rule, left) }];
  });
}

function narrowedTo(rule: DeclaredRule, addresses: readonly Entry[]): CommandRule {
  const { meta, instance, action, expiresAtMs, description = "" } = rule;
  return { namespace: meta.namespace, name: meta.name, instance, action, addresses, expiresAtMs, description };
}

/** What is still on the list without these rules, and for whom. */
export function stayingOn(
  list: ListName,
  { coverings }: Pick<WhyView, "coverings">,
  removed: readonly ObjectName[],
): CoveringView[] {
  const gone = new Set(removed.map(nameKey));
  return coverings.flatMap((covering) => {
    const owners = covering.owners.filter(({ kind, rule }) => kind !== "WafIpRule" || !gone.has(rule));
    if (covering.list !== list || covering.state === "NotOnList") return [];
    const isOthers = covering.management === "Unmanaged" && covering.state === "OnList";
    return owners.length > 0 || covering.owners.length === 0 || isOthers ? [{ ...covering, owners }] : [];
  });
}

/** The entries that lie in a network without being all of it, in their order. */
export function entriesInside(network: Entry, entries: Iterable<Entry>): readonly Entry[] {
  const index = new NetworkIndex([network]);
  return [...entries].filter((entry) => entry !== network && index.containing(entry) !== undefined);
}
