// What `block`, `allow` and `unblock` share: the addresses and instances, the change of rules and the wait for it, what is on a list without the
// rules of the command, and the report with its exit code.
import type { Entry } from "../address/entry.ts";
import { realClock } from "../async/clock.ts";
import { compileDesired } from "../decide/desired.ts";
import { parseDuration } from "../kinds/durations.ts";
import { type DeclaredRule, listOf } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { dayMs } from "../model/time-text.ts";
import { parseAddress } from "./arguments.ts";
import { type CommandRule, declaredRule } from "./command-rule.ts";
import type { RuleCommandOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import { withTarget } from "./targets/open-target.ts";
import { chosenInstances, onlyInstance, type TargetOptions, targetWords } from "./targets/target-options.ts";
import type { Settlement, InstanceSight, RuleChanges, Target } from "./targets/target.ts";

/** More addresses need a separate rule. */
export const addressesMax = 100;
const spanMsMax = 3650 * dayMs;

type Action = DeclaredRule["action"];

/** The work of a command on one instance. */
export interface RuleWork {
  readonly target: Target;
  readonly instance: ObjectName;
  readonly sight: InstanceSight;
  readonly addresses: readonly Entry[];
  /** The options that select the instance again. */
  readonly words: string;
  /** Writes and removes rules, and waits for the WAF unless the command must not. */
  readonly change: (rules: Pick<RuleChanges, "put" | "removed">) => Promise<Settlement>;
}

/** What the command did on one instance. */
export interface RuleReport {
  readonly outcome: Settlement;
  readonly json: object;
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  /** Whether the notes say how to approve what the command removes: until then, nothing else helps. */
  readonly isOnHold?: boolean;
  /** When the rules end, for advice about a folder that no process watches. */
  readonly until?: string | undefined;
  /** Although the WAF shows the change, an address is not in the state that the command is about. */
  readonly isOpen: boolean;
}

/**
 * @param action of the rules. @param live whether the work needs the lists of the WAF as they are before it
 * @returns the highest exit code of all instances: 0 if the WAF shows the change or the command did not wait, 1 if the WAF does not show
 * it yet or an address stays as it was, 130 if a signal ended the wait
 */
export async function withRuleSession(
  texts: readonly string[],
  options: RuleCommandOptions,
  { action, live }: { readonly action: Action; readonly live: boolean },
  work: (session: RuleWork) => Promise<RuleReport>,
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
    let code = 0;
    const names = options.instance?.split(",") ?? [undefined];
    // Every name must be clear before anything is written.
    const instances = options.allInstances
      ? await chosenInstances(target, undefined)
      : await Promise.all(names.map(async (name) => await onlyInstance(target, name)));
    for (const instance of instances) {
      const words = `${targetWords(options)}--instance ${nameKey(instance)}`;
      const change: RuleWork["change"] = async (rules) => {
        const giveUp = new AbortController();
        const cancel = realClock.schedule(options.timeout * 1000, () => giveUp.abort());
        const wait = { stop, ended: AbortSignal.any([stop, giveUp.signal]), onMessage };
        return await target.change({ instance, ...rules }, options.wait ? wait : undefined).finally(cancel);
      };
      const sight = await target.look(instance, { live });
      const session = { target, instance, sight, addresses, words, change };
      const report = await work(session);
      const { state, message } = report.outcome;
      if (options.output === "json") out.json({ instance: nameKey(instance), state, message, ...report.json });
      else {
        for (const line of report.lines) out.line(line);
        if (message !== "") notes.line(message);
        const advice = report.isOnHold === true ? undefined : await adviceAfter(session, report, action, options);
        if (advice !== undefined) notes.line(`note: ${advice}`);
      }
      for (const line of report.notes) notes.line(line);
      code = Math.max(code, exitCodeOf(report));
      if (stop.aborted) break;
    }
    return code;
  });
}

function exitCodeOf({ outcome: { state }, isOpen }: RuleReport): number {
  if (state === "Stopped") return 130;
  return (state === "Settled" || state === "NotWaited") && !isOpen ? 0 : 1;
}

/** Why the WAF does not follow the change, or what to run in a folder that no process watches. */
async function adviceAfter(
  { target, sight }: RuleWork,
  { outcome: { state }, until }: RuleReport,
  action: Action,
  options: TargetOptions,
): Promise<string | undefined> {
  const { instance } = sight.gathered;
  const list = listOf({ action });
  if (instance.suspend && state !== "Settled")
    return "the instance is suspended, so wafsync writes nothing to its WAF.";
  if (instance.policies[list] === "Observe" && state !== "Settled") {
    return `the policy of the ${list} is Observe, so wafsync writes nothing to it.`;
  }
  if (options.from === undefined || (await target.isFollowed())) return undefined;
  const words = targetWords(options).trim();
  const unwatched = "no process is watching this folder";
  if (state !== "Settled") {
    const so = state === "NotWaited" ? "applies the change" : "retries";
    const again = until === undefined ? "" : `, and again after ${until}`;
    return `${unwatched}, so nothing ${so}: run \`wafsync apply ${words}\` now${again}.`;
  }
  if (until === undefined) return undefined;
  return `${unwatched}. Keep \`wafsync run ${words}\` running, or run \`wafsync apply ${words}\` after ${until} to remove the ${nounOf[action]}.`;
}

/** What people call a rule that a command wrote. */
export const nounOf = { Block: "block", Allow: "exception" } as const;

/** @throws CommandError unless the text is a duration such as `2h` */
export function parseSpan(text: string): number {
  const spanMs = parseDuration(text);
  if (spanMs !== undefined && spanMs >= 1000 && spanMs <= spanMsMax) return spanMs;
  throw new CommandError(
    `--for ${text} is not a duration`,
    "Write a duration of at least 1s, for example 30m, 2h, 1d12h or 7d.",
  );
}

/**
 * Checks rules before they are written: in an incident, a rejection by a guard must be reported immediately, not only in a status.
 * @throws CommandError if one of them would not take effect
 */
export function refuseIneffective(
  rules: readonly CommandRule[],
  removed: readonly ObjectName[],
  gathered: Gathered,
  objection: string,
): void {
  const nowMs = realClock.nowMs();
  const names = new Set([...rules, ...removed].map(nameKey));
  const others = gathered.rules.filter(({ rule: { meta } }) => !names.has(nameKey(meta)));
  const added = rules.map((rule) => ({ rule: declaredRule(rule, nowMs), texts: [] }));
  const desired = compileDesired({ ...gathered, rules: [...others, ...added] }, nowMs);
  for (const rule of rules) {
    const compiled = desired.rules.find(({ id }) => id === nameKey(rule));
    const why = compiled?.isAttached === false ? compiled.message : compiled?.rejected[0]?.message;
    if (why === undefined) continue;
    throw new CommandError(`${rule.addresses.join(", ")} ${objection}: ${why}`, "Nothing was written.");
  }
}
