// `wafsync unblock`: undoes `wafsync block`. For other rules, it shows their location; a temporary Allow rule (an exception) can help
// until they are changed.
import { formatTime } from "../api/conditions.ts";
import { realClock } from "../async/clock.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { DeclaredRule } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { nameKey } from "../model/resource.ts";
import type { ObjectName } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { parseSpan } from "./block-command.ts";
import type { CommandRule } from "./command-rule.ts";
import { commandRule, entriesOf, isException } from "./command-rule.ts";
import { CommandError } from "./describe-error.ts";
import { approveCommand, holdLines } from "./hold-lines.ts";
import { placed } from "./print-why.ts";
import type { RuleCommandOptions, RuleSession } from "./rule-session.ts";
import { exitCodeOf, folderAdvice, refuseIneffective, withRuleSession } from "./rule-session.ts";
import type { ChangeOutcome, RuleChanges } from "./targets/rule-changes.ts";
import { onlyInstance, targetWords } from "./targets/target-options.ts";
import type { InstanceSight } from "./targets/target.ts";
import type { UnblockPlan } from "./rule-session.ts";
import { entriesInside, planUnblock, stayingOn } from "./rule-session.ts";
import type { CoveringView, ExaminedSight } from "./why-view.ts";
import { examineSight, viewWhy } from "./why-view.ts";

export interface UnblockOptions extends RuleCommandOptions {
  readonly allowFor?: string;
  readonly endException: boolean;
}

/** Entries inside a network that are examined and shown; the others are counted. */
const insideShownMax = 20;

interface Unblocked {
  readonly address: Entry;
  /** The exception to write, or that exists already. */
  readonly allow: Pick<CommandRule, "namespace" | "name" | "expiresAtMs"> | undefined;
  /** The entries that still block the address or parts of it, with the positions of their declarations. */
  readonly left: readonly CoveringView[];
  /** How many more there are inside the network. */
  readonly leftMore: number;
}

/**
 * @returns 0 if no address is blocked any longer, 1 if one is still blocked or the WAF does not show the change yet, 130 if
 * stopped.
 */
export async function runUnblock(texts: readonly string[], options: UnblockOptions): Promise<number> {
  const spanMs = options.allowFor === undefined ? undefined : parseSpan("--allow-for", options.allowFor);
  if (options.endException && spanMs !== undefined) {
    throw new CommandError("--allow-for makes an exception, and --end-exception ends it", "Use one of them.");
  }
  return await withRuleSession(texts, options, async (session) => {
    const { target, addresses } = session;
    const instance = await onlyInstance(target, options.instance);
    const sight = await target.look(instance, { live: true });
    if (options.endException) return await endExceptions(session, options, sight);
    const rules = sight.gathered.rules.map(({ rule }) => rule);
    const plan = planUnblock(addresses, rules);
    const examined = await examineSight(sight);
    const decided: Unblocked[] = [];
    for (const address of addresses) decided.push(await decide(address, plan, examined));
    const fields = { namespace: target.namespaceOfRules(instance), instance, action: "Allow" as const };
    const allows = spanMs === undefined ? [] : newExceptions(decided, sight, fields, spanMs);
    const put = [...plan.put, ...allows];
    const outcome = await changeIfAny(session, {
      ...plan,
      put,
      instance,
      staying: decided.flatMap(({ left }) => left),
    });
    const result = decided.map((one) => ({
      ...one,
      allow: allows.find(({ addresses: [of] }) => of === one.address) ?? one.allow,
    }));
    print(session, options, { plan, decided: result, outcome, sight });
    for (const line of await holdHint(session, options, outcome, instance)) session.notes.line(line);
    const code = exitCodeOf(outcome);
    return code === 0 && result.some(({ left, allow }) => left.length > 0 && allow === undefined) ? 1 : code;
  });
}

async function changeIfAny({ target, wait }: RuleSession, changes: RuleChanges): Promise<ChangeOutcome> {
  if (changes.put.length + changes.remove.length > 0) return await target.change(changes, wait);
  return { state: "Settled", message: "", isFollowed: true };
}

