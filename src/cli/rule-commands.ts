// `wafsync block` blocks addresses now with a rule that can expire, and waits until the WAF lists them. `wafsync unblock` undoes it. For
// other rules, it shows their location; a temporary Allow rule (an exception) can help until they are changed.
import { type Entry, readObservedEntry } from "../address/entry.ts";
import { NetworkIndex, without } from "../address/ranges.ts";
import { realClock } from "../async/clock.ts";
import { type DeclaredRule, listOf } from "../model/declared.ts";
import { type EntryOwner, readOwners, unknownOwners } from "../model/entry-owners.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { hourMs, formatTime } from "../model/time-text.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { commandRule, type CommandRule, entriesOf, isCommandRule, isException } from "./command-rule.ts";
import type { BlockOptions, UnblockOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import { approveCommand, holdLines } from "./object-view.ts";
import {
  ownerText,
  parseSpan,
  refuseIneffective,
  type RuleReport,
  type RuleWork,
  stayingOn,
  withRuleSession,
} from "./rule-session.ts";
import { targetWords } from "./targets/target-options.ts";
import type { ChangeOutcome, InstanceSight, RuleChange, Target } from "./targets/target.ts";
import { type CoveringView, type ExaminedSight, examineSight, type OwnerView, viewWhy } from "./why-view.ts";

const reasonLengthMax = 1024;
/** The command also deletes rules of earlier commands that expired longer ago than this. */
const tidyAfterMs = hourMs;
const tidiedMax = 20;

/**
 * @returns 0 if the WAF lists the addresses, 1 if it does not yet or if its allowlist covers one of them as well, 130 if a signal
 * ended the wait.
 */
export async function runBlock(texts: readonly string[], options: BlockOptions): Promise<number> {
  const { reason: description = "", until } = options;
  if (until !== undefined) throw new CommandError("block has no option --until", "Use --for, for example --for 2h.");
  const spanMs = parseSpan("--for", options.for);
  if (description.length > reasonLengthMax) {
    throw new CommandError(`--reason has more than ${reasonLengthMax} characters`);
  }
  return await withRuleSession(texts, options, async ({ target, instance, addresses, words, change }) => {
    const sight = await target.look(instance, { live: false });
    const nowMs = realClock.nowMs();
    const expiresAtMs = spanMs === undefined ? undefined : nowMs + spanMs;
    const namespace = target.namespaceOfRules(instance);
    const fields = { namespace, instance, action: "Block" as const, expiresAtMs, description };
    const put = addresses.map((entry) => commandRule(fields, entry));
    const { rules, instance: on } = sight.gathered;
    const exceptions = rules.filter(
      ({ rule }) => isException(rule) && rule.addresses.every((text) => addresses.some((entry) => entry === text)),
    );
    const others = rules.filter((item) => !exceptions.includes(item));
    refuseIneffective(put, { ...sight.gathered, rules: others }, "would not be blocked");
    const places = await Promise.all(put.map(async (rule) => await target.placeOfRule(rule)));
    const outcome = await change([
      ...put.map((rule) => ({ rule })),
      ...exceptions.map(({ rule: before }) => ({ before })),
    ]);
    const removed = exceptions.map(({ rule }) => rule.meta);
    // Otherwise the message of the outcome says what is wrong, and another read of a failing API would only take time. The block took
    // effect: what cannot be read again must not turn it into an error.
    const after = await target.look(instance, { live: outcome.state === "Settled" }).catch(() => sight);
    const examined = await examineSight(after);
    const blocked: Blocked[] = [];
    for (const [at, entry] of addresses.entries()) {
      const { coverings } = await viewWhy(entry, examined);
      const rule = put[at] ?? commandRule(fields, entry);
      blocked.push(blockedBy(rule, places[at] ?? "", coverings, removed));
    }
    const tidied = outcome.state === "Stopped" ? [] : await tidy(target, endedRules(sight, put, nowMs));
    const until = blocked.flatMap(({ end }) => end ?? [])[0];
    const undo = `wafsync unblock ${addresses.join(" ")} ${words}`;
    const isUndone = blocked.every((one) => one.others.length === 0);
    const what = isUndone ? "undo it" : "end only this block";
    return {
      outcome,
      json: { ...(blocked.every(({ end }) => end !== undefined) ? { until } : {}), undo, rules: blocked.map(jsonOf) },
      lines: [
        ...blocked.map((one) => `${one.address} ${stateInWords(one, outcome, nameKey(instance))}`),
        `To ${what}: ${undo}`,
      ],
      notes: [
        ...blocked.flatMap((one) => noteLines(one, outcome)),
        ...removed.map((name) => `The exception WafIpRule ${nameKey(name)} is removed.`),
        ...tidied.map((name) => `note: deleted WafIpRule ${nameKey(name)}, which had expired`),
      ],
      what: "block",
      until,
      on,
      isOpen: blocked.some((one) => one.allowing.length > 0 || (one.isMissing && outcome.state === "Settled")),
    };
  });
}

/** Tidying is welcome, but no reason to fail. @returns the rules that are deleted */
async function tidy(target: Target, rules: readonly ObjectName[]): Promise<readonly ObjectName[]> {
  const deleted = await Promise.allSettled(rules.map(async (rule) => await target.deleteRule(rule)));
  return rules.filter((_rule, at) => deleted[at]?.status === "fulfilled");
}

type Blocked = ReturnType<typeof blockedBy>;

function blockedBy(rule: CommandRule, place: string, coverings: CoveringView[], removed: readonly ObjectName[]) {
  const address = rule.addresses[0] ?? "";
  const own = coverings.find(({ list, entry }) => list === "blocklist" && entry === address);
  const endsAt = rule.expiresAtMs === undefined ? undefined : formatTime(rule.expiresAtMs);
  const others = stayingOn("blocklist", { coverings }, [rule]).flatMap((covering) => {
    const owners = covering.owners.filter(
      ({ until }) => until === undefined || (endsAt !== undefined && until >= endsAt),
    );
    return owners.length > 0 || covering.management === "Unmanaged" ? [{ ...covering, owners }] : [];
  });
  return {
    rule,
    place,
    address,
    isListed: own?.state === "OnList",
    /** Whether the list was read, and does not show the address. */
    isMissing: own?.state === "NotOnList",
    /** Why the address is not on the list, if the state of the instance or the API explains it. */
    note: own?.note,
    /** What blocks the address at least as long as the rule, and without it. */
    others,
    allowing: stayingOn("allowlist", { coverings }, removed),
    /** When the block ends; undefined if it does not end, or not with its rule. */
    end: others.length > 0 ? undefined : endsAt,
  };
}

/**
 * Rules of earlier commands that expired more than `tidyAfterMs` ago, and whose entries are removed: a rule that is deleted earlier
 * no longer says that their removal is planned.
 */
function endedRules(
  { gathered, inventory }: InstanceSight,
  put: readonly CommandRule[],
  nowMs: number,
): readonly ObjectName[] {
  const kept = new Set(put.map(nameKey));
  const ended = gathered.rules.filter(({ rule }) => {
    const { meta, expiresAtMs = nowMs } = rule;
    const isOwner = ({ name }: EntryOwner): boolean => name === nameKey(meta);
    return (
      isCommandRule(meta) &&
      !kept.has(nameKey(meta)) &&
      expiresAtMs < nowMs - tidyAfterMs &&
      !entriesOf(rule).some((entry) =>
        readOwners(inventory?.entries[listOf(rule)].get(entry)?.owners ?? unknownOwners).some(isOwner),
      )
    );
  });
  return ended.slice(0, tidiedMax).map(({ rule }) => rule.meta);
}

function jsonOf({ rule: { namespace, name }, address, place, others: alsoBlockedBy, allowing: allowedBy }: Blocked) {
  return { namespace, name, address, place, alsoBlockedBy, allowedBy };
}

function stateInWords(
  { end, place, isListed, isMissing, allowing }: Blocked,
  { state }: ChangeOutcome,
  instance: string,
): string {
  const where = `${instance}${end === undefined ? "" : ` until ${end}`} (${place})`;
  if (state === "NotWaited") return `is declared as blocked on ${where}`;
  if (isMissing || (state !== "Settled" && !isListed))
    return `is declared as blocked on ${where}, but is not on the blocklist yet`;
  return allowing.length > 0 ? `is on the blocklist of ${where}` : `is blocked on ${where}`;
}

/** What a person must know who takes the address for blocked, and until then. */
function noteLines(blocked: Blocked, { state }: ChangeOutcome): string[] {
  const { address, note, others, allowing, rule } = visibleTexts(blocked);
  const why = state === "Settled" || state === "NotWaited" || note === undefined ? [] : [`note: ${note}`];
  const warnings = allowing.flatMap(({ entry, owners, management }) => {
    const whose = causes(owners, management, () => `allows ${entry}`, `added ${entry} to the allowlist`);
    return (whose.length === 0 ? [`${entry} is on the allowlist`] : whose).map(
      (cause) => `warning: ${cause}; the WAF decides which list takes precedence for ${address}`,
    );
  });
  const undo = "`wafsync unblock` do";
  const never =
    rule.expiresAtMs === undefined ? `${undo}es not remove it` : `the end of the rule and ${undo} not remove it`;
  const stays = others.flatMap(({ entry, owners, management }) => {
    const ends = ({ until }: OwnerView) => (until === undefined ? "without an end" : `until ${until}`);
    const blocks = (owner: OwnerView) => `also blocks ${entry}, ${ends(owner)}`;
    return causes(owners, management, blocks, `added ${entry}`).map((cause) => `note: ${cause}; ${never}`);
  });
  return [...why, ...warnings, ...stays];
}

/** Who put an entry on its list, and what they did. */
function causes(
  owners: readonly OwnerView[],
  management: CoveringView["management"],
  ofRule: (owner: OwnerView) => string,
  ofOther: string,
): string[] {
  const rules = owners.map((owner) => `${ownerText(owner)} ${ofRule(owner)}`);
  return management === "Unmanaged" ? [...rules, `another writer ${ofOther}`] : rules;
}

// What unblock does.

/** Entries inside a network that are examined and shown; the others are counted. */
const insideShownMax = 20;

/** Each part of a network is one call, so their number is limited. */
const piecesMax = 64;

/** What takes entries off a list again. */
export type Release = RuleChange & { readonly before: DeclaredRule };

/** What the command undoes: a block, or with `--end-exception` an exception. */
const goals = {
  block: {
    list: "blocklist",
    action: "Block",
    verb: "blocked",
    verbs: "blocks",
    none: "is not blocked",
    done: "is unblocked",
  },
  exception: {
    list: "allowlist",
    action: "Allow",
    verb: "allowed",
    verbs: "allows",
    none: "has no exception",
    done: "is no longer allowed",
  },
} as const;
type Goal = (typeof goals)[keyof typeof goals];

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
    const { target, instance, addresses } = session;
    const known = await examineSight(await target.look(instance, { live: true }));
    const { gathered } = known.examined;
    const goal = goals[options.endException ? "exception" : "block"];
    const rules = gathered.rules.map(({ rule }) => rule);
    const releases = planRelease(addresses, rules, goal.action);
    const decided: Unblocked[] = [];
    for (const address of addresses) decided.push(await decide(address, goal, releases, known));
    const fields = { namespace: target.namespaceOfRules(instance), instance, action: "Allow" as const };
    const allows = spanMs === undefined ? [] : newExceptions(decided, known, fields, spanMs);
    const changes: RuleChange[] = [...releases, ...allows.map((rule) => ({ rule }))];
    const outcome: ChangeOutcome =
      changes.length > 0
        ? await confirmed(await session.change(changes), session, goal, releases, decided)
        : { state: "Settled", message: "", isFollowed: true };
    const result = decided.map((one) => ({
      ...one,
      allow: allows.find(({ addresses: [of] }) => of === one.address) ?? one.allow,
    }));
    return {
      ...reportOf(session, goal, releases, result, outcome),
      outcome,
      ...(await holdHint(session, options, outcome, releases)),
      what: "exception",
      until: result.flatMap(({ allow }) => (allow?.expiresAtMs === undefined ? [] : formatTime(allow.expiresAtMs)))[0],
      on: gathered.instance,
      isOpen: result.some(({ left, allow }) => left.length > 0 && allow === undefined),
    };
  });
}

