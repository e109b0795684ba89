// Narrows the declarations to one address: the same rules, with only the entries that cover it. Guards, conflicts and expiry then
// evaluate only a few entries, with the same results as in a full run. Rules of guests stay complete, because their number of
// entries and the contents of their Allow entries matter.
import type { AddressCover } from "../../address/ranges.ts";
import type { AddressText, Gathered, GatheredRule } from "../../model/gathered.ts";
import { ruleIdOf } from "../../model/rule-id.ts";
import { entryOnLine } from "../lists/address-lines.ts";

export interface Narrowed {
  /** Without rules whose sources are all readable and that do not declare the address. */
  readonly gathered: Gathered;
  /** The original position, such as `spec.addresses[3]`, for a position in a narrowed rule; lines keep their numbers. */
  readonly placeOf: (rule: string, source: string) => string;
}

export function narrowGathered(gathered: Gathered, cover: AddressCover): Narrowed {
  const home = gathered.instance.meta.namespace;
  const isGuests = ({ rule: { meta } }: GatheredRule): boolean => meta.namespace !== home;
  // An Allow entry of a guest depends on every Block entry inside it.
  const isAllowedByGuest = gathered.rules.some(
    (item) => isGuests(item) && item.rule.action === "Allow" && isNamedIn(item, cover),
  );
  // An automatic block depends on every Allow entry inside it.
  const isJudged = gathered.rules.some(({ judged }) => judged?.judgement.entries.some(({ entry }) => cover.has(entry)));
  // A merged network depends on every entry inside it, on both lists.
  const isMerged = gathered.rules.some((item) => item.rule.aggregate && isNamedIn(item, cover));
  if (isAllowedByGuest || isJudged || isMerged) return { gathered, placeOf: (_rule, source) => source };
  const places = new Map<string, readonly number[]>();
  const rules: GatheredRule[] = [];
  for (const item of gathered.rules) {
    if (isGuests(item)) {
      rules.push(item);
      continue;
    }
    const indexes = item.rule.addresses.flatMap((text, index) => (cover.find(text) === undefined ? [] : [index]));
    const texts = item.texts.map((text) => narrowText(text, cover));
    const isKept = indexes.length > 0 || texts.some((text) => !isEmpty(text));
    if (!isKept) continue;
    places.set(ruleIdOf(item.rule.meta), indexes);
    const addresses = indexes.map((index) => item.rule.addresses[index] ?? "");
    rules.push({ ...item, rule: { ...item.rule, addresses }, texts });
  }
  return {
    gathered: { ...gathered, rules },
    placeOf: (rule, source) => {
      const index = /^spec\.addresses\[(\d+)\]$/.exec(source)?.[1];
      const original = index === undefined ? undefined : places.get(rule)?.[Number(index)];
      return original === undefined ? source : `spec.addresses[${original}]`;
    },
  };
}

/** Whether the rule declares the address, in any spelling. */
export function isNamedIn({ rule, texts }: GatheredRule, cover: AddressCover): boolean {
  if (rule.addresses.some((text) => cover.find(text) !== undefined)) return true;
  return texts.some((text) => text.state !== "Missing" && !isEmpty(narrowText(text, cover)));
}

/** Lines that do not cover the address are blanked, so that the others keep their numbers. */
function narrowText(item: AddressText, cover: AddressCover): AddressText {
  if (item.state === "Missing") return item;
  if (item.state === "Listed") return { ...item, entries: item.entries.filter((entry) => cover.has(entry)) };
  let text = "";
  let pending = 0;
  for (const line of item.text.split("\n")) {
    const entry = entryOnLine(line);
    if (entry !== "" && cover.find(entry) !== undefined) {
      text += `${"\n".repeat(pending)}${line}`;
      pending = 0;
    }
    pending += 1;
  }
  return { ...item, text };
}

/** Whether it is empty. An unreadable source may contain anything. */
function isEmpty(item: AddressText): boolean {
  if (item.state === "Missing") return false;
  return item.state === "Read" ? item.text === "" : item.entries.length === 0;
}