/** Removes the exceptions for these addresses, and for addresses inside these networks. */
async function endExceptions(session: RuleSession, options: UnblockOptions, sight: InstanceSight): Promise<number> {
  const { addresses, out, notes } = session;
  const { instance, rules } = sight.gathered;
  const endedBy = (address: Entry): DeclaredRule[] =>
    rules.flatMap(({ rule }) =>
      isException(rule) && entriesOf(rule).every((entry) => isIn(address, entry)) ? [rule] : [],
    );
  const remove = [...new Set(addresses.flatMap(endedBy))];
  const examined = await examineSight(sight);
  const views = await Promise.all(addresses.map(async (one) => await viewWhy(one, examined)));
  const removed = remove.map(({ meta }) => meta);
  const allowing = views.map((view) => stayingOn("allowlist", view, removed));
  const outcome = await changeIfAny(session, { instance: instance.meta, put: [], remove, staying: allowing.flat() });
  const done = doneWords(outcome);
  const isAllowed = allowing.some((left) => left.length > 0);
  if (options.output === "json") {
    const { state, message } = outcome;
    const ended = addresses.map((address, at) => {
      return { address, removedRules: endedBy(address).map(({ meta }) => nameKey(meta)), stillAllowedBy: allowing[at] };
    });
    out.line(JSON.stringify({ instance: nameKey(instance.meta), state, message, addresses: ended }, undefined, 2));
  } else {
    for (const { meta } of remove) out.line(`WafIpRule ${nameKey(meta)} is removed${done}.`);
    for (const [at, address] of addresses.entries()) {
      const left = allowing[at] ?? [];
      if (endedBy(address).length === 0) out.line(`${address} has no exception on ${nameKey(instance.meta)}.`);
      if (left.length > 0) out.line(`${address} is still allowed on ${nameKey(instance.meta)}:`);
      for (const line of left.flatMap(leftLines)) out.line(line);
    }
    if (outcome.message !== "") notes.line(outcome.message);
    for (const line of folderAdvice(options, outcome, instance, { what: "exception", until: undefined }))
      notes.line(line);
  }
  const code = exitCodeOf(outcome);
  return code === 0 && isAllowed ? 1 : code;
}

function isIn(network: Entry, entry: Entry): boolean {
  return new NetworkIndex([network]).containing(entry) !== undefined;
}

/** What blocks the address, or a part of it, without the rules that the plan removes. */
async function decide(address: Entry, plan: UnblockPlan, known: ExaminedSight): Promise<Unblocked> {
  const nowMs = realClock.nowMs();
  const { gathered, desired, lists } = known.examined;
  const removed = [...plan.remove, ...plan.narrowed];
  const names = removed.map(({ meta }) => meta);
  const onBlocklist = async (entry: Entry): Promise<CoveringView[]> =>
    stayingOn("blocklist", await viewWhy(entry, known), names);
  const left = await onBlocklist(address);
  const inside = address.includes("/") ? entriesInside(address, (lists ?? desired.lists).blocklist.keys()) : [];
  const shownMax = left.length + insideShownMax;
  let examined = 0;
  for (; examined < inside.length && left.length < shownMax; examined += 1) {
    const entry = inside[examined] ?? address;
    left.push(...(await onBlocklist(entry)).filter((covering) => covering.entry === entry));
  }
  const gone = new Set(removed.flatMap(entriesOf));
  const leftMore = inside.slice(examined).filter((entry) => !gone.has(entry)).length;
  const allow = gathered.rules.find(({ rule }) => {
    return isException(rule) && (rule.expiresAtMs ?? 0) > nowMs && rule.addresses.some((text) => text === address);
  })?.rule;
  return {
    address,
    left,
    leftMore,
    allow: allow === undefined ? undefined : { ...allow.meta, expiresAtMs: allow.expiresAtMs },
  };
}

/** @throws CommandError if an exception would have no effect */
function newExceptions(
  decided: readonly Unblocked[],
  { gathered }: InstanceSight,
  fields: Pick<CommandRule, "namespace" | "instance" | "action">,
  spanMs: number,
): readonly CommandRule[] {
  const blocked = decided.filter(({ left }) => left.length > 0);
  const refused = (address: string, why: string): string => `${address} cannot be allowed: ${why}`;
  for (const { address, left } of blocked) {
    const conflict = sameEntry(address, left);
    if (conflict !== undefined) throw new CommandError(refused(address, conflict), "Nothing was written.");
  }
  const description = "Until the rule that blocks it is changed";
  const expiresAtMs = realClock.nowMs() + spanMs;
  const allows = blocked.map(({ address }) => commandRule({ ...fields, expiresAtMs, description }, address));
  refuseIneffective(allows, gathered, ({ addresses: [address] }, why) => refused(address ?? "", why));
  return allows;
}

