// `wafsync block`: blocks addresses now with a rule that can expire, and waits until the WAF lists them.
import { realClock } from "../async/clock.ts";
import { formatTime } from "../kinds/conditions.ts";
import { listOf } from "../model/declared.ts";
import { type EntryOwner, readOwners, unknownOwners } from "../model/entry-owners.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { counted } from "../model/sentence.ts";
import { hourMs } from "../model/time-text.ts";
import { visibleTexts } from "../model/visible-text.ts";
import { type CommandRule, commandRule, entriesOf, isCommandRule, isException } from "./command-rule.ts";
import type { BlockOptions } from "./commands/incident-commands.ts";
import { CommandError } from "./describe-error.ts";
import { placed } from "./print-why.ts";
import {
  exitCodeOf,
  folderAdvice,
  parseSpan,
  refuseIneffective,
  type RuleSession,
  stayingOn,
  withRuleSession,
} from "./rule-session.ts";
import type { ChangeOutcome } from "./targets/rule-changes.ts";
import { targetWords } from "./targets/target-options.ts";
import type { InstanceSight } from "./targets/target.ts";
import { type CoveringView, examineSight, viewWhy, type WhyView } from "./why-view.ts";

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
  return await withRuleSession(texts, options, async (session) => {
    const { target, instance, addresses, wait, notes } = session;
    const sight = await target.look(instance, { live: false });
    const nowMs = realClock.nowMs();
    const expiresAtMs = spanMs === undefined ? undefined : nowMs + spanMs;
    const namespace = target.namespaceOfRules(instance);
    const fields = { namespace, instance, action: "Block" as const, expiresAtMs, description };
    const put = addresses.map((entry) => commandRule(fields, entry));
    const { rules } = sight.gathered;
    const exceptions = rules.filter(
      ({ rule }) => isException(rule) && rule.addresses.every((text) => addresses.some((entry) => entry === text)),
    );
    refuseIneffective(
      put,
      { ...sight.gathered, rules: rules.filter((item) => !exceptions.includes(item)) },
      (address, why) => `${address} would not be blocked: ${why}`,
    );
    const removed = exceptions.map(({ rule }) => rule.meta);
    const views = removed.length === 0 ? [] : await viewAll(put, sight);
    const places = await Promise.all(put.map(async (rule) => await target.placeOfRule(rule)));
    const changes = [
      ...put.map((rule) => ({ kind: "Add", rule }) as const),
      ...exceptions.map(({ rule }) => ({ kind: "Remove", before: rule }) as const),
    ];
    const staying = views.flatMap((view) => stayingOn("allowlist", view, removed));
    const outcome = await target.change({ instance, rules: changes, staying }, wait);
    // Otherwise the message of the outcome says what is wrong, and another read of a failing API would only take time.
    const live = outcome.state === "Settled";
    // The block took effect: what cannot be read again must not turn it into an error.
    const after = await viewAll(put, await target.look(instance, { live }).catch(() => sight));
    const blocked = put.map((rule, at) => blockedBy(rule, places[at] ?? "", after[at]?.coverings ?? [], removed));
    print(session, options, blocked, outcome, sight);
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

function print(
  { instance: { namespace, name }, out, notes }: RuleSession,
  options: BlockOptions,
  blocked: readonly Blocked[],
  outcome: ChangeOutcome,
  sight: InstanceSight,
): void {
  const instance = `${namespace}/${name}`;
  const words = `${blocked.map(({ address }) => address).join(" ")} ${targetWords(options)}--instance ${instance}`;
  const undo = `wafsync unblock ${words}`;
  const until = blocked.flatMap(({ end }) => end ?? [])[0];
  if (options.output === "json") {
    const { state, message } = outcome;
    const end = blocked.every((one) => one.end !== undefined) ? { until } : {};
    const rules = blocked.map(({ rule, address, place, others: alsoBlockedBy, allowing: allowedBy }) => {
      return { namespace: rule.namespace, name: rule.name, address, place, alsoBlockedBy, allowedBy };
    });
    return out.line(JSON.stringify({ instance, state, message, ...end, undo, rules }, undefined, 2));
  }
  for (const one of blocked) out.line(`${one.address} ${stateInWords(one, outcome, instance)}`);
  if (outcome.message !== "") notes.line(outcome.message);
  const advice = folderAdvice(options, outcome, sight.gathered.instance, { what: "block", until });
  for (const line of [...blocked.flatMap((one) => noteLines(one, outcome)), ...advice]) notes.line(line);
  const isUndone = blocked.every(({ others }) => others.length === 0);
  const what = isUndone ? "undo it" : `remove only the ${counted(blocked.length, "rule", "rules")} of this command`;
  out.line(`To ${what}: ${undo}`);
}

function stateInWords({ end, place, isListed, allowing }: Blocked, { state }: ChangeOutcome, instance: string): string {
  const where = `${instance}${end === undefined ? "" : ` until ${end}`} (${place})`;
  if (state === "NotWaited") return `is declared as blocked on ${where}`;
  if (state !== "Settled" && !isListed) return `is declared as blocked on ${where}, but is not on the blocklist yet`;
  return allowing.length > 0 ? `is on the blocklist of ${where}` : `is blocked on ${where}`;
}

/** What a person must know who takes the address for blocked, and until then. */
function noteLines(blocked: Blocked, { state }: ChangeOutcome): string[] {
  const { address, note, others, allowing, rule } = visibleTexts(blocked);
  const why = state === "Settled" || state === "NotWaited" || note === undefined ? [] : [`note: ${note}`];
  const warnings = allowing.flatMap((covering) => {
    const { entry } = covering;
    const whose = causes(covering, `allows ${entry}`, `added ${entry} to the allowlist`);
    return (whose.length === 0 ? [`${entry} is on the allowlist`] : whose).map(
      (words) => `warning: ${words}; the WAF decides which list takes precedence for ${address}`,
    );
  });
  const never =
    rule.expiresAtMs === undefined
      ? "`wafsync unblock` does not remove it"
      : "the end of the rule and `wafsync unblock` do not remove it";
  const stays = others.flatMap((covering) => {
    const { entry } = covering;
    const end = (until = ""): string => (until === "" ? "without an end" : `until ${until}`);
    const whose = causes(covering, (owner) => `also blocks ${entry}, ${end(owner.until)}`, `added ${entry}`);
    return whose.map((words) => `note: ${words}; ${never}`);
  });
  return [...why, ...warnings, ...stays];
}

type Owner = CoveringView["owners"][number];

/** Who put the entry on its list, and what they did. */
function causes({ owners, management }: CoveringView, rule: string | ((owner: Owner) => string), other: string) {
  const whose = owners.map((owner) => {
    const what = typeof rule === "string" ? rule : rule(owner);
    return `${owner.kind} ${owner.rule}${placed(owner.places)} ${what}`;
  });
  return management === "Unmanaged" ? [...whose, `another writer ${other}`] : whose;
}