/** A rule that is narrowed is settled although the removal of its former entry may be on hold: the list shows that. */
async function confirmed(
  outcome: ChangeOutcome,
  { target, instance }: RuleWork,
  { list }: Goal,
  releases: readonly Release[],
  decided: readonly Unblocked[],
): Promise<ChangeOutcome> {
  if (outcome.state !== "Settled" || releases.length === 0) return outcome;
  const sight = await target.look(instance, { live: true }).catch(() => undefined);
  if (sight?.live.state !== "Read") return outcome;
  const shown = new Set(sight.live.lists[list].map(readObservedEntry));
  const declared = releases.flatMap(({ rule }) => rule?.addresses ?? []);
  const kept = new Set([...decided.flatMap(({ left }) => left.map(({ entry }) => entry)), ...declared]);
  const left = releases
    .flatMap(({ before }) => entriesOf(before))
    .find((entry) => shown.has(entry) && !kept.has(entry));
  if (left === undefined) return outcome;
  return { ...outcome, state: "Left", message: `${left} is still on the ${list} of WafInstance ${nameKey(instance)}.` };
}

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
    if (left.length === 0) return [{ before: rule }];
    const { meta, instance, expiresAtMs, description = "" } = rule;
    const { namespace, name } = meta;
    const narrowed = { namespace, name, instance, action, addresses: left, expiresAtMs, description };
    return [{ before: rule, rule: narrowed }];
  });
}

