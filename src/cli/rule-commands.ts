// `wafsync block` and `wafsync allow` write a rule for each address, which can expire; `wafsync unblock` and `wafsync allow --end` remove
// such rules. All of them wait until the WAF shows the change. Then they answer as `wafsync why` does, and say what else must change.
import type { Entry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import { realClock } from "../async/clock.ts";
import { compileDesired } from "../decide/desired.ts";
import { findCondition } from "../kinds/conditions.ts";
import { parseDuration } from "../kinds/durations.ts";
import { type DeclaredRule, listOf } from "../model/declared.ts";
import type { Gathered } from "../model/gathered.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../model/resource.ts";
import { counted, dayMs, formatTime, hourMs } from "../model/texts.ts";
import { parseAddress } from "./arguments.ts";
import { type CommandRule, commandRule, declaredRule, entriesOf, isCommandRule } from "./command-rule.ts";
import type { AllowOptions, BlockOptions, RuleCommandOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import { approveCommand, type Reported } from "./object-view.ts";
import type { Session } from "./session.ts";
import { withTarget, chosenInstances, onlyInstance, targetWords } from "./targets/open-target.ts";
import type { InstanceSight, RuleChanges, Settlement, Target } from "./targets/target.ts";
import type { Paint } from "./terminal.ts";
import { examineSight, type OwnerView, viewWhy, whyLines, type WhyView } from "./why-view.ts";

/** More addresses need a separate rule. */
const addressesMax = 100;
const spanMsMax = 3650 * dayMs;
/** The commands also delete rules of earlier commands that expired longer ago than this. */
const tidyAfterMs = hourMs;
const tidiedMax = 20;
/** Entries inside a network that are explained; the others are counted. */
const insideShownMax = 20;

type Action = DeclaredRule["action"];

/** What a rule of a command does, in words. */
const actions = {
  Block: { verb: "block", done: "blocked", verdict: "Blocked", opposite: "Allow" },
  Allow: { verb: "allow", done: "allowed", verdict: "Allowed", opposite: "Block" },
} as const;

type Rules = Pick<RuleChanges, "put" | "removed">;

/** What a command is to do on each instance. */
interface Change {
  readonly action: Action;
  /** Whether it ends earlier rules, instead of writing new ones. */
  readonly isEnd: boolean;
  readonly addresses: readonly Entry[];
  readonly spanMs: number | undefined;
  readonly description: string;
  readonly options: RuleCommandOptions;
}

/** @returns 0 if all addresses are blocked, 1 if one is not, or is allowed as well, 130 if a signal ended the wait */
export async function runBlock(texts: readonly string[], options: BlockOptions): Promise<number> {
  if (options.until !== undefined) {
    throw new CommandError("block has no option --until", "Use --for, for example --for 2h.");
  }
  return await changeRules(texts, options, { action: "Block", isEnd: false });
}

/** @returns 0 if no address and no part of a network is blocked, or the allowlist covers it; otherwise like `runBlock` */
export async function runUnblock(texts: readonly string[], options: RuleCommandOptions): Promise<number> {
  return await changeRules(texts, options, { action: "Block", isEnd: true });
}

/** @returns 0 if all addresses are allowed, or with `--end` none of them; otherwise like `runBlock` */
export async function runAllow(texts: readonly string[], options: AllowOptions): Promise<number> {
  if (options.end === (options.for !== undefined)) {
    throw new CommandError(
      "allow needs either --for or --end",
      "Use --for to allow the addresses for a time, for example --for 30m, or --end to end that earlier.",
    );
  }
  return await changeRules(texts, options, { action: "Allow", isEnd: options.end });
}

/** @returns the highest exit code of all instances */
async function changeRules(
  texts: readonly string[],
  options: RuleCommandOptions & Partial<BlockOptions>,
  what: Pick<Change, "action" | "isEnd">,
): Promise<number> {
  const addresses = [...new Set(texts.map(parseAddress))];
  if (addresses.length > addressesMax) {
    throw new CommandError(
      `this command accepts at most ${addressesMax} addresses, not ${addresses.length}`,
      "Write a WafIpRule for them.",
    );
  }
  const spanMs = options.for === undefined ? undefined : parseSpan(options.for);
  const { reason: description = "", instance: names } = options;
  const change = { ...what, addresses, spanMs, description, options };
  return await withTarget(options, async (target, session) => {
    const { stop } = session.stopping();
    const instances = options.allInstances
      ? await chosenInstances(target, undefined)
      : await Promise.all((names?.split(",") ?? [undefined]).map(async (name) => await onlyInstance(target, name)));
    // Every name must be clear, and every instance take the rules, before anything is written.
    if (instances.length > 1) for (const instance of instances) await draftFor(instance, target, change);
    let code = 0;
    for (const instance of instances) {
      code = Math.max(code, await changeOn(instance, target, change, session));
      if (stop.aborted) break;
    }
    return code;
  });
}

/** What to write and to remove. @throws CommandError if one of the rules would not take effect */
async function draftFor(instance: ObjectName, target: Target, change: Change) {
  const { gathered } = await target.look(instance, { live: false });
  const rules = rulesFor(change, gathered);
  if (!change.isEnd) refuseIneffective(rules, gathered);
  return { gathered, rules };
}

async function changeOn(instance: ObjectName, target: Target, change: Change, session: Session): Promise<number> {
  const { action, isEnd, addresses, options } = change;
  const { out, notes } = session;
  const { gathered, rules } = await draftFor(instance, target, change);
  const written = await Promise.all(
    rules.put.map(async ({ namespace, name }) => {
      return { namespace, name, place: await target.placeOfRule({ namespace, name }) };
    }),
  );
  const outcome = await applied({ instance, ...rules }, target, options, session);
  const isSettled = outcome.state === "Settled";
  // If the change is not on the WAF yet, reading the lists rarely says more. After the end of a rule, it shows what still blocks or allows
  // the address. The rules are written already, so a failed read is no error of the command.
  const live = isSettled || (isEnd && options.wait && outcome.state !== "Stopped");
  const after = await target.look(instance, { live }).catch(() => undefined);
  const explained = after === undefined ? { addresses: [], moreInside: 0 } : await explain(change, after);
  const on = `${targetWords(options)}--instance ${nameKey(instance)}`;
  const undoing = { Block: `unblock ${addresses.join(" ")} ${on}`, Allow: `allow ${addresses.join(" ")} ${on} --end` };
  const result = {
    instance: nameKey(instance),
    ...outcome,
    rules: written,
    removedRules: rules.removed.map(({ meta }) => nameKey(meta)),
    undo: isEnd ? undefined : `wafsync ${undoing[action]}`,
    ...explained,
  };
  if (options.output === "json") out.json(result);
  else for (const line of resultLines(result, change, on, out.paint)) out.line(line);
  if (outcome.message !== "") notes.line(outcome.message);
  for (const note of await notesOn(rules, result, change, gathered, target)) notes.remark("note", note);
  for (const rule of isSettled && after !== undefined ? endedRules(after) : []) {
    // Tidying is welcome, but no reason to fail.
    const note = `deleted WafIpRule ${nameKey(rule)}, which had expired`;
    await target.deleteRule(rule).then(
      () => notes.remark("note", note),
      () => undefined,
    );
  }
  return exitCodeOf(result, change);
}

function exitCodeOf({ state, addresses, moreInside }: Result, { action, isEnd }: Change): number {
  if (state === "Stopped") return 130;
  const isSo = ({ verdict }: WhyView): boolean => verdict === actions[action].verdict;
  const isDone = isEnd ? !addresses.some(isSo) && moreInside === 0 : addresses.every(isSo);
  return (state === "Settled" || state === "NotWaited") && isDone ? 0 : 1;
}

/** The rules to write, and the rules of earlier commands to remove: with the same action to end it, otherwise with the other one. */
function rulesFor(
  { action, isEnd, addresses, spanMs, description, options }: Change,
  { instance, rules }: Gathered,
): Rules {
  const declared = rules.map(({ rule }) => rule);
  if (isEnd) return { put: [], removed: planRelease(addresses, declared, action) };
  const { namespace: ofInstance, name } = instance.meta;
  const expiresAtMs = spanMs === undefined ? undefined : realClock.nowMs() + spanMs;
  const { namespace = ofInstance } = options;
  const fields = { namespace, instance: { namespace: ofInstance, name }, action, expiresAtMs, description };
  const isOpposite = (rule: DeclaredRule): boolean =>
    rule.action === actions[action].opposite && isWithin(rule, (entry) => addresses.includes(entry));
  return {
    put: addresses.map((address) => commandRule(fields, address)),
    removed: declared.filter(isOpposite),
  };
}

/** The rules of commands with this action that declare only these addresses and what is inside them. */
export function planRelease(
  addresses: readonly Entry[],
  rules: readonly DeclaredRule[],
  action: Action,
): DeclaredRule[] {
  const networks = new NetworkIndex(addresses);
  return rules.filter(
    (rule) => rule.action === action && isWithin(rule, (entry) => networks.containing(entry) !== undefined),
  );
}

/** Whether a command wrote the rule, and all that it declares fits. Somebody may have edited it: what else it declares must not be lost. */
function isWithin(rule: DeclaredRule, fits: (entry: Entry) => boolean): boolean {
  const { meta, addresses, addressesFrom, feeds } = rule;
  const entries = entriesOf(rule);
  const isWhole = entries.length === addresses.length && addressesFrom.length + feeds.length === 0;
  return isCommandRule(meta) && isWhole && entries.length > 0 && entries.every(fits);
}

/**
 * Checks rules before they are written: in an incident, a rejection by a guard must be reported immediately, not only in a status.
 * @throws CommandError if one of them would not take effect
 */
function refuseIneffective({ put, removed }: Rules, gathered: Gathered): void {
  const nowMs = realClock.nowMs();
  const names = new Set([...put, ...removed.map(({ meta }) => meta)].map(nameKey));
  const others = gathered.rules.filter(({ rule: { meta } }) => !names.has(nameKey(meta)));
  const added = put.map((rule) => ({ rule: declaredRule(rule, nowMs), texts: [] }));
  const desired = compileDesired({ ...gathered, rules: [...others, ...added] }, nowMs);
  for (const rule of put) {
    const compiled = desired.rules.find(({ id }) => id === nameKey(rule));
    const why = compiled?.isAttached === false ? compiled.message : compiled?.rejected[0]?.message;
    if (why === undefined) continue;
    const what = `${rule.addresses.join()} cannot be ${actions[rule.action].done} on ${nameKey(gathered.instance.meta)}`;
    throw new CommandError(`${what}: ${why}`, "Nothing was written.");
  }
}

/** Writes and removes the rules, and waits for the WAF unless the command must not. */
async function applied(
  changes: RuleChanges,
  target: Target,
  { wait, timeout }: RuleCommandOptions,
  { notes, stopping }: Session,
): Promise<Settlement> {
  if (changes.put.length + changes.removed.length === 0) return { state: "Settled", message: "" };
  if (!wait) return await target.change(changes, undefined);
  const { stop } = stopping();
  const giveUp = new AbortController();
  const cancel = realClock.schedule(timeout * 1000, () => giveUp.abort());
  const printed = new Set<string>();
  const onMessage = (message: string): void => {
    if (!printed.has(message)) notes.line(message);
    printed.add(message);
  };
  const ended = AbortSignal.any([stop, giveUp.signal]);
  return await target.change(changes, { stop, ended, onMessage }).finally(cancel);
}

type AddressView = WhyView & { readonly address: Entry };

/** What `why` shows for each address, and after the end of rules for what is left inside networks. */
async function explain({ action, isEnd, addresses }: Change, sight: InstanceSight) {
  const known = await examineSight(sight);
  const { lists, desired } = known.examined;
  const networks = new NetworkIndex(addresses);
  const inside = isEnd
    ? [...(lists ?? desired.lists)[listOf({ action })].keys()].filter(
        (entry) => !addresses.includes(entry) && networks.containing(entry) !== undefined,
      )
    : [];
  const views: AddressView[] = [];
  for (const address of [...addresses, ...inside.slice(0, insideShownMax)])
    views.push({ address, ...(await viewWhy(address, known)) });
  /** `moreInside`: how many more entries are left inside networks. */
  return { addresses: views, moreInside: Math.max(0, inside.length - insideShownMax) };
}

interface Result extends Awaited<ReturnType<typeof explain>> {
  readonly state: Settlement["state"];
  readonly rules: readonly { readonly place: string }[];
  readonly removedRules: readonly string[];
  readonly undo: string | undefined;
}

function resultLines(
  { state, rules, removedRules, addresses, moreInside, undo }: Result,
  change: Change,
  on: string,
  paint: Paint,
): string[] {
  const unsettled = state === "NotWaited" ? "" : ", but the WAF does not show the change yet";
  const so = state === "Settled" ? ", and the WAF shows the change" : unsettled;
  const changes = [
    ...rules.map(({ place }) => `${place} is written${so}.`),
    ...removedRules.map((name) => `WafIpRule ${name} is removed${so}.`),
  ];
  const answers = addresses.map((view) => {
    const advice = remedies(view, change, on);
    return [...whyLines(view.address, view, paint), ...(advice.length === 0 ? [] : ["", ...advice])];
  });
  const more = moreInside === 0 ? [] : [`${counted(moreInside, "more entry is", "more entries are")} inside.`];
  const rest = [more, undo === undefined ? [] : [`To undo this command: ${undo}`]].filter(({ length }) => length > 0);
  return [...changes, ...[...answers, ...rest].flatMap((lines, at) => (at === 0 ? lines : ["", ...lines]))];
}

/** What must change elsewhere, so that the address is in the state that the command is about. */
function remedies({ address, verdict, coverings }: AddressView, { action, isEnd }: Change, on: string): string[] {
  const list = listOf({ action: isEnd ? action : actions[action].opposite });
  const left = coverings.filter((covering) => covering.list === list && covering.state !== "NotOnList");
  const lines = left.flatMap(({ entry, owners, management, state }) => {
    const except = entry === address ? "" : `, or add \`except: [${address}]\` to its spec`;
    const ofOwners = owners.map(({ kind }) =>
      kind === "WafAutoBlock"
        ? `Allow ${address}, or add it to spec.exempt of the WafAutoBlock.`
        : `Remove ${entry} from its rule${except}.`,
    );
    const isOthers = management === "Unmanaged" && state === "OnList";
    const ofOthers = `Remove ${entry} in the WAF's own console, or adopt it with a rule and then delete the rule.`;
    return isOthers ? [...ofOwners, ofOthers] : ofOwners;
  });
  // An Allow rule for the entry of another rule would be a conflict instead of an exception.
  const isDeclared = left.some(
    ({ entry, owners }) => entry === address && owners.some(({ kind }) => kind !== "WafAutoBlock"),
  );
  if (isEnd && action === "Block" && verdict === "Blocked" && !isDeclared) {
    lines.push(`To allow it until then: wafsync allow ${address} ${on} --for 1h`);
  }
  return [...new Set(lines)];
}

/** Whether something else has the effect of the rule at least as long. */
function staysWithout({ action, expiresAtMs, namespace, name }: CommandRule, view: WhyView | undefined): boolean {
  const end = formatTime(expiresAtMs);
  const outlasts = ({ rule, until }: OwnerView): boolean =>
    rule !== nameKey({ namespace, name }) && (until === undefined || (end !== undefined && until >= end));
  return (view?.coverings ?? []).some(
    ({ list, state, owners, management }) =>
      list === listOf({ action }) &&
      (owners.some(outlasts) ? state !== "NotOnList" : management === "Unmanaged" && state === "OnList"),
  );
}

const dueWhen = {
  Settled: [],
  NotWaited: ["now"],
  Stopped: ["now"],
  Left: ["once this is fixed"],
  TimedOut: ["once this is fixed"],
} as const;

/** What people must know who rely on the change, and what they have to do in a folder that no process watches. */
async function notesOn(
  { put, removed }: Rules,
  { state, addresses }: Result,
  { action, options }: Change,
  { instance }: Gathered,
  target: Target,
): Promise<string[]> {
  const words = targetWords(options);
  const { verb, done } = actions[action];
  const staying = put.filter((rule, at) => staysWithout(rule, addresses[at]));
  const notes = staying.map(({ addresses: own }) => {
    return `other rules or writers also ${verb} ${own.join()}, so it stays ${done} without this rule.`;
  });
  if (removed.length > 0 && (state === "Left" || state === "TimedOut")) {
    // A guard counts these removals like any other.
    const { groups } = await target.removalsOnHold(instance.meta).catch(() => ({ groups: [] }));
    const approve = approveCommand(words, instance.meta);
    if (groups.length > 0) return [...notes, `removals are on hold. To see and approve them: ${approve}`];
  }
  if (state !== "Settled" && (instance.suspend || instance.policies[listOf({ action })] === "Observe"))
    return [...notes, "wafsync writes nothing to this list: the instance is suspended, or the policy is Observe."];
  const endMs = staying.length === 0 ? put[0]?.expiresAtMs : undefined;
  const when = [...dueWhen[state], ...(endMs === undefined ? [] : [`after ${formatTime(endMs)}`])].join(" and ");
  if (when === "" || (await target.isFollowed())) return notes;
  const [run, apply] = ["run", "apply"].map((command) => `\`wafsync ${command} ${words.trim()}\``);
  return [...notes, `no process is watching this folder: keep ${run} running, or run ${apply} ${when}.`];
}

/** Rules of earlier commands that expired a while ago, and whose entries are removed: only then their status says so. */
function endedRules({ gathered, statusOf }: InstanceSight): readonly ResourceMeta[] {
  const untilMs = realClock.nowMs() - tidyAfterMs;
  const ended = gathered.rules.filter(({ rule: { meta, expiresAtMs = Infinity } }) => {
    const { conditions = [] } = (statusOf(meta) ?? {}) as Reported;
    return isCommandRule(meta) && expiresAtMs < untilMs && findCondition(conditions, "Synced")?.reason === "Expired";
  });
  return ended.slice(0, tidiedMax).map(({ rule }) => rule.meta);
}

/** @throws CommandError unless the text is a duration such as `2h` */
function parseSpan(text: string): number {
  const spanMs = parseDuration(text);
  if (spanMs !== undefined && spanMs >= 1000 && spanMs <= spanMsMax) return spanMs;
  throw new CommandError(
    `--for ${text} is not a duration`,
    "Write a duration of at least 1s, for example 30m, 2h, 1d12h or 7d.",
  );
}
