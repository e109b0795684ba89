// Shared by `block` and `unblock`: the addresses, the limits of waiting, the description of outcomes, and what still is on a list without
// the rules of the command.
import type { Entry } from "../address/entry.ts";
import { realClock } from "../async/clock.ts";
import { compileDesired } from "../decide/desired.ts";
import { parseDuration } from "../kinds/durations.ts";
import type { DeclaredInstance, ListName } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { dayMs } from "../model/time-text.ts";
import { parseAddress } from "./arguments.ts";
import { type CommandRule, declaredRule } from "./command-rule.ts";
import type { RuleCommandOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import type { Session } from "./session.ts";
import { withTarget } from "./targets/open-target.ts";
import type { ChangeOutcome, WaitOptions } from "./targets/rule-changes.ts";
import { chosenInstances, onlyInstance, type TargetOptions, targetWords } from "./targets/target-options.ts";
import type { Target } from "./targets/target.ts";
import type { CoveringView, WhyView } from "./why-view.ts";

/** More addresses need a separate rule. */
export const addressesMax = 100;
const spanMsMax = 3650 * dayMs;

export interface RuleSession extends Pick<Session, "out" | "notes"> {
  readonly target: Target;
  readonly instance: ObjectName;
  readonly addresses: readonly Entry[];
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
    const wait = options.wait ? { timeoutMs: options.timeout * 1000, stop, onMessage } : undefined;
    let code = 0;
    for (const instance of await instancesOf(target, options)) {
      code = Math.max(code, await work({ target, instance, addresses, out, notes, wait }));
      if (stop.aborted) break;
    }
    return code;
  });
}

/** @throws CommandError if one of them is not clear, before anything is written */
async function instancesOf(
  target: Target,
  { instance: wanted, allInstances }: RuleCommandOptions,
): Promise<readonly ObjectName[]> {
  if (allInstances) return await chosenInstances(target, undefined);
  const names = wanted?.split(",") ?? [undefined];
  return await Promise.all(names.map(async (name) => await onlyInstance(target, name)));
}

/** @throws CommandError unless the text is a duration such as `2h` */
export function parseSpan(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const spanMs = parseDuration(text);
  if (spanMs !== undefined && spanMs >= 1000 && spanMs <= spanMsMax) return spanMs;
  throw new CommandError(
    `${option} ${text} is not a duration`,
    "Write a duration of at least 1s, for example 30m, 2h, 1d12h or 7d.",
  );
}

/**
 * Checks rules before they are written: in an incident, a rejection by a guard must be reported immediately, not only in a status.
 * @throws CommandError if one of them would not take effect
 */
export function refuseIneffective(
  rules: readonly CommandRule[],
  gathered: Gathered,
  objection: (address: string, why: string) => string,
): void {
  const nowMs = realClock.nowMs();
  const names = new Set(rules.map(nameKey));
  const others = gathered.rules.filter(({ rule: { meta } }) => !names.has(nameKey(meta)));
  const added = rules.map((rule) => ({ rule: declaredRule(rule, nowMs), texts: [] }));
  const desired = compileDesired({ ...gathered, rules: [...others, ...added] }, nowMs);
  for (const rule of rules) {
    const compiled = desired.rules.find(({ id }) => id === nameKey(rule));
    const why = compiled?.isAttached === false ? compiled.message : compiled?.rejected[0]?.message;
    if (why !== undefined) throw new CommandError(objection(rule.addresses.join(", "), why), "Nothing was written.");
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
