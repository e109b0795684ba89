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
import { ownerText, parseSpan, refuseIneffective, stayingOn, withRuleSession } from "./rule-session.ts";
import type { ChangeOutcome, InstanceSight, Target } from "./targets/target.ts";
import { type CoveringView, examineSight, type OwnerView, viewWhy } from "./why-view.ts";

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
    const what = isUndone ? "undo it" : `remove only the ${counted(blocked.length, "rule", "rules")} of this command`;
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
