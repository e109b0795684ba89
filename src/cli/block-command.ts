// `wafsync block`: blocks addresses now with a rule that can expire, and waits until the WAF lists them.
import { formatTime } from "../kinds/conditions.ts";
import { parseDuration } from "../kinds/durations.ts";
import { realClock } from "../async/clock.ts";
import { listOf } from "../model/declared.ts";
import { type EntryOwner, readOwners, unknownOwners } from "../model/entry-owners.ts";
import type { Entry } from "../address/entry.ts";
import { type ObjectName, nameKey } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { dayMs, hourMs } from "../model/time-text.ts";
import type { BlockOptions } from "./commands/incident-commands.ts";
import { type CommandRule, commandRule, entriesOf, isCommandRule, isException } from "./command-rule.ts";
import { CommandError } from "./describe-error.ts";
import { placed } from "./print-why.ts";
import { type RuleSession, exitCodeOf, folderAdvice, refuseIneffective, withRuleSession } from "./rule-session.ts";
import type { ChangeOutcome, RuleChange } from "./targets/rule-changes.ts";
import { onlyInstance, targetWords } from "./targets/target-options.ts";
import type { InstanceSight } from "./targets/target.ts";
import { stayingOn } from "./rule-session.ts";
import { type CoveringView, type OwnerView, type WhyView, examineSight, viewWhy } from "./why-view.ts";

const spanMsMax = 3650 * dayMs;
const reasonLengthMax = 1024;
/** The command also deletes rules of earlier commands that expired longer ago than this. */
const tidyAfterMs = hourMs;
const tidiedMax = 20;

/**
 * @returns 0 if the WAF lists the addresses, 1 if it does not yet or if its allowlist covers one of them as well, 130 if a signal
 * ended the wait.
 */
export async function runBlock(texts: readonly string[], options: BlockOptions): Promise<number> {
  const spanMs = options.for === undefined ? undefined : parseSpan("--for", options.for);
  const { reason = "" } = options;
  if (reason.length > reasonLengthMax) throw new CommandError(`--reason has more than ${reasonLengthMax} characters`);
  return await withRuleSession(texts, options, async (session) => {
    const { target, addresses, wait, notes } = session;
    const instance = await onlyInstance(target, options.instance);
    const sight = await target.look(instance, { live: false });
    const nowMs = realClock.nowMs();
    const expiresAtMs = spanMs === undefined ? undefined : nowMs + spanMs;
    const namespace = target.namespaceOfRules(instance);
    const fields = { namespace, instance, action: "Block" as const, expiresAtMs, description: reason };
    const put = addresses.map((entry) => commandRule(fields, entry));
    const exceptions = sight.gathered.rules.filter(
      ({ rule }) => isException(rule) && rule.addresses.every((text) => addresses.some((entry) => entry === text)),
    );
    const others = sight.gathered.rules.filter((item) => !exceptions.includes(item));
    refuseIneffective(
      put,
      { ...sight.gathered, rules: others },
      ({ addresses: [address] }, why) => `${address ?? ""} would not be blocked: ${why}`,
    );
    const removed = exceptions.map(({ rule }) => rule.meta);
    const views = removed.length === 0 ? [] : await viewAll(put, sight);
    const places = await Promise.all(put.map(async (rule) => await target.placeOfRule(rule)));
    const staying = views.flatMap((view) => stayingOn("allowlist", view, removed));
    const rules: RuleChange[] = [
      ...put.map((rule) => ({ kind: "Add", rule }) as const),
      ...exceptions.map(({ rule }) => ({ kind: "Remove", before: rule }) as const),
    ];
    const outcome = await target.change({ instance, rules, staying }, wait);
    // Otherwise the message of the outcome says what is wrong, and another read of a failing API would only take time.
    const live = outcome.state === "Settled";
    // The block took effect: what cannot be read again must not turn it into an error.
    const after = await viewAll(put, await target.look(instance, { live }).catch(() => sight));
    const blocked = put.map((rule, at) => blockedBy(rule, places[at] ?? "", after[at], removed));
    print(session, options, { blocked, outcome, sight });
    for (const name of removed) notes.line(`The exception WafIpRule ${nameKey(name)} is removed.`);
    for (const rule of outcome.state === "Stopped" ? [] : endedRules(sight, put, nowMs)) {
      // Tidying is welcome, but no reason to fail.
      await target.deleteRule(rule).then(
        () => notes.line(`note: deleted WafIpRule ${nameKey(rule)}, which had expired`),
        () => undefined,
      );
    }
    const code = exitCodeOf(outcome);
    return code === 0 && blocked.some((one) => one.allowing.length > 0) ? 1 : code;
  });
}

async function viewAll(rules: readonly CommandRule[], sight: InstanceSight): Promise<readonly WhyView[]> {
  const examined = await examineSight(sight);
  const entries = rules.flatMap(({ addresses }) => addresses);
  return await Promise.all(entries.map(async (entry) => await viewWhy(entry, examined)));
}

