// `wafsync unblock`: undoes `wafsync block`. For other rules, it shows their location; a temporary Allow rule can help until they
// are changed.
import { formatTime } from "../api/conditions.ts";
import { realClock } from "../async/clock.ts";
import type { Entry } from "../model/entry.ts";
import { nameKey } from "../model/resource.ts";
import type { ObjectName } from "../model/resource.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { explainAddress } from "../plan/instance/explain.ts";
import { parseSpan } from "./block-command.ts";
import type { CommandRule } from "./command-rule.ts";
import { commandRule } from "./command-rule.ts";
import { CommandError } from "./describe-error.ts";
import { approveCommand, holdLines } from "./hold-lines.ts";
import type { RuleCommandOptions, RuleSession } from "./rule-session.ts";
import { exitCodeOf, objectionTo, withRuleSession } from "./rule-session.ts";
import type { ChangeOutcome } from "./targets/rule-changes.ts";
import { targetWords } from "./targets/target-words.ts";
import { onlyInstance } from "./targets/target.ts";
import type { InstanceSight } from "./targets/target.ts";
import type { UnblockPlan } from "./unblock-plan.ts";
import { planUnblock } from "./unblock-plan.ts";
import type { CoveringView } from "./why-view.ts";
import { viewWhy } from "./why-view.ts";

export interface UnblockOptions extends RuleCommandOptions {
  readonly allowFor?: string;
}

interface Unblocked {
  readonly address: Entry;
  readonly plan: UnblockPlan;
  readonly allow: CommandRule | undefined;
  /** The entries that still block the address, with the positions of their declarations. */
  readonly left: readonly CoveringView[];
}

/**
 * @returns 0 if no address is blocked any longer, 1 if one is still blocked or the WAF does not show the change yet, 130 if
 * stopped.
 */
export async function runUnblock(texts: readonly string[], options: UnblockOptions): Promise<number> {
  const spanMs = options.allowFor === undefined ? undefined : parseSpan("--allow-for", options.allowFor);
  return await withRuleSession(texts, options, async (session) => {
    const { target, addresses, wait } = session;
    const instance = await onlyInstance(target, options.instance);
    const sight = await target.look(instance, { live: true });
    const namespace = target.namespaceOfRules(instance);
    const decided: Unblocked[] = [];
    for (const address of addresses) decided.push(await decide(address, sight, { namespace, instance, spanMs }));
    const put = decided.flatMap(({ plan, allow }) => [...plan.put, ...(allow === undefined ? [] : [allow])]);
    const remove = decided.flatMap(({ plan }) => plan.remove);
    const narrowed = decided.flatMap(({ plan }) => plan.narrowed);
    const outcome: ChangeOutcome =
      put.length + remove.length === 0
        ? { state: "Settled", message: "", isFollowed: true }
        : await target.change({ instance, put, remove, narrowed }, wait);
    print(session, options, decided, outcome, instance);
    for (const line of await holdHint(session, options, outcome, instance)) session.notes.line(line);
    const isLeft = decided.some(({ left, allow }) => left.length > 0 && allow === undefined);
    const code = exitCodeOf(outcome);
    return code === 0 && isLeft ? 1 : code;
  });
}

async function decide(
  address: Entry,
  sight: InstanceSight,
  where: { readonly namespace: string; readonly instance: ObjectName; readonly spanMs: number | undefined },
): Promise<Unblocked> {
  const nowMs = realClock.nowMs();
  const { gathered, live, inventory } = sight;
  const lists = live.state === "Read" ? live.lists : undefined;
  const explanation = explainAddress({ address, gathered, live: lists, inventory, nowMs });
  const plan = planUnblock(
    address,
    explanation,
    gathered.rules.map(({ rule }) => rule),
  );
  const view = await viewWhy(address, sight, nowMs);
  const left = view.coverings.filter(
    ({ list, entry }) => list === "blocklist" && plan.left.some((one) => one.entry === entry),
  );
  if (where.spanMs === undefined || left.length === 0) return { address, plan, allow: undefined, left };
  const { namespace, instance, spanMs } = where;
  const fields = { namespace, instance, action: "Allow" as const, expiresAtMs: nowMs + spanMs };
  const allow = commandRule({ ...fields, description: "Until the rule that blocks it is changed" }, address);
  const objection = plan.mayAllow ? objectionTo(allow, gathered, nowMs) : sameEntry(address, left);
  if (objection === undefined) return { address, plan, allow, left };
  throw new CommandError(`${address} cannot be allowed: ${objection}`, "Nothing was written.");
}