function isIn(network: Entry, entry: Entry): boolean {
  return new NetworkIndex([network]).containing(entry) !== undefined;
}

type Unblocked = Awaited<ReturnType<typeof decide>>;

/** What keeps the address, or a part of it, on the list although the releases take place. */
async function decide(address: Entry, goal: Goal, releases: readonly Release[], known: ExaminedSight) {
  const { gathered, desired, lists } = known.examined;
  const released = releases.map(({ before }) => before);
  const names = released.map(({ meta }) => meta);
  const onList = async (entry: Entry): Promise<CoveringView[]> =>
    stayingOn(goal.list, await viewWhy(entry, known), names);
  const left = await onList(address);
  const inside = [...(lists ?? desired.lists)[goal.list].keys()].filter(
    (entry) => entry !== address && isIn(address, entry),
  );
  const shownMax = left.length + insideShownMax;
  let examined = 0;
  for (; examined < inside.length && left.length < shownMax; examined += 1) {
    const entry = inside[examined] ?? address;
    left.push(...(await onList(entry)).filter((covering) => covering.entry === entry));
  }
  const gone = new Set(released.flatMap(entriesOf));
  const exception = gathered.rules.find(({ rule }) => {
    const isOver = (rule.expiresAtMs ?? 0) <= realClock.nowMs();
    return goal.action === "Block" && isException(rule) && !isOver && rule.addresses.some((text) => text === address);
  })?.rule;
  const allow: Pick<CommandRule, "namespace" | "name" | "expiresAtMs"> | undefined = exception && {
    ...exception.meta,
    expiresAtMs: exception.expiresAtMs,
  };
  return {
    address,
    /** The entries that still block the address or parts of it, with the positions of their declarations. */
    left,
    /** How many more there are inside the network. */
    leftMore: inside.slice(examined).filter((entry) => !gone.has(entry)).length,
    /** The exception to write, or that exists already. */
    allow,
  };
}

