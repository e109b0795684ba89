// Replaces carved entries with their parts, after conflicts are resolved: a carved entry takes part in conflicts as declared, so
// declaring the same entry in Allow is a conflict with or without carving.
import type { Entry } from "../../model/entry.ts";
import type { CompiledRule } from "./compiled-rule.ts";

/**
 * Takes the rules that `settleConflicts` returns. A part that a rule declares as an Allow entry is omitted: an exception within a Block
 * entry is not a conflict, and no entry may be on both lists.
 */
export function replaceCarved(rules: readonly CompiledRule[]): readonly CompiledRule[] {
  if (rules.every(({ carved }) => carved.length === 0)) return rules;
  const allowed = new Set<Entry>();
  for (const { list, entries } of rules) {
    if (list === "allowlist") for (const entry of entries) allowed.add(entry);
  }
  return rules.map((rule) => (rule.carved.length === 0 ? rule : withPieces(rule, allowed)));
}

function withPieces(rule: CompiledRule, allowed: ReadonlySet<Entry>): CompiledRule {
  // An entry that lost a conflict is neither declared nor carved.
  const carved = rule.carved.filter(({ entry }) => rule.entries.has(entry));
  const entries = new Set(rule.entries);
  for (const { entry } of carved) entries.delete(entry);
  for (const { pieces } of carved) for (const piece of pieces) if (!allowed.has(piece)) entries.add(piece);
  return { ...rule, carved, entries };
}
