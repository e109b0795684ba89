// The owners of declared entries. They depend on the rules that declare an entry and on the sources that contain it, so there are
// few different results, and each is built once.
import { type EntryOwner, type EntryOwners, writeOwners } from "../model/entry-owners.ts";
import type { Entry } from "../address/entry.ts";
import { ownerOfRule } from "../model/rule-id.ts";
import type { CompiledRule } from "./compiled-rule.ts";

export interface WantedBy {
  readonly owners: EntryOwners;
  /** The rules that retain the entry, as in a record. */
  readonly retainedBy: string | undefined;
  /** How many declared entries it stands for, as in a record. */
  readonly lines?: number;
}

interface Part {
  readonly owner: EntryOwner;
  readonly has: (entry: Entry) => boolean;
}

/** The cached results for a combination of rules. */
interface Combination {
  readonly retainedBy: string | undefined;
  readonly parts: readonly Part[];
  /** What its rules merged, without rules that merged nothing. */
  readonly merged: readonly CompiledRule["lines"][];
  /** By the sources that contain the entry, and the number of merged entries: `101` means the first and the third. */
  readonly known: Map<string, WantedBy>;
  /** If every rule has a single source, and nothing is merged. */
  readonly always: WantedBy | undefined;
}

/** Caches its results: create a new one for each plan. */
export class OwnerLookup {
  readonly #combinations = new Map<readonly CompiledRule[], Combination>();
  #lastRules: readonly CompiledRule[] | undefined;
  #lastAnswer: WantedBy | undefined;

  /** @param rules All rules that declare the entry. Entries with the same rules must pass the same array. */
  of(rules: readonly CompiledRule[], entry: Entry): WantedBy {
    if (rules === this.#lastRules && this.#lastAnswer !== undefined) return this.#lastAnswer;
    const combination = this.#combinationOf(rules);
    this.#lastRules = rules;
    this.#lastAnswer = combination.always;
    return combination.always ?? answerOf(combination, entry);
  }

  /** The same for all entries of these rules; undefined if it depends on the entry. */
  always(rules: readonly CompiledRule[]): WantedBy | undefined {
    return this.#combinationOf(rules).always;
  }

  #combinationOf(rules: readonly CompiledRule[]): Combination {
    const known = this.#combinations.get(rules);
    if (known !== undefined) return known;
    const retainedBy = joinRetainers(rules.flatMap(({ id, rule }) => (rule.deletionPolicy === "Retain" ? [id] : [])));
    const merged = rules.flatMap(({ lines }) => (lines.size === 0 ? [] : [lines]));
    const isSimple = merged.length === 0 && rules.every((rule) => rule.parts.length <= 1);
    const always = isSimple ? { owners: writeOwners(rules.flatMap(ownersOf)), retainedBy } : undefined;
    const parts = isSimple ? [] : rules.flatMap((rule) => partsOf(rule));
    const combination = { retainedBy, parts, merged, known: new Map(), always };
    this.#combinations.set(rules, combination);
    return combination;
  }
}

function ownersOf({ id, parts }: CompiledRule): EntryOwner[] {
  return parts.map(({ source }) => ownerOfRule(id, source));
}

/** A network that is left of several entries, or merged, may come from any source of its rule, so all of them own it. */
function partsOf({ id, parts, declared }: CompiledRule): Part[] {
  return parts.map(({ source, entries }) => ({
    owner: ownerOfRule(id, source),
    has: (entry) => declared !== undefined || entries.has(entry),
  }));
}

function answerOf({ parts, merged, retainedBy, known }: Combination, entry: Entry): WantedBy {
  const sources = parts.map((part) => (part.has(entry) ? "1" : "0")).join("");
  const lines = Math.max(0, ...merged.map((of) => of.get(entry) ?? 0));
  const key = `${sources} ${lines}`;
  const answer = known.get(key);
  if (answer !== undefined) return answer;
  const owners = parts.filter((_, index) => sources[index] === "1").map(({ owner }) => owner);
  const fresh = { owners: writeOwners(owners), retainedBy, ...(lines === 0 ? {} : { lines }) };
  known.set(key, fresh);
  return fresh;
}

/** The retaining rules as in a record; undefined if there are none. */
export function joinRetainers(ids: readonly string[]): string | undefined {
  return ids.length === 0 ? undefined : [...new Set(ids)].toSorted().join(",");
}