/** @throws CommandError if an exception would have no effect */
function newExceptions(
  decided: readonly Unblocked[],
  { examined }: ExaminedSight,
  fields: Pick<CommandRule, "namespace" | "instance" | "action">,
  spanMs: number,
): readonly CommandRule[] {
  const blocked = decided.filter(({ left }) => left.length > 0);
  const refused = "cannot be allowed";
  for (const { address, left } of blocked) {
    const conflict = sameEntry(address, left);
    if (conflict !== undefined) throw new CommandError(`${address} ${refused}: ${conflict}`, "Nothing was written.");
  }
  const description = "Until the rule that blocks it is changed";
  const expiresAtMs = realClock.nowMs() + spanMs;
  const allows = blocked.map(({ address }) => commandRule({ ...fields, expiresAtMs, description }, address));
  refuseIneffective(allows, examined.gathered, refused);
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
  { target, instance }: RuleWork,
  options: UnblockOptions,
  { state }: ChangeOutcome,
  releases: readonly Release[],
): Promise<Pick<RuleReport, "notes" | "isOnHold">> {
  if (state !== "Left" && state !== "TimedOut") return { notes: [] };
  const { groups } = await target.removalsOnHold(instance).catch(() => ({ groups: [] }));
  if (groups.length === 0) return { notes: [] };
  const approve = approveCommand(targetWords(options), instance);
  const own = new Set<string>(releases.flatMap(({ before }) => entriesOf(before)));
  return {
    notes: ["Removals on hold:", ...holdLines(groups), `To approve them: ${approve}`],
    isOnHold: groups.some(({ examples }) => examples.some((entry) => own.has(entry))),
  };
}

