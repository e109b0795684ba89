// Limits the size of ConfigMaps per instance, because they are kept in memory and planned as a whole. A source above a limit is
// treated as unreadable: its entries stay on the list, and the rule reports the reason. The owner's rules are first; guests take
// turns by namespace, so that none uses the budget of the others.
import type { Grant, DeclaredRule } from "../../model/declared.ts";
import type { AddressText } from "../../model/gathered.ts";
import { byAge } from "../../model/resource.ts";
import { inThousands } from "../../model/sentence.ts";

/** Per rule, in all its ConfigMaps. */
export const linesOfRuleMax = 100_000;
/** For all rules of one instance. */
export const linesOfInstanceMax = 250_000;
/** Lines per granted entry of a guest namespace, because lines may be comments; and the minimum. */
const linesOfGrantFactor = 10;
const linesOfGuestMin = 10_000;
export const bytesOfInstanceMax = 32 * 1024 * 1024;
/** Distinct ConfigMaps per guest namespace and per instance. */
export const mapsOfGuestMax = 50;
export const mapsOfInstanceMax = 1_000;

export interface BudgetedRule {
  readonly rule: DeclaredRule;
  /** Undefined for the owner. */
  readonly grant: Grant | undefined;
  /** Whether its entries can apply. */
  readonly isAttached: boolean;
}

/** The order in which rules use the budget: the owner's rules by age, then the oldest rule of each guest, and so on. */
export function inBudgetOrder(rules: readonly BudgetedRule[]): BudgetedRule[] {
  const turns = new Map<string, number>();
  const aged = rules.toSorted((a, b) => byAge(a.rule.meta, b.rule.meta));
  const placed = aged.map((budgeted) => {
    const { namespace } = budgeted.rule.meta;
    const turn = turns.get(namespace) ?? 0;
    turns.set(namespace, turn + 1);
    return { budgeted, turn: budgeted.grant === undefined ? -1 : turn };
  });
  return placed.toSorted((a, b) => a.turn - b.turn).map(({ budgeted }) => budgeted);
}

/** Tracks the usage of the rules of one instance, in order. */
export class SourceBudget {
  #lines = 0;
  #bytes = 0;
  readonly #maps = new Set<string>();
  readonly #guests = new Map<string, { lines: number; readonly maps: Set<string> }>();

  /** The number of lines of all accepted texts. */
  get lines(): number {
    return this.#lines;
  }

  /** Undefined if the ConfigMaps of the rule may be read, otherwise the reason. */
  admit({ rule, grant }: BudgetedRule): string | undefined {
    const guest = this.#guestOf(rule.meta.namespace);
    const keys = new Set(rule.addressesFrom.map(({ name }) => `${rule.meta.namespace}/${name}`));
    const added = [...keys].filter((key) => !this.#maps.has(key)).length;
    if (this.#maps.size + added > mapsOfInstanceMax) {
      return `The rules of the instance take addresses from more than ${inThousands(mapsOfInstanceMax)} ConfigMaps: combine some of them.`;
    }
    if (this.#bytes >= bytesOfInstanceMax) {
      return `The ConfigMaps of the instance's rules are larger than ${bytesOfInstanceMax / 1024 / 1024} MiB in total: remove lines, or move rules to another instance.`;
    }
    if (grant !== undefined && new Set([...guest.maps, ...keys]).size > mapsOfGuestMax) {
      return `The rules of namespace ${rule.meta.namespace} take addresses from more than ${mapsOfGuestMax} ConfigMaps: combine some of them.`;
    }
    for (const key of keys) {
      this.#maps.add(key);
      guest.maps.add(key);
    }
    return undefined;
  }

  /** Counts the texts of the rule, including dropped ones: undefined if accepted, otherwise why they are too large. */
  take({ rule, grant }: BudgetedRule, texts: readonly AddressText[], linesDropped = 0): string | undefined {
    const read = texts.filter((text) => text.state === "Read");
    const lines = read.reduce((sum, text) => sum + linesOf(text), linesDropped);
    if (lines > linesOfRuleMax) {
      return `The ConfigMaps of this rule have ${inThousands(lines)} lines in total, but the limit is ${inThousands(linesOfRuleMax)}: remove lines.`;
    }
    const guest = this.#guestOf(rule.meta.namespace);
    const granted = grant === undefined ? undefined : Math.max(grant.maxEntries * linesOfGrantFactor, linesOfGuestMin);
    if (granted !== undefined && guest.lines + lines > granted) {
      return `The ConfigMaps of namespace ${rule.meta.namespace} have ${inThousands(guest.lines + lines)} lines including those of this rule, but the limit is ${inThousands(granted)}: remove lines.`;
    }
    if (this.#lines + lines > linesOfInstanceMax) {
      return `The ConfigMaps of the instance's rules have more than ${inThousands(linesOfInstanceMax)} lines, of which this rule has ${inThousands(lines)}: remove lines, or move rules to another instance.`;
    }
    guest.lines += lines;
    this.#lines += lines;
    this.#bytes += read.reduce((sum, { text }) => sum + text.length, 0);
    return undefined;
  }

  #guestOf(namespace: string): { lines: number; readonly maps: Set<string> } {
    const known = this.#guests.get(namespace) ?? { lines: 0, maps: new Set<string>() };
    this.#guests.set(namespace, known);
    return known;
  }
}

// Every run needs them, and a guest can have many.
const tooLargeTexts = new WeakMap<DeclaredRule, { readonly problem: string; readonly texts: readonly AddressText[] }>();

/** The texts of a rule that exceeds the budget. */
export function tooLarge(rule: DeclaredRule, problem: string): readonly AddressText[] {
  const known = tooLargeTexts.get(rule);
  if (known?.problem === problem) return known.texts;
  const texts = rule.addressesFrom.map(({ name, key }): AddressText => {
    const source = `ConfigMap ${rule.meta.namespace}/${name}, key ${key}`;
    return { state: "Missing", source, problem, isTooLarge: true };
  });
  tooLargeTexts.set(rule, { problem, texts });
  return texts;
}

// Every run counts them, and a text is the same object while its ConfigMap is unchanged.
const lineCounts = new WeakMap<AddressText, number>();

function linesOf(text: Extract<AddressText, { state: "Read" }>): number {
  const known = lineCounts.get(text);
  if (known !== undefined) return known;
  const lines = linesIn(text.text);
  lineCounts.set(text, lines);
  return lines;
}

export function linesIn(text: string): number {
  let lines = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}
