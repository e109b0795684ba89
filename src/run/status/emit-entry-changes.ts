// Emits events about added, removed and adopted entries: one per rule, with the first entries, on the rule and on the instance.
// If many rules changed, the instance gets a single summary instead.
import type { Entry } from "../../address/entry.ts";
import { ruleIdOf, ruleLabel } from "../../model/rule-id.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Adoption } from "../../model/operation.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import { counted, inThousands } from "../../model/sentence.ts";
import { entriesKeptMax } from "../entry-changes.ts";
import type { EntryChange } from "../entry-changes.ts";
import type { StatusPort } from "../ports.ts";

/** With more rules than this, the instance gets one event for all of them. */
const rulesOnInstanceMax = 5;
/** The maximum number of rules with separate events in one run, per type of change; the others are only in the summary. */
export const rulesWithEventMax = 20;

type Change = EntryChange["change"] | "Adopted";

interface RuleChange {
  /** `namespace/name`; undefined if no rule is known. */
  readonly rule: string | undefined;
  readonly entries: readonly Entry[];
  readonly count: number;
}

/** Emits events about entries that were added to and removed from the lists. */
export function emitEntryChanges(status: StatusPort, gathered: Gathered, changes: readonly EntryChange[]): void {
  if (changes.length === 0) return;
  const metas = metasOf(gathered);
  for (const change of ["Added", "Removed"] as const) {
    const groups = changes.filter((item) => item.change === change);
    emitChanges(status, gathered, metas, change, byRule(groups, metas));
  }
}

/** Emits events about entries that became managed without a call. */
export function emitAdoptions(status: StatusPort, gathered: Gathered, adoptions: readonly Adoption[]): void {
  if (adoptions.length === 0) return;
  const groups = adoptions.map(({ entry, rules }) => ({ rules, entries: [entry], count: 1 }));
  const metas = metasOf(gathered);
  emitChanges(status, gathered, metas, "Adopted", byRule(groups, metas));
}

function metasOf({ rules }: Gathered): ReadonlyMap<string, ResourceMeta> {
  return new Map(rules.map(({ rule: { meta } }) => [ruleIdOf(meta), meta]));
}

/** Groups entries by rule. If several rules declared an entry, it belongs to the first one that still exists. */
function byRule(
  groups: readonly Pick<EntryChange, "rules" | "entries" | "count">[],
  metas: ReadonlyMap<string, ResourceMeta>,
): readonly RuleChange[] {
  const changes = new Map<string | undefined, { rule: string | undefined; entries: Entry[]; count: number }>();
  for (const { rules, entries, count } of groups) {
    const rule = rules.find((id) => metas.has(id)) ?? rules[0];
    const change = changes.get(rule) ?? { rule, entries: [], count: 0 };
    changes.set(rule, change);
    change.count += count;
    change.entries.push(...entries.slice(0, entriesKeptMax - change.entries.length));
  }
  return [...changes.values()];
}

function emitChanges(
  status: StatusPort,
  { instance: { meta: instance } }: Gathered,
  metas: ReadonlyMap<string, ResourceMeta>,
  change: Change,
  changes: readonly RuleChange[],
): void {
  if (changes.length === 0) return;
  const isSummed = changes.length > rulesOnInstanceMax;
  if (isSummed) {
    status.event(instance, { type: "Normal", reason: reasons[change], message: sumInWords(change, changes) });
  }
  for (const item of changes.slice(0, rulesWithEventMax)) {
    const { rule, entries, count } = item;
    const message = changeInWords(change, item);
    const details = { ...(rule === undefined ? {} : { rule }), entries, count };
    const event = { type: "Normal", reason: reasons[change], message, details } as const;
    const meta = rule === undefined ? undefined : metas.get(rule);
    if (!isSummed) status.event(instance, event);
    if (meta !== undefined && !meta.deleting) status.event(meta, isSummed ? event : { ...event, isRepeated: true });
  }
}

const reasons = { Added: "EntriesAdded", Removed: "EntriesRemoved", Adopted: "EntriesAdopted" } as const;
const prepositions = { Added: "for", Removed: "of", Adopted: "for" } as const;

function changeInWords(change: Change, { rule, entries, count }: RuleChange): string {
  const left = count - entries.length;
  const more = left > 0 ? ` and ${inThousands(left)} more` : "";
  const whose = rule === undefined ? "without a recorded rule" : `${prepositions[change]} ${ruleLabel(rule)}`;
  return `${change} ${counted(count, "entry", "entries")} ${whose}: ${entries.join(", ")}${more}.`;
}

function sumInWords(change: Change, changes: readonly RuleChange[]): string {
  const total = changes.reduce((sum, { count }) => sum + count, 0);
  const largest = changes.toSorted((a, b) => b.count - a.count).slice(0, rulesOnInstanceMax);
  const names = largest.map(({ rule, count }) => {
    return `${inThousands(count)} ${rule === undefined ? "without a recorded rule" : `${prepositions[change]} ${ruleLabel(rule)}`}`;
  });
  const left = inThousands(changes.length - largest.length);
  const rules = `${inThousands(changes.length)} rules`;
  return `${change} ${counted(total, "entry", "entries")} ${prepositions[change]} ${rules}: ${names.join(", ")}, and the rest ${prepositions[change]} ${left} more.`;
}
