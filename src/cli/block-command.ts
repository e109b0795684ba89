// `wafsync block`: blocks addresses now with a rule that can expire, and waits until the WAF lists them.
import { formatTime } from "../api/conditions.ts";
import { parseDuration } from "../api/durations.ts";
import { realClock } from "../async/clock.ts";
import type { Entry } from "../model/entry.ts";
import { AddressCover } from "../model/address-cover.ts";
import { nameKey } from "../model/resource.ts";
import type { CommandRule } from "./command-rule.ts";
import { commandRule, isCommandRule } from "./command-rule.ts";
import { CommandError } from "./describe-error.ts";
import type { RuleCommandOptions, RuleSession } from "./rule-session.ts";
import { exitCodeOf, objectionTo, withRuleSession } from "./rule-session.ts";
import type { ChangeOutcome } from "./targets/rule-changes.ts";
import { targetWords } from "./targets/target-words.ts";
import { onlyInstance } from "./targets/target.ts";
import type { InstanceSight } from "./targets/target.ts";

export interface BlockOptions extends RuleCommandOptions {
  readonly for?: string;
  readonly reason?: string;
}

const spanMsMax = 3650 * 86_400_000;
const reasonLengthMax = 1024;
/** The command also deletes rules of earlier commands that expired longer ago than this. */
const tidyAfterMs = 3_600_000;
const tidiedMax = 20;

/** @returns 0 if the WAF lists the addresses, 1 if it does not yet, 130 if a signal ended the wait. */
export async function runBlock(texts: readonly string[], options: BlockOptions): Promise<number> {
  const spanMs = options.for === undefined ? undefined : parseSpan("--for", options.for);
  const { reason = "" } = options;
  if (reason.length > reasonLengthMax) throw new CommandError(`--reason has more than ${reasonLengthMax} characters`);
  return await withRuleSession(texts, options, async (session) => {
    const { target, addresses, wait } = session;
    const instance = await onlyInstance(target, options.instance);
    const sight = await target.look(instance, { live: false });
    const nowMs = realClock.nowMs();
    const expiresAtMs = spanMs === undefined ? undefined : nowMs + spanMs;
    const namespace = target.namespaceOfRules(instance);
    const fields = { namespace, instance, action: "Block" as const, expiresAtMs, description: reason };
    const put = addresses.map((entry) => commandRule(fields, entry));
    refuseWhatWouldFail(put, sight, nowMs);
    const places = await Promise.all(put.map(async (rule) => await target.placeOfRule(rule)));
    const outcome = await target.change({ instance, put, remove: endedRules(sight, put, nowMs) }, wait);
    print(session, options, { rules: put, places, outcome, sight });
    return exitCodeOf(outcome);
  });
}

/** @throws CommandError unless the text is a duration such as `2h` */
export function parseSpan(option: string, text: string): number {
  const spanMs = parseDuration(text);
  if (spanMs !== undefined && spanMs >= 1000 && spanMs <= spanMsMax) return spanMs;
  throw new CommandError(
    `${option} ${text} is not a duration`,
    "Write a duration of at least 1s, for example 30m, 2h, 1d12h or 7d.",
  );
}

/** In an incident, a rejection by a guard must be reported immediately, not only in a status. */
function refuseWhatWouldFail(rules: readonly CommandRule[], { gathered }: InstanceSight, nowMs: number): void {
  for (const rule of rules) {
    const objection = objectionTo(rule, gathered, nowMs);
    if (objection !== undefined) {
      throw new CommandError(`${rule.addresses[0] ?? ""} would not be blocked: ${objection}`, "Nothing was written.");
    }
  }
}

/** Rules of earlier commands that expired more than `tidyAfterMs` ago. */
function endedRules({ gathered }: InstanceSight, put: readonly CommandRule[], nowMs: number) {
  const kept = new Set(put.map(nameKey));
  const ended = gathered.rules.filter(({ rule: { meta, expiresAtMs } }) => {
    return isCommandRule(meta) && !kept.has(nameKey(meta)) && (expiresAtMs ?? nowMs) < nowMs - tidyAfterMs;
  });
  return ended.slice(0, tidiedMax).map(({ rule }) => rule);
}

interface Blocked {
  readonly rules: readonly CommandRule[];
  readonly places: readonly string[];
  readonly outcome: ChangeOutcome;
  readonly sight: InstanceSight;
}

function print({ out, notes }: RuleSession, options: BlockOptions, { rules, places, outcome, sight }: Blocked): void {
  const { meta } = sight.gathered.instance;
  const entries = rules.flatMap(({ addresses }) => addresses);
  const [first] = rules;
  const until = first?.expiresAtMs === undefined ? undefined : formatTime(first.expiresAtMs);
  const words = `${entries.join(" ")} ${targetWords(options)}--instance ${nameKey(meta)}`;
  const undo = `wafsync unblock ${words}`;
  if (options.output === "json") {
    const { state, message } = outcome;
    const result = { instance: nameKey(meta), state, message, until, undo };
    out.line(
      JSON.stringify(
        { ...result, rules: rules.map((rule, index) => viewRule(rule, places[index] ?? "")) },
        undefined,
        2,
      ),
    );
    return;
  }
  for (const [index, { addresses }] of rules.entries()) {
    const end = until === undefined ? "" : ` until ${until}`;
    const place = `on ${nameKey(meta)}${end} (${places[index] ?? ""})`;
    out.line(`${addresses.join(", ")} ${stateInWords(outcome, place)}`);
  }
  if (outcome.message !== "") notes.line(outcome.message);
  for (const warning of warningsOf(entries, outcome, sight, until, options)) notes.line(warning);
  out.line(`To undo it: ${undo}`);
}

function viewRule({ namespace, name, addresses }: CommandRule, place: string) {
  return { namespace, name, address: addresses[0], place };
}

function stateInWords({ state }: ChangeOutcome, place: string): string {
  switch (state) {
    case "Settled":
      return `is blocked ${place}`;
    case "NotWaited":
      return `is declared as blocked ${place}`;
    case "Left":
    case "TimedOut":
    case "Stopped":
      return `is declared as blocked ${place}, but is not on the blocklist yet`;
  }
}

function warningsOf(
  entries: readonly Entry[],
  { isFollowed }: ChangeOutcome,
  { gathered }: InstanceSight,
  until: string | undefined,
  options: BlockOptions,
): string[] {
  const warnings: string[] = [];
  const allowing = gathered.rules.filter(({ rule }) => rule.action === "Allow");
  for (const entry of entries) {
    const cover = new AddressCover(entry);
    const rule = allowing.find(({ rule: { addresses } }) => addresses.some((text) => cover.find(text) !== undefined));
    if (rule === undefined) continue;
    warnings.push(
      `warning: WafIpRule ${nameKey(rule.rule.meta)} also allows ${entry}; the WAF decides which list takes precedence`,
    );
  }
  if (options.from !== undefined && !isFollowed && until !== undefined) {
    warnings.push(
      `note: no process is watching this folder. Keep \`wafsync run ${targetWords(options).trim()}\` running, or run \`wafsync apply ${targetWords(options).trim()}\` after ${until} to remove the block.`,
    );
  }
  return warnings;
}