function reportOf(
  { instance, words }: RuleWork,
  { verb, verbs, none, done }: Goal,
  releases: readonly Release[],
  decided: readonly Unblocked[],
  { state }: ChangeOutcome,
): Pick<RuleReport, "json" | "lines"> {
  const on = nameKey(instance);
  const isSettled = state === "Settled";
  const so = isSettled ? "" : ", which the WAF does not show yet";
  const lines = releases.map(({ rule, before }) => {
    const to = rule === undefined ? "removed" : `narrowed to ${rule.addresses.join(", ")}`;
    return `WafIpRule ${nameKey(before.meta)} is ${to}${so}.`;
  });
  const addresses = decided.map(({ address, allow, left, leftMore }) => {
    const again = `wafsync unblock ${address} ${words}`;
    const until = allow && formatTime(allow.expiresAtMs ?? 0);
    const own = releases.filter(({ before }) =>
      entriesOf(before).some((entry) => isIn(address, entry) || isIn(entry, address)),
    );
    if (allow !== undefined) lines.push(`${address} is allowed until ${until} by WafIpRule ${nameKey(allow)}${so}.`);
    if (left.length > 0) {
      const isPart = left.every(({ entry }) => entry !== address && isIn(address, entry));
      const still = isPart ? `Parts of ${address} are still ${verb}` : `${address} is still ${verb}`;
      lines.push(allow === undefined ? `${still} on ${on}:` : "In the meantime, change what blocks it:");
      lines.push(...left.flatMap(leftLines));
      if (leftMore > 0) lines.push(`  and ${counted(leftMore, "more entry", "more entries")} inside it`);
      if (allow === undefined && verb === "blocked" && sameEntry(address, left) === undefined)
        lines.push(`To allow it until then: ${again} --allow-for 1h`);
    } else if (own.length === 0) lines.push(`${address} ${none} on ${on}.`);
    else if (isSettled) lines.push(`${address} ${done} on ${on}.`);
    else lines.push(`No rule ${verbs} ${address} on ${on} any longer, but the WAF does not show that yet.`);
    if (allow !== undefined) lines.push(`To undo it: ${again} --end-exception`);
    return {
      address,
      removedRules: own.flatMap(({ rule, before }) => (rule === undefined ? nameKey(before.meta) : [])),
      narrowedRules: own.flatMap(({ rule }) => (rule === undefined ? [] : nameKey(rule))),
      ...(allow === undefined ? {} : { allowedUntil: until, allowedBy: nameKey(allow) }),
      [verb === "blocked" ? "stillBlockedBy" : "stillAllowedBy"]: left,
      ...(leftMore === 0 ? {} : { moreInside: leftMore }),
    };
  });
  return { json: { addresses }, lines };
}

/** Who put the entry on its list, and how to take it off. */
function leftLines(covering: CoveringView): string[] {
  const { entry, owners, formerOwners, management } = visibleTexts(covering);
  const lines = owners.map((owner) => {
    const how = owner.kind === "WafAutoBlock" ? "allow the address, or add it to spec.exempt" : "remove it there";
    return `  ${entry} by ${ownerText(owner)}: ${how}.`;
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