/** Why an Allow rule would be a conflict instead of an exception. Allowed addresses are exempt from automatic blocks. */
function sameEntry(address: Entry, left: readonly CoveringView[]): string | undefined {
  const owners = left.flatMap(({ entry, owners: some }) => (entry === address ? some : []));
  const owner = owners.find(({ kind }) => kind !== "WafAutoBlock");
  if (owner === undefined) return undefined;
  return `WafIpRule ${owner.rule} blocks exactly this entry, and the first rule that declares an entry takes precedence: remove it there.`;
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

interface Result {
  readonly plan: UnblockPlan;
  readonly decided: readonly Unblocked[];
  readonly outcome: ChangeOutcome;
  readonly sight: InstanceSight;
}

function print({ out, notes }: RuleSession, options: UnblockOptions, { plan, decided, outcome, sight }: Result): void {
  const { instance } = sight.gathered;
  const concerns = (address: Entry, rule: Pick<DeclaredRule, "addresses">): boolean =>
    entriesOf(rule).some((entry) => isIn(address, entry) || isIn(entry, address));
  const changeOf = (address: Entry): Change => ({
    removed: plan.remove.filter((rule) => concerns(address, rule)),
    narrowed: plan.put.filter((_, index) => concerns(address, plan.narrowed[index] ?? { addresses: [] })),
  });
  if (options.output === "json") {
    const addresses = decided.map(({ address, allow, left, leftMore }) => {
      const { removed, narrowed } = changeOf(address);
      return {
        address,
        removedRules: removed.map(({ meta }) => nameKey(meta)),
        narrowedRules: narrowed.map(nameKey),
        ...(allow === undefined ? {} : { allowedUntil: formatTime(allow.expiresAtMs ?? 0), allowedBy: nameKey(allow) }),
        stillBlockedBy: left,
        ...(leftMore === 0 ? {} : { moreInside: leftMore }),
      };
    });
    const { state, message } = outcome;
    out.line(JSON.stringify({ instance: nameKey(instance.meta), state, message, addresses }, undefined, 2));
    return;
  }
  const done = doneWords(outcome);
  for (const { meta } of plan.remove) out.line(`WafIpRule ${nameKey(meta)} is removed${done}.`);
  for (const rule of plan.put) {
    out.line(`WafIpRule ${nameKey(rule)} is narrowed to ${rule.addresses.join(", ")}${done}.`);
  }
  const words = `${targetWords(options)}--instance ${nameKey(instance.meta)}`;
  for (const one of decided) {
    for (const line of linesOf(one, changeOf(one.address), outcome, { instance: nameKey(instance.meta), words }))
      out.line(line);
  }
  if (outcome.message !== "") notes.line(outcome.message);
  const until = decided.flatMap(({ allow }) =>
    allow?.expiresAtMs === undefined ? [] : formatTime(allow.expiresAtMs),
  )[0];
  for (const line of folderAdvice(options, outcome, instance, { what: "exception", until })) notes.line(line);
}

interface Change {
  readonly removed: readonly DeclaredRule[];
  readonly narrowed: readonly CommandRule[];
}

function doneWords({ state }: ChangeOutcome): string {
  return state === "Settled" ? "" : ", which the WAF does not show yet";
}

function linesOf(
  { address, allow, left, leftMore }: Unblocked,
  { removed, narrowed }: Change,
  outcome: ChangeOutcome,
  { instance, words }: { readonly instance: string; readonly words: string },
): string[] {
  const again = `wafsync unblock ${address} ${words}`;
  const lines: string[] = [];
  if (allow !== undefined) {
    const until = formatTime(allow.expiresAtMs ?? 0);
    lines.push(`${address} is allowed until ${until} by WafIpRule ${nameKey(allow)}${doneWords(outcome)}.`);
  }
  if (left.length === 0) {
    if (removed.length + narrowed.length === 0) lines.push(`${address} is not blocked on ${instance}.`);
    else if (outcome.state === "Settled") lines.push(`${address} is unblocked on ${instance}.`);
    else lines.push(`No rule blocks ${address} on ${instance} any longer, but the WAF does not show that yet.`);
  } else {
    const isPart = left.every(({ entry }) => entry !== address && isIn(address, entry));
    const still = isPart ? `Parts of ${address} are still blocked` : `${address} is still blocked`;
    lines.push(allow === undefined ? `${still} on ${instance}:` : "In the meantime, change what blocks it:");
    lines.push(...left.flatMap(leftLines));
    if (leftMore > 0) lines.push(`  and ${counted(leftMore, "more entry", "more entries")} inside it`);
    if (allow === undefined && sameEntry(address, left) === undefined) {
      lines.push(`To allow it until then: ${again} --allow-for 1h`);
    }
  }
  if (allow !== undefined) lines.push(`To undo it: ${again} --end-exception`);
  return lines;
}

/** Who put the entry on its list, and how to take it off. */
function leftLines(covering: CoveringView): string[] {
  const { entry, owners, formerOwners, management } = visibleTexts(covering);
  const lines = owners.map(({ kind, rule, places }) => {
    const how = kind === "WafAutoBlock" ? "allow the address, or add it to spec.exempt" : "remove it there";
    return `  ${entry} by ${kind} ${rule}${placed(places)}: ${how}.`;
  });
  if (management === "Unmanaged") {
    lines.push(
      `  ${entry}: another writer added it. Remove it in the WAF's own console, or adopt it with a rule and then delete the rule.`,
    );
  } else if (lines.length === 0) {
    const by = formerOwners.length === 0 ? "" : `, last declared by ${formerOwners.join(", ")}`;
    lines.push(
      `  ${entry}${by}: no rule declares it any longer, and its removal is pending or on hold (see \`wafsync status\`).`,
    );
  }
  return lines;
}
