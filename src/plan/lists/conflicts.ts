// The same canonical entry in Block and in Allow. The rule whose list holds the entry already wins, so that no new rule lifts a
// block that stands; where neither does, the older rule, and then the first by name. The others are told. A narrower network
// inside a wider one of the other list is no conflict: that is how exceptions are written.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { describeRejected } from "./compiled-rule.ts";
import type { RejectedEntry } from "./rule-entries.ts";

/** Where a rule says that it wants the entry. */
export type SourceOfEntry = (rule: CompiledRule, entry: Entry) => string;

export interface Holders {
  /** What is managed, as far as it is known. */
  readonly managed: Inventory["entries"] | undefined;
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
  readonly why: "Holder" | "First";
}

/** Takes the losing entries out of their rules. `rules` come oldest first, and go out in the same order. */
export function settleConflicts(
  rules: readonly CompiledRule[],
  holders: Holders,
  sourceOf: SourceOfEntry,
): SettledConflicts {
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
      if (other === undefined || other.rule.list === rule.list) continue;
      hasConflicts = true;
      const holding = holderOf(entry, holders.managed, pieces);
      if (holding === undefined) continue;
      winners.set(entry, { rule: holding === rule.list ? rule : other.rule, why: "Holder" });
    }
  }
  return { rules: rules.map((rule) => withoutLost(rule, winners, holders, sourceOf)), hasConflicts };
}

type Pieces = ReadonlyMap<Entry, readonly Entry[]>;

const noPieces: Pieces = new Map();

/** What is on the blocklist in the place of carved entries. */
function piecesOf(rules: readonly CompiledRule[]): Pieces {
  return new Map(rules.flatMap(({ carved }) => carved.map(({ entry, pieces }) => [entry, pieces] as const)));
}

/** The only list on which the entry is managed. */
function holderOf(entry: Entry, managed: Holders["managed"], pieces: Pieces): ListName | undefined {
  const isBlocked = (pieces.get(entry) ?? [entry]).some((piece) => managed?.blocklist.has(piece));
  if (isBlocked === (managed?.allowlist.has(entry) === true)) return undefined;
  return isBlocked ? "blocklist" : "allowlist";
}

function withoutLost(
  rule: CompiledRule,
  winners: ReadonlyMap<Entry, Winner>,
  { managed, awaiting }: Holders,
  sourceOf: SourceOfEntry,
): CompiledRule {
  const opposite: ListName = rule.list === "blocklist" ? "allowlist" : "blocklist";
  const lost: RejectedEntry[] = [];
  for (const entry of rule.entries) {
    const winner = winners.get(entry);
    const awaited = holderOf(entry, managed, noPieces) === opposite ? awaiting?.(opposite, entry) : undefined;
    if (winner !== undefined && winner.rule.list !== rule.list) {
      lost.push({ entry, source: sourceOf(rule, entry), message: lostTo(entry, winner, rule) });
    } else if (awaited !== undefined) {
      const message = `The ${opposite} already holds ${entry}, which a missing source of WafIpRule ${awaited} wanted last: restore that source, or remove the entry from this rule.`;
      lost.push({ entry, source: sourceOf(rule, entry), message });
    }
  }
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

function lostTo(entry: Entry, { rule: winner, why }: Winner, loser: CompiledRule): string {
  const isOlder = (winner.rule.meta.createdAtMs ?? 0) < (loser.rule.meta.createdAtMs ?? 0);
  const name = `WafIpRule ${winner.id} with action ${winner.rule.action}`;
  const remedy = "remove it from one of the two.";
  if (why === "Holder") return `${name} already holds ${entry} on the ${winner.list}: ${remedy}`;
  return `${entry} is also in ${isOlder ? "the older " : ""}${name}${isOlder ? "" : ", which comes first by its name"}: ${remedy}`;
}
