// The same canonical entry in Block and in Allow. A rule of the instance's own namespace wins against one of a guest. Otherwise
// the rule whose list holds the entry already wins, so that no new rule lifts a block that stands; where neither does, the older
// rule, and then the first by name. The others are told. A narrower network inside a wider one of the other list is no conflict
// within a namespace: that is how exceptions are written. Between namespaces see `protectOthers`.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Observed } from "../../model/observed.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { describeRejected, placeOf } from "./compiled-rule.ts";
import type { RejectedEntry } from "./rule-entries.ts";

export interface Holders {
  /** What is managed, as far as it is known. */
  readonly managed: Inventory["entries"] | undefined;
  /** What the lists show, as far as it is known. */
  readonly shown: Observed["lists"] | undefined;
  /** The rule whose missing source wanted the entry last on that list: what it holds still counts as wanted. */
  readonly awaiting: ((list: ListName, entry: Entry) => string | undefined) | undefined;
}

export interface SettledConflicts {
  readonly rules: readonly CompiledRule[];
  /** True if any entry is wanted on both lists: then it matters what is managed. */
  readonly hasConflicts: boolean;
}

interface Winner {
  readonly rule: CompiledRule;
  /** Why it wins against a rule of the other list. */
  readonly why: "Owner" | "Holder" | "First";
}

/** Takes the losing entries out of their rules. `rules` come oldest first, and go out in the same order. */
export function settleConflicts(rules: readonly CompiledRule[], holders: Holders): SettledConflicts {
  const actions = new Set(rules.map((rule) => rule.list));
  if (actions.size < 2 && holders.awaiting === undefined) return { rules, hasConflicts: false };
  const winners = new Map<Entry, Winner>();
  const pieces = piecesOf(rules);
  let hasConflicts = false;
  for (const rule of rules) {
    const first: Winner = { rule, why: "First" };
    for (const entry of rule.entries) {
      const other = winners.get(entry);
      if (other === undefined) winners.set(entry, first);
      // The owner's rule speaks for both: against another one of the owner, a guest's would count for nothing.
      else if (rule.isOwners && !other.rule.isOwners && other.rule.list === rule.list) winners.set(entry, first);
      if (other === undefined || other.rule.list === rule.list) continue;
      hasConflicts = true;
      if (rule.isOwners !== other.rule.isOwners) {
        winners.set(entry, { rule: rule.isOwners ? rule : other.rule, why: "Owner" });
        continue;
      }
      const holding = holderOf(entry, holders, pieces);
      if (holding === undefined) continue;
      winners.set(entry, { rule: holding === rule.list ? rule : other.rule, why: "Holder" });
    }
  }
  if (!hasConflicts && holders.awaiting === undefined) return { rules, hasConflicts };
  return { rules: rules.map((rule) => withoutLost(rule, winners, holders)), hasConflicts };
}

type Pieces = ReadonlyMap<Entry, readonly Entry[]>;

const noPieces: Pieces = new Map();

/** What is on the blocklist in the place of carved entries. */
function piecesOf(rules: readonly CompiledRule[]): Pieces {
  return new Map(rules.flatMap(({ carved }) => carved.map(({ entry, pieces }) => [entry, pieces] as const)));
}

/**
 * The only list that shows the entry as a managed one, or else the only one on which it is recorded: an addition that was
 * recorded and not sent yet leaves an entry recorded on both.
 */
function holderOf(entry: Entry, { managed, shown }: Holders, pieces: Pieces): ListName | undefined {
  if (managed === undefined) return undefined;
  const onlyListThat = (has: (list: ListName, written: Entry) => boolean): ListName | undefined => {
    const isBlocked = (pieces.get(entry) ?? [entry]).some((piece) => has("blocklist", piece));
    if (isBlocked === has("allowlist", entry)) return undefined;
    return isBlocked ? "blocklist" : "allowlist";
  };
  const isShown = (list: ListName, written: Entry): boolean =>
    managed[list].has(written) && shown?.[list].has(written) === true;
  return onlyListThat(isShown) ?? onlyListThat((list, written) => managed[list].has(written));
}

function withoutLost(rule: CompiledRule, winners: ReadonlyMap<Entry, Winner>, holders: Holders): CompiledRule {
  const opposite: ListName = rule.list === "blocklist" ? "allowlist" : "blocklist";
  const lost: RejectedEntry[] = [];
  const lose = (entry: Entry, message: string): void => {
    lost.push({ entry, source: placeOf(rule, entry), message });
  };
  for (const entry of rule.entries) {
    const winner = winners.get(entry);
    if (winner !== undefined && winner.rule.list !== rule.list) {
      lose(entry, lostTo(entry, winner, rule));
      continue;
    }
    const awaited = awaitedOn(opposite, entry, holders);
    if (awaited !== undefined) lose(entry, awaitedMessage(rule, opposite, entry, awaited));
  }
  return withoutEntries(rule, lost);
}

/** The rule for whose missing source the list holds the entry. */
function awaitedOn(list: ListName, entry: Entry, holders: Holders): string | undefined {
  if (holders.awaiting === undefined || holderOf(entry, holders, noPieces) !== list) return undefined;
  return holders.awaiting(list, entry);
}

/** The rule without the entries that it lost, and with the reasons. */
export function withoutEntries(rule: CompiledRule, lost: readonly RejectedEntry[]): CompiledRule {
  if (lost.length === 0) return rule;
  const gone = new Set<string>(lost.map(({ entry }) => entry));
  const entries = new Set([...rule.entries].filter((entry) => !gone.has(entry)));
  const rejected = [...rule.rejected, ...lost];
  if (rule.verdict === "InvalidEntries" || rule.verdict === "GuardRejected") {
    return { ...rule, entries, rejected, message: describeRejected(rejected) };
  }
  if (rule.verdict !== "Accepted") return { ...rule, entries, rejected };
  return { ...rule, entries, rejected, verdict: "Conflict", message: describeRejected(lost) };
}

function awaitedMessage(rule: CompiledRule, list: ListName, entry: Entry, awaited: string): string {
  const mayName = rule.isOwners || awaited.startsWith(`${rule.rule.meta.namespace}/`);
  if (!mayName) return `The ${list} already holds ${entry} for another namespace: remove the entry from this rule.`;
  return `The ${list} already holds ${entry}, which a missing source of WafIpRule ${awaited} wanted last: restore that source, or remove the entry from this rule.`;
}

function lostTo(entry: Entry, { rule: winner, why }: Winner, loser: CompiledRule): string {
  const mayName = loser.isOwners || winner.rule.meta.namespace === loser.rule.meta.namespace;
  if (!mayName) {
    const { action } = winner.rule;
    return `A rule of another namespace with action ${action} has ${entry} too, and counts: remove it here, or ask the owner of the instance.`;
  }
  const isOlder = (winner.rule.meta.createdAtMs ?? 0) < (loser.rule.meta.createdAtMs ?? 0);
  const name = `WafIpRule ${winner.id} with action ${winner.rule.action}`;
  const remedy = "remove it from one of the two.";
  if (why === "Owner") return `${entry} is also in ${name} of the instance's own namespace, which counts: ${remedy}`;
  if (why === "Holder") return `${name} already holds ${entry} on the ${winner.list}: ${remedy}`;
  return `${entry} is also in ${isOlder ? "the older " : ""}${name}${isOlder ? "" : ", which comes first by its name"}: ${remedy}`;
}
