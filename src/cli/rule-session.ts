// Shared by `block` and `unblock`: the addresses, the limits of waiting, and the description of outcomes.
import { realClock } from "../async/clock.ts";
import type { DeclaredInstance } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey } from "../model/resource.ts";
import { compileDesired } from "../plan/instance/desired.ts";
import type { CommandRule } from "./command-rule.ts";
import { declaredRule } from "./command-rule.ts";
import { CommandError } from "./describe-error.ts";
import { parseAddress } from "./arguments.ts";
import type { ChangeOutcome, WaitOptions } from "./targets/rule-changes.ts";
import { withTarget } from "./targets/open-target.ts";
import { targetWords } from "./targets/target.ts";
import type { Target, TargetOptions } from "./targets/target.ts";
import type { Terminal } from "./terminal.ts";

/** More addresses need a separate rule. */
export const addressesMax = 100;

export interface RuleCommandOptions extends TargetOptions {
  readonly wait: boolean;
  readonly timeout: number;
  readonly output: "table" | "json";
}

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
    const wait = { timeoutMs: options.timeout * 1000, stop, onMessage: (message: string) => notes.line(message) };
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
