// The same canonical entry in Block and in Allow: the oldest rule decides, the others are told. A narrower network inside
// a wider one of the other list is no conflict: that is how exceptions are written.
import type { Entry } from "../../model/entry.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { describeRejected } from "./compiled-rule.ts";
import type { RejectedEntry } from "./rule-entries.ts";

/** Where a rule says that it wants the entry. */
export type SourceOfEntry = (rule: CompiledRule, entry: Entry) => string;

/** Takes the losing entries out of their rules. `rules` come oldest first, and go out in the same order. */
export function settleConflicts(rules: readonly CompiledRule[], sourceOf: SourceOfEntry): CompiledRule[] {
  const actions = new Set(rules.map((rule) => rule.list));
  if (actions.size < 2) return [...rules];
  const winners = new Map<Entry, CompiledRule>();
  for (const rule of rules) {
    for (const entry of rule.entries) if (!winners.has(entry)) winners.set(entry, rule);
  }
  return rules.map((rule) => withoutLost(rule, winners, sourceOf));
}

function withoutLost(
  rule: CompiledRule,
  winners: ReadonlyMap<Entry, CompiledRule>,
  sourceOf: SourceOfEntry,
): CompiledRule {
  const lost: RejectedEntry[] = [];
  for (const entry of rule.entries) {
    const winner = winners.get(entry);
    if (winner !== undefined && winner.list !== rule.list) lost.push(lostTo(entry, winner, sourceOf(rule, entry)));
  }
  if (lost.length === 0) return rule;
  const gone = new Set<string>(lost.map(({ entry }) => entry));
  const entries = new Set([...rule.entries].filter((entry) => !gone.has(entry)));
  const rejected = [...rule.rejected, ...lost];
  if (rule.verdict !== "Accepted") return { ...rule, entries, rejected };
  return { ...rule, entries, rejected, verdict: "Conflict", message: describeRejected(lost) };
}

function lostTo(entry: Entry, winner: CompiledRule, source: string): RejectedEntry {
  return {
    entry,
    source,
    message: `${entry} is already in the older WafIpRule ${winner.id} with action ${winner.rule.action}: take it out of one of the two.`,
  };
}