function sameEntry(address: Entry, left: readonly CoveringView[]): string {
  const owner = left.find(({ entry }) => entry === address)?.owners[0]?.rule ?? "";
  return `WafIpRule ${owner} blocks exactly this entry, and the first rule that declares an entry takes precedence: remove it there.`;
}

/** A guard counts this removal like any other, so the change may wait for an approval: the user must learn that, and how to give it. */
async function holdHint(
  { target }: RuleSession,
  options: UnblockOptions,
  { state }: ChangeOutcome,
  instance: ObjectName,
): Promise<string[]> {
  if (state !== "Left" && state !== "TimedOut") return [];
  const { groups } = await target.removalsOnHold(instance).catch(() => ({ groups: [] }));
  if (groups.length === 0) return [];
  const approve = approveCommand(targetWords(options), instance);
  return ["Removals on hold:", ...holdLines(groups), `To approve them: ${approve}`];
}

function print(
  { out, notes }: RuleSession,
  options: UnblockOptions,
  decided: readonly Unblocked[],
  outcome: ChangeOutcome,
  instance: ObjectName,
): void {
  if (options.output === "json") {
    const addresses = decided.map(({ address, plan, allow, left }) => ({
      address,
      removedRules: plan.remove.map(({ meta }) => nameKey(meta)),
      narrowedRules: plan.put.map(nameKey),
      ...(allow === undefined ? {} : { allowedUntil: formatTime(allow.expiresAtMs ?? 0), allowedBy: nameKey(allow) }),
      stillBlockedBy: left,
    }));
    const { state, message } = outcome;
    out.line(JSON.stringify({ instance: nameKey(instance), state, message, addresses }, undefined, 2));
    return;
  }
  for (const one of decided) for (const line of linesOf(one, outcome, options, instance)) out.line(line);
  if (outcome.message !== "") notes.line(outcome.message);
}

function linesOf(
  { address, plan, allow, left }: Unblocked,
  outcome: ChangeOutcome,
  options: UnblockOptions,
  instance: ObjectName,
): string[] {
  const done = outcome.state === "Settled" ? "" : ", which the WAF does not show yet";
  const lines = [
    ...plan.remove.map(({ meta }) => `WafIpRule ${nameKey(meta)} is removed${done}.`),
    ...plan.put.map((rule) => `WafIpRule ${nameKey(rule)} is narrowed to ${rule.addresses.join(", ")}${done}.`),
  ];
  if (allow !== undefined) {
    lines.push(
      `${address} is allowed until ${formatTime(allow.expiresAtMs ?? 0)} by WafIpRule ${nameKey(allow)}${done}.`,
    );
  }
  if (left.length === 0) return [...lines, verdictOf(address, plan, outcome, nameKey(instance))];
  const title =
    allow === undefined
      ? `${address} is still blocked on ${nameKey(instance)}:`
      : "In the meantime, change what blocks it:";
  lines.push(title, ...left.flatMap(leftLines));
  if (allow === undefined && plan.mayAllow) {
    lines.push(
      `To allow it until then: wafsync unblock ${address} ${targetWords(options)}--instance ${nameKey(instance)} --allow-for 1h`,
    );
  }
  return lines;
}

/** For an address that no rule blocks any longer. */
function verdictOf(address: Entry, { remove, put }: UnblockPlan, { state }: ChangeOutcome, instance: string): string {
  if (remove.length + put.length === 0) return `${address} is not blocked on ${instance}.`;
  if (state === "Settled") return `${address} is unblocked on ${instance}.`;
  return `No rule blocks ${address} on ${instance} any longer, but the WAF does not show that yet.`;
}

function leftLines(covering: CoveringView): string[] {
  const { entry, owners, formerOwners, management } = visibleTexts(covering);
  if (owners.length > 0) {
    return owners.map(({ kind, rule, places }) => {
      const at = places.length === 0 ? "" : ` at ${places.join(", ")}`;
      if (kind === "WafAutoBlock") {
        return `  ${entry} by WafAutoBlock ${rule}${at}: allow the address, or add it to spec.exempt.`;
      }
      return `  ${entry} by WafIpRule ${rule}${at}: remove it there.`;
    });
  }
  if (management === "Managed") {
    const by = formerOwners.length === 0 ? "" : `, last declared by ${formerOwners.join(", ")}`;
    return [
      `  ${entry}${by}: no rule declares it any longer, and its removal is pending or on hold (see \`wafsync status\`).`,
    ];
  }
  return [
    `  ${entry}: another writer added it. Remove it in the WAF's own console, or adopt it with a rule and then delete the rule.`,
  ];
}
