// The owners of wanted entries. The rules that want an entry, and the parts of these that have it, decide; so there are few
// different answers, and each is put together once.
import type { EntryOwner, EntryOwners } from "../../model/entry-owners.ts";
import { writeOwners } from "../../model/entry-owners.ts";
import type { Entry } from "../../model/entry.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { RulePart } from "./rule-entries.ts";

export interface WantedBy {
  readonly owners: EntryOwners;
  /** The rule that retains the entry. */
  readonly retainedBy: string | undefined;
}

interface Part {
  readonly owner: EntryOwner;
  readonly entries: RulePart["entries"];
  /** The carved entries of the rule by the pieces that are written in their place. */
  readonly carvedBy: ReadonlyMap<Entry, readonly Entry[]>;
}

/** What a combination of rules has said about entries so far. */
interface Combination {
  readonly retainedBy: string | undefined;
  readonly parts: readonly Part[];
  /** By the parts that have the entry: `101` is the first and the third. */
  readonly known: Map<string, WantedBy>;
  /** Where every rule has one part, all entries have the same owners. */
  readonly always: WantedBy | undefined;
}

/** Remembers its answers: to be made anew for each plan. */
export class OwnerLookup {
  readonly #combinations = new Map<readonly CompiledRule[], Combination>();
  #lastRules: readonly CompiledRule[] | undefined;
  #lastAnswer: WantedBy | undefined;

  /** @param rules All that want the entry. Entries with the same rules pass the same array. */
  of(rules: readonly CompiledRule[], entry: Entry): WantedBy {
    if (rules === this.#lastRules && this.#lastAnswer !== undefined) return this.#lastAnswer;
    const combination = this.#combinationOf(rules);
    this.#lastRules = rules;
    this.#lastAnswer = combination.always;
    return combination.always ?? answerOf(combination, entry);
  }

  #combinationOf(rules: readonly CompiledRule[]): Combination {
    const known = this.#combinations.get(rules);
    if (known !== undefined) return known;
    const parts = rules.flatMap((rule) => partsOf(rule));
    const retainedBy = rules.find(({ rule }) => rule.deletionPolicy === "Retain")?.id;
    const isSimple = rules.every((rule) => rule.parts.length <= 1);
    const always = isSimple ? { owners: writeOwners(parts.map(({ owner }) => owner)), retainedBy } : undefined;
    const combination = { retainedBy, parts, known: new Map(), always };
    this.#combinations.set(rules, combination);
    return combination;
  }
}

function partsOf({ id, parts, carved }: CompiledRule): Part[] {
  const carvedBy = new Map<Entry, Entry[]>();
  for (const { entry, pieces } of carved) {
    for (const piece of pieces) carvedBy.set(piece, [...(carvedBy.get(piece) ?? []), entry]);
  }
  return parts.map(({ source, entries }) => ({ owner: { kind: "WafIpRule", name: id, source }, entries, carvedBy }));
}

function hasEntry({ entries, carvedBy }: Part, entry: Entry): boolean {
  return entries.has(entry) || carvedBy.get(entry)?.some((carved) => entries.has(carved)) === true;
}

function answerOf({ parts, retainedBy, known }: Combination, entry: Entry): WantedBy {
  const key = parts.map((part) => (hasEntry(part, entry) ? "1" : "0")).join("");
  const answer = known.get(key);
  if (answer !== undefined) return answer;
  const owners = parts.filter((_, index) => key[index] === "1").map(({ owner }) => owner);
  const fresh = { owners: writeOwners(owners), retainedBy };
  known.set(key, fresh);
  return fresh;
}
