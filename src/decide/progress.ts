// The numbers of a plan: the progress of each list and each rule.
import { eachList, type ListName, listNames } from "../model/declared.ts";
import { readOwners, remembering, unknownOwners, ruleIdOfOwner } from "../model/rule-id.ts";
import type { Entry } from "../address/entry.ts";
import type { Inventory } from "../model/inventory.ts";
import type { Observed } from "../model/observed.ts";
import { type Operation, partOf } from "../model/operation.ts";
import { type CompiledRule, faultsIn, isDerived, listedBy } from "./compiled-rule.ts";
import type { Decided } from "./list-draft.ts";
import type { Plan } from "./plan.ts";

/** The rows with this outcome, of both lists or of one. */
export function rowsWith(
  { outcomes }: Pick<Plan, "outcomes">,
  kind: Decided["outcome"]["kind"],
  lists = listNames,
): readonly Decided[] {
  return lists.flatMap((list) => outcomes[list].filter(({ outcome }) => outcome.kind === kind));
}

export interface ListSummary {
  /** Entries that the list shows. */
  readonly live: number;
  /** Managed entries among them. */
  readonly managed: number;
  readonly foreign: number;
  /** Writes of this plan that are not done yet. */
  readonly pending: number;
  /** Removals on hold. */
  readonly held: number;
  /** Entries that the list has no room for. */
  readonly overflow: number;
}

/** The numbers of the lists, with `operations` pending. */
export function summarizeLists(
  observed: Observed,
  inventory: Pick<Inventory, "entries">,
  operations: readonly Operation[],
  decided: Pick<Plan, "outcomes" | "held" | "leftOut">,
): Readonly<Record<ListName, ListSummary>> {
  return eachList((list) => {
    const live = observed.lists[list].size;
    let foreign = 0;
    for (const { shown, entry } of decided.outcomes[list]) {
      if (shown && !inventory.entries[list].has(entry)) foreign += 1;
    }
    return {
      live,
      managed: live - foreign,
      foreign,
      pending: operations.filter((operation) => partOf(operation) === list).length,
      held: decided.held?.removals[list].length ?? 0,
      overflow: decided.leftOut[list].size,
    };
  });
}

/** Returns the progress of each rule: all its entries are synced, but for the outcomes of a plan that say otherwise. */
export function progressOf(
  rules: readonly CompiledRule[],
  outcomes: Plan["outcomes"],
): ReadonlyMap<CompiledRule, RuleProgress> {
  const counts = new Map(rules.map((rule) => [rule, new RuleProgress(rule)]));
  for (const list of listNames) {
    const expired = rules.filter((rule) => rule.list === list && rule.expired);
    const formerOf = formerRules(expired);
    for (const row of outcomes[list]) {
      for (const rule of row.rules) counts.get(rule)?.note(row);
      if (row.shown && expired.length > 0) for (const rule of formerOf(row)) counts.get(rule)?.noteEnded(row);
    }
  }
  return counts;
}

/** The progress of one rule. */
export class RuleProgress {
  /** The number of its declared entries, including those that only the record says it declares. */
  readonly desired: number;
  /** Entries that another writer added: they stay when no rule declares them. Also for expired rules. */
  readonly foreign: Entry[] = [];
  /** Entries that the list has no room for. */
  readonly leftOut: Entry[] = [];
  /** Rejected by the API; entries that wafsync itself rejects are counted on the rule. */
  readonly refused: { readonly entry: Entry; readonly message: string }[] = [];
  /** Whether some are not added because another writer keeps removing them. */
  isContested = false;
  /** If the rule has expired: its managed entries that are still on the list, although no rule declares them. */
  readonly left: Decided[] = [];
  #missing = 0;

  constructor({ entries }: CompiledRule) {
    this.desired = entries.size;
  }

  get synced(): number {
    return this.desired - this.#missing;
  }

  get pending(): number {
    return this.#missing - this.refused.length - this.leftOut.length;
  }

  /** A row that the rule declares. */
  note({ entry, shown, recorded, outcome: { kind, refusals } }: Decided): void {
    if (shown) {
      if (recorded === undefined && kind !== "Adopt") this.foreign.push(entry);
      return;
    }
    this.#missing += 1;
    if (kind === "Refused") this.refused.push({ entry, message: refusals?.[0]?.message ?? "" });
    else if (kind === "NoRoom") this.leftOut.push(entry);
    else if (kind === "Contested") this.isContested = true;
  }

  /** A row on the list that the rule declared before it expired. */
  noteEnded(row: Decided): void {
    if (row.recorded === undefined) this.foreign.push(row.entry);
    else if (!row.declared) this.left.push(row);
  }
}

/** Finds the expired rules that declared an entry: by the record, too, since entries may have been cut or merged. */
function formerRules(expired: readonly CompiledRule[]): (row: Decided) => Iterable<CompiledRule> {
  const written = writtenBy(expired);
  const derived = new Map(expired.filter(isDerived).map((rule) => [rule.id, rule]));
  const ofOwners = remembering((owners) =>
    readOwners(owners).flatMap((owner) => derived.get(ruleIdOfOwner(owner) ?? "") ?? []),
  );
  return ({ entry, recorded }) =>
    new Set([...(written.get(entry) ?? []), ...ofOwners(recorded?.owners ?? unknownOwners)]);
}

/** The rules by the entries that they list, in any of their sources. */
function writtenBy(rules: readonly CompiledRule[]): ReadonlyMap<Entry, readonly CompiledRule[]> {
  const written = new Map<Entry, CompiledRule[]>();
  for (const rule of rules) {
    for (const entry of listedBy(rule)) {
      const others = written.get(entry);
      if (others === undefined) written.set(entry, [rule]);
      else others.push(rule);
    }
  }
  return written;
}

/** `120/10000`, or `expired`. Rejected entries count as declared, unless they come from a feed. */
export function progressText(rule: CompiledRule, { synced, desired }: RuleProgress): string {
  return rule.expired ? "expired" : `${synced}/${desired + faultsIn(rule.rejected).length}`;
}
