// `wafsync block` blocks addresses now with a rule that can expire, and waits until the WAF lists them. `wafsync unblock` undoes it. For
// other rules, it shows their location; until they are changed, `wafsync allow` writes a rule that allows the addresses (an exception).
import type { Entry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import { realClock } from "../async/clock.ts";
import { type DeclaredRule, type ListName, listOf } from "../model/declared.ts";
import { type EntryOwner, readOwners, unknownOwners } from "../model/entry-owners.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { hourMs, formatTime } from "../model/time-text.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { commandRule, type CommandRule, entriesOf, isCommandRule, isException } from "./command-rule.ts";
import type { AllowOptions, BlockOptions, RuleCommandOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import { approveCommand, holdLines } from "./object-view.ts";
import {
  nounOf,
  parseSpan,
  refuseIneffective,
  type RuleReport,
  type RuleWork,
  withRuleSession,
} from "./rule-session.ts";
import { targetWords } from "./targets/target-options.ts";
import type { InstanceSight, Settlement } from "./targets/target.ts";
import {
  type CoveringView,
  type ExaminedSight,
  examineSight,
  type OwnerView,
  placed,
  viewWhy,
  type WhyView,
} from "./why-view.ts";

const reasonLengthMax = 1024;
/** The command also deletes rules of earlier commands that expired longer ago than this. */
const tidyAfterMs = hourMs;
const tidiedMax = 20;

/** What a rule of a command does, in words. */
const actions = {
  Block: {
    list: "blocklist",
    verb: "blocked",
    verbs: "blocks",
    none: "is not blocked",
    done: "is unblocked",
    rejected: "would not be blocked",
    opposite: "Allow",
    undo: (on: string) => `wafsync unblock ${on}`,
    undoName: "`wafsync unblock`",
  },
  Allow: {
    list: "allowlist",
    verb: "allowed",
    verbs: "allows",
    none: "has no exception",
    done: "is no longer allowed",
    rejected: "cannot be allowed",
    opposite: "Block",
    undo: (on: string) => `wafsync allow ${on} --end`,
    undoName: "`wafsync allow --end`",
  },
} as const;
type Action = DeclaredRule["action"];

/**
 * @returns 0 if the WAF lists the addresses, 1 if it does not yet or if its allowlist covers one of them as well, 130 if a signal
 * ended the wait.
 */
export async function runBlock(texts: readonly string[], options: BlockOptions): Promise<number> {
  if (options.until !== undefined) {
    throw new CommandError("block has no option --until", "Use --for, for example --for 2h.");
  }
  return await declareRules(texts, options, "Block");
}

/** @returns like `runBlock`; with `--end`, like `runUnblock` */
export async function runAllow(texts: readonly string[], options: AllowOptions): Promise<number> {
  if (options.end === (options.for !== undefined)) {
    throw new CommandError(
      "allow needs either --for or --end",
      "Use --for to allow the addresses for a time, for example --for 30m, or --end to end that earlier.",
    );
  }
  return options.end ? await endRules(texts, options, "Allow") : await declareRules(texts, options, "Allow");
}

/** Writes a rule for each address, and removes the rules of commands that do the opposite for exactly these addresses. */
async function declareRules(
  texts: readonly string[],
  options: BlockOptions | AllowOptions,
  action: Action,
): Promise<number> {
  const { reason: description = "" } = options;
  const spanMs = options.for === undefined ? undefined : parseSpan(options.for);
  if (description.length > reasonLengthMax) {
    throw new CommandError(`--reason has more than ${reasonLengthMax} characters`);
  }
  return await withRuleSession(texts, options, { action, live: false }, async (session) => {
    const { target, instance, sight, addresses, words, change } = session;
    const { rejected, opposite, undo: undoFor } = actions[action];
    const nowMs = realClock.nowMs();
    const expiresAtMs = spanMs === undefined ? undefined : nowMs + spanMs;
    const namespace = options.namespace ?? instance.namespace;
    const fields = { namespace, instance, action, expiresAtMs, description };
    const ruled = addresses.map((address) => ({ address, rule: commandRule(fields, address) }));
    const put = ruled.map(({ rule }) => rule);
    const isOpposite = (rule: DeclaredRule): boolean =>
      rule.action === opposite && isWithin(rule, (entry) => addresses.includes(entry));
    const removed = sight.gathered.rules.map(({ rule }) => rule).filter(isOpposite);
    const names = removed.map(({ meta }) => meta);
    refuseIneffective(put, names, sight.gathered, rejected);
    const planned = await Promise.all(
      ruled.map(async (one) => ({ ...one, place: await target.placeOfRule(one.rule) })),
    );
    const outcome = await change({ put, removed });
    // Otherwise the message of the outcome says what is wrong, and another read of a failing API would only take time. The change took
    // effect: what cannot be read again must not turn it into an error.
    const after = await target.look(instance, { live: outcome.state === "Settled" }).catch(() => sight);
    const examined = await examineSight(after);
    const written: Written[] = [];
    for (const one of planned) written.push(effectOf(one, await viewWhy(one.address, examined), names));
    // Tidying is welcome, but no reason to fail.
    const ended = outcome.state === "Stopped" ? [] : endedRules(sight, put, nowMs);
    const deleted = await Promise.allSettled(ended.map(async (rule) => await target.deleteRule(rule)));
    const tidied = ended.filter((_rule, at) => deleted[at]?.status === "fulfilled");
    const until = written.flatMap(({ end }) => end ?? [])[0];
    const undo = undoFor(`${addresses.join(" ")} ${words}`);
    const isUndone = written.every((one) => one.others.length === 0);
    const what = isUndone ? "undo it" : `end only this ${nounOf[action]}`;
    return {
      outcome,
      json: { ...(written.every(({ end }) => end !== undefined) ? { until } : {}), undo, rules: written.map(jsonOf) },
      lines: [...written.flatMap((one) => stateLines(one, outcome, nameKey(instance))), `To ${what}: ${undo}`],
      notes: [
        ...written.flatMap((one) => noteLines(one, outcome)),
        ...names.map((name) => `The ${nounOf[opposite]} WafIpRule ${nameKey(name)} is removed.`),
        ...tidied.map((name) => `note: deleted WafIpRule ${nameKey(name)}, which had expired`),
      ],
      until,
      isOpen: written.some(
        (one) => (action === "Block" && one.against.length > 0) || (one.isMissing && outcome.state === "Settled"),
      ),
    };
  });
}

type Written = ReturnType<typeof effectOf>;

function effectOf(
  { rule, address, place }: { readonly rule: CommandRule; readonly address: Entry; readonly place: string },
  { coverings }: WhyView,
  removed: readonly ObjectName[],
) {
  const { list, opposite } = actions[rule.action];
  const own = coverings.find((covering) => covering.list === list && covering.entry === address);
  const endsAt = rule.expiresAtMs === undefined ? undefined : formatTime(rule.expiresAtMs);
  const others = stayingOn(list, coverings, [rule]).flatMap((covering) => {
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
    /** What has the effect of the rule at least as long, and without it. */
    others,
    /** What is on the other list. */
    against: stayingOn(actions[opposite].list, coverings, removed),
    /** When the effect ends; undefined if it does not end, or not with its rule. */
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

function jsonOf({ rule: { namespace, name, action }, address, place, others, against }: Written) {
  const effects =
    action === "Block" ? { alsoBlockedBy: others, allowedBy: against } : { alsoAllowedBy: others, blockedBy: against };
  return { namespace, name, address, place, ...effects };
}

function stateLines(written: Written, { state }: Settlement, instance: string): string[] {
  const { rule, address, end, place, isListed, isMissing, against } = written;
  const { list, verb } = actions[rule.action];
  const where = `${instance}${end === undefined ? "" : ` until ${end}`} (${place})`;
  if (state === "NotWaited") return [`${address} is declared as ${verb} on ${where}`];
  if (isMissing || (state !== "Settled" && !isListed))
    return [`${address} is declared as ${verb} on ${where}, but is not on the ${list} yet`];
  if (against.length === 0) return [`${address} is ${verb} on ${where}`];
  if (rule.action === "Block") return [`${address} is on the ${list} of ${where}`];
  const left = against.flatMap((covering) => leftLines(covering, address));
  return [`${address} is ${verb} on ${where}`, "In the meantime, change what blocks it:", ...left];
}

/** What a person must know who takes the address for blocked or allowed, and until then. */
function noteLines(written: Written, { state }: Settlement): string[] {
  const { address, note, others, against, rule } = visibleTexts(written);
  const { verbs, undoName } = actions[rule.action];
  const why = state === "Settled" || state === "NotWaited" || note === undefined ? [] : [`note: ${note}`];
  const warnings = (rule.action === "Block" ? against : []).flatMap(({ entry, owners, management }) => {
    const whose = causes(owners, management, () => `allows ${entry}`, `added ${entry} to the allowlist`);
    return (whose.length === 0 ? [`${entry} is on the allowlist`] : whose).map(
      (cause) => `warning: ${cause}; the WAF decides which list takes precedence for ${address}`,
    );
  });
  const never =
    rule.expiresAtMs === undefined
      ? `${undoName} does not remove it`
      : `the end of the rule and ${undoName} do not remove it`;
  const stays = others.flatMap(({ entry, owners, management }) => {
    const ends = ({ until }: OwnerView) => (until === undefined ? "without an end" : `until ${until}`);
    const also = (owner: OwnerView) => `also ${verbs} ${entry}, ${ends(owner)}`;
    return causes(owners, management, also, `added ${entry}`).map((cause) => `note: ${cause}; ${never}`);
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

/** What is still on the list without these rules, and for whom. */
function stayingOn(list: ListName, coverings: readonly CoveringView[], removed: readonly ObjectName[]): CoveringView[] {
  const gone = new Set(removed.map(nameKey));
  return coverings.flatMap((covering) => {
    const owners = covering.owners.filter(({ kind, rule }) => kind !== "WafIpRule" || !gone.has(rule));
    if (covering.list !== list || covering.state === "NotOnList") return [];
    const isOthers = covering.management === "Unmanaged" && covering.state === "OnList";
    return owners.length > 0 || covering.owners.length === 0 || isOthers ? [{ ...covering, owners }] : [];
  });
}

/** `WafIpRule shop/team at team.yaml:8`. */
function ownerText({ kind, rule, places }: OwnerView): string {
  return `${kind} ${rule}${placed(places)}`;
}

// What unblock and `allow --end` do.

/** Entries inside a network that are examined and shown; the others are counted. */
const insideShownMax = 20;

/**
 * @returns 0 if no address is blocked any longer, 1 if one is still blocked or the WAF does not show the change yet, 130 if
 * stopped.
 */
export async function runUnblock(texts: readonly string[], options: RuleCommandOptions): Promise<number> {
  return await endRules(texts, options, "Block");
}

async function endRules(texts: readonly string[], options: RuleCommandOptions, action: Action): Promise<number> {
  return await withRuleSession(texts, options, { action, live: true }, async (session) => {
    const { sight, addresses } = session;
    const known = await examineSight(sight);
    const rules = sight.gathered.rules.map(({ rule }) => rule);
    const removed = planRelease(addresses, rules, action);
    const decided: Released[] = [];
    for (const address of addresses) decided.push(await decide(address, action, removed, known));
    const outcome: Settlement =
      removed.length > 0 ? await session.change({ put: [], removed }) : { state: "Settled", message: "" };
    return {
      ...reportOf(session, action, removed, decided, outcome),
      outcome,
      ...(await holdHint(session, options, outcome, removed)),
      isOpen: decided.some(({ left, exception }) => left.length > 0 && exception === undefined),
    };
  });
}

/** The rules of commands with this action that declare only these addresses and what is inside them. */
export function planRelease(
  addresses: readonly Entry[],
  rules: readonly DeclaredRule[],
  action: Action,
): DeclaredRule[] {
  return rules.filter(
    (rule) => rule.action === action && isWithin(rule, (entry) => addresses.some((one) => isIn(one, entry))),
  );
}

/** Whether a command wrote the rule, and all that it declares fits. Somebody may have edited it: what else it declares must not be lost. */
function isWithin(rule: DeclaredRule, fits: (entry: Entry) => boolean): boolean {
  const { meta, addresses, addressesFrom, feeds } = rule;
  const entries = entriesOf(rule);
  const isWhole = entries.length === addresses.length && addressesFrom.length + feeds.length === 0;
  return isCommandRule(meta) && isWhole && entries.length > 0 && entries.every(fits);
}

function isIn(network: Entry, entry: Entry): boolean {
  return new NetworkIndex([network]).containing(entry) !== undefined;
}

type Released = Awaited<ReturnType<typeof decide>>;

/** What keeps the address, or a part of it, on the list although the rules are removed. */
async function decide(address: Entry, action: Action, removed: readonly DeclaredRule[], known: ExaminedSight) {
  const { gathered, desired, lists } = known.examined;
  const { list } = actions[action];
  const names = removed.map(({ meta }) => meta);
  const onList = async (entry: Entry): Promise<CoveringView[]> =>
    stayingOn(list, (await viewWhy(entry, known)).coverings, names);
  const left = await onList(address);
  const inside = [...(lists ?? desired.lists)[list].keys()].filter(
    (entry) => entry !== address && isIn(address, entry),
  );
  const shownMax = left.length + insideShownMax;
  let examined = 0;
  for (; examined < inside.length && left.length < shownMax; examined += 1) {
    const entry = inside[examined] ?? address;
    left.push(...(await onList(entry)).filter((covering) => covering.entry === entry));
  }
  const gone = new Set(removed.flatMap(entriesOf));
  const exception = gathered.rules.find(({ rule }) => {
    const isOver = (rule.expiresAtMs ?? 0) <= realClock.nowMs();
    return action === "Block" && isException(rule) && !isOver && rule.addresses.some((text) => text === address);
  })?.rule;
  return {
    address,
    /** The entries that still block the address or parts of it, with the positions of their declarations. */
    left,
    /** How many more there are inside the network. */
    leftMore: inside.slice(examined).filter((entry) => !gone.has(entry)).length,
    /** The rule of `allow` that covers the address until what blocks it is changed. */
    exception,
  };
}

/** Whether an Allow rule would be a conflict instead of an exception. Allowed addresses are exempt from automatic blocks. */
function isSameEntry(address: Entry, left: readonly CoveringView[]): boolean {
  return left.some(({ entry, owners }) => entry === address && owners.some(({ kind }) => kind !== "WafAutoBlock"));
}

/** A guard counts this removal like any other, so the change may wait for an approval: the user must learn that, and how to give it. */
async function holdHint(
  { target, instance }: RuleWork,
  options: RuleCommandOptions,
  { state }: Settlement,
  removed: readonly DeclaredRule[],
): Promise<Pick<RuleReport, "notes" | "isOnHold">> {
  if (state !== "Left" && state !== "TimedOut") return { notes: [] };
  const { groups } = await target.removalsOnHold(instance).catch(() => ({ groups: [] }));
  if (groups.length === 0) return { notes: [] };
  const approve = approveCommand(targetWords(options), instance);
  const own = new Set<string>(removed.flatMap(entriesOf));
  return {
    notes: ["Removals on hold:", ...holdLines(groups), `To approve them: ${approve}`],
    isOnHold: groups.some(({ examples }) => examples.some((entry) => own.has(entry))),
  };
}

function reportOf(
  { instance, words }: RuleWork,
  action: Action,
  removed: readonly DeclaredRule[],
  decided: readonly Released[],
  { state }: Settlement,
): Pick<RuleReport, "json" | "lines"> {
  const { verb, verbs, none, done } = actions[action];
  const on = nameKey(instance);
  const isSettled = state === "Settled";
  const so = isSettled ? "" : ", which the WAF does not show yet";
  const lines = removed.map(({ meta }) => `WafIpRule ${nameKey(meta)} is removed${so}.`);
  const addresses = decided.map(({ address, exception, left, leftMore }) => {
    const until = exception && formatTime(exception.expiresAtMs ?? 0);
    const own = removed.filter((rule) => entriesOf(rule).some((entry) => isIn(address, entry)));
    if (exception !== undefined) {
      lines.push(`${address} is allowed until ${until} by WafIpRule ${nameKey(exception.meta)}.`);
      lines.push(`To undo it: ${actions.Allow.undo(`${address} ${words}`)}`);
    }
    if (left.length > 0) {
      const isPart = left.every(({ entry }) => entry !== address && isIn(address, entry));
      const still = isPart ? `Parts of ${address} are still ${verb}` : `${address} is still ${verb}`;
      lines.push(exception === undefined ? `${still} on ${on}:` : "In the meantime, change what blocks it:");
      lines.push(...left.flatMap((covering) => leftLines(covering, address)));
      if (leftMore > 0) lines.push(`  and ${counted(leftMore, "more entry", "more entries")} inside it`);
      if (exception === undefined && action === "Block" && !isSameEntry(address, left))
        lines.push(`To allow it until then: wafsync allow ${address} ${words} --for 1h`);
    } else if (own.length === 0) lines.push(`${address} ${none} on ${on}.`);
    else if (isSettled) lines.push(`${address} ${done} on ${on}.`);
    else lines.push(`No rule ${verbs} ${address} on ${on} any longer, but the WAF does not show that yet.`);
    return {
      address,
      removedRules: own.map(({ meta }) => nameKey(meta)),
      ...(exception === undefined ? {} : { allowedUntil: until, allowedBy: nameKey(exception.meta) }),
      [action === "Block" ? "stillBlockedBy" : "stillAllowedBy"]: left,
      ...(leftMore === 0 ? {} : { moreInside: leftMore }),
    };
  });
  return { json: { addresses }, lines };
}

/** Who put the entry on its list, and how to take it, or only the address in it, off. */
function leftLines(covering: CoveringView, address: Entry): string[] {
  const { entry, owners, formerOwners, management } = visibleTexts(covering);
  const isWider = covering.entry !== address && isIn(covering.entry, address);
  const remove = isWider
    ? `remove it there, or add \`except: [${address}]\` to the spec of the rule`
    : "remove it there";
  const lines = owners.map((owner) => {
    const how = owner.kind === "WafAutoBlock" ? "allow the address, or add it to spec.exempt" : remove;
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