interface Blocked {
  readonly rule: CommandRule;
  readonly place: string;
  readonly address: Entry;
  readonly isListed: boolean;
  /** Why the address is not on the list, if the state of the instance or the API explains it. */
  readonly note: string | undefined;
  /** What blocks the address at least as long as the rule, and without it. */
  readonly others: readonly CoveringView[];
  /** What allows the address. */
  readonly allowing: readonly CoveringView[];
}

function blockedBy(
  rule: CommandRule,
  place: string,
  view: Pick<WhyView, "coverings"> = { coverings: [] },
  removed: readonly ObjectName[],
): Blocked {
  const [address = "" as Entry] = rule.addresses;
  const own = view.coverings.find(({ list, entry }) => list === "blocklist" && entry === address);
  const endsAt = rule.expiresAtMs === undefined ? undefined : formatTime(rule.expiresAtMs);
  const others = stayingOn("blocklist", view, [rule]).flatMap((covering) => {
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
    note: own?.note,
    others,
    allowing: stayingOn("allowlist", view, removed),
  };
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

interface Result {
  readonly blocked: readonly Blocked[];
  readonly outcome: ChangeOutcome;
  readonly sight: InstanceSight;
}

function print({ out, notes }: RuleSession, options: BlockOptions, { blocked, outcome, sight }: Result): void {
  const instance = nameKey(sight.gathered.instance.meta);
  const words = `${blocked.map(({ address }) => address).join(" ")} ${targetWords(options)}--instance ${instance}`;
  const undo = `wafsync unblock ${words}`;
  const until = blocked.flatMap((one) => endOf(one) ?? [])[0];
  if (options.output === "json") {
    const { state, message } = outcome;
    const end = blocked.every((one) => endOf(one) !== undefined) ? { until } : {};
    const rules = blocked.map(({ rule: { namespace, name }, address, place, others, allowing }) => {
      return { namespace, name, address, place, alsoBlockedBy: others, allowedBy: allowing };
    });
    out.line(JSON.stringify({ instance, state, message, ...end, undo, rules }, undefined, 2));
    return;
  }
  for (const one of blocked) out.line(`${one.address} ${stateInWords(one, outcome, instance)}`);
  if (outcome.message !== "") notes.line(outcome.message);
  for (const one of blocked) for (const line of noteLines(one, outcome)) notes.line(line);
  for (const line of folderAdvice(options, outcome, sight.gathered.instance, { what: "block", until }))
    notes.line(line);
  const isUndone = blocked.every(({ others }) => others.length === 0);
  out.line(
    isUndone
      ? `To undo it: ${undo}`
      : `To remove only the ${counted(blocked.length, "rule", "rules")} of this command: ${undo}`,
  );
}

/** When the block ends; undefined if it does not end, or not with its rule. */
function endOf({ rule: { expiresAtMs }, others }: Blocked): string | undefined {
  return expiresAtMs === undefined || others.length > 0 ? undefined : formatTime(expiresAtMs);
}

function stateInWords(blocked: Blocked, { state }: ChangeOutcome, instance: string): string {
  const end = endOf(blocked);
  const where = `${instance}${end === undefined ? "" : ` until ${end}`} (${blocked.place})`;
  if (state === "NotWaited") return `is declared as blocked on ${where}`;
  if (state !== "Settled" && !blocked.isListed) {
    return `is declared as blocked on ${where}, but is not on the blocklist yet`;
  }
  return blocked.allowing.length > 0 ? `is on the blocklist of ${where}` : `is blocked on ${where}`;
}

/** What a person must know who takes the address for blocked, and until then. */
function noteLines(blocked: Blocked, { state }: ChangeOutcome): string[] {
  const { address, note, others, allowing, rule } = visibleTexts(blocked);
  const why = state === "Settled" || state === "NotWaited" || note === undefined ? [] : [`note: ${note}`];
  const warnings = allowing.flatMap(({ entry, owners, management }) => {
    const whose = owners.map((owner) => `${nameOf(owner)} allows ${entry}`);
    if (management === "Unmanaged") whose.push(`another writer added ${entry} to the allowlist`);
    if (whose.length === 0) whose.push(`${entry} is on the allowlist`);
    return whose.map((words) => `warning: ${words}; the WAF decides which list takes precedence for ${address}`);
  });
  const never =
    rule.expiresAtMs === undefined
      ? "`wafsync unblock` does not remove it"
      : "the end of the rule and `wafsync unblock` do not remove it";
  const stays = others.flatMap(({ entry, owners, management }) => {
    const whose = owners.map((owner) => {
      const end = owner.until === undefined ? "without an end" : `until ${owner.until}`;
      return `${nameOf(owner)} also blocks ${entry}, ${end}`;
    });
    if (management === "Unmanaged") whose.push(`another writer added ${entry}`);
    return whose.map((words) => `note: ${words}; ${never}`);
  });
  return [...why, ...warnings, ...stays];
}

function nameOf({ kind, rule, places }: OwnerView): string {
  return `${kind} ${rule}${placed(places)}`;
}
