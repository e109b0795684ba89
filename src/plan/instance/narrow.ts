// What is declared about one address: the same rules, with only those of their entries that cover it. So all that decides about
// an entry (guards, conflicts, expiry) is asked about a few entries, and gives the answer that it gives in a run over all.
// What guests declare stays whole: how many entries they have counts, and what else their Allow entries contain.
import type { AddressCover } from "../../model/address-cover.ts";
import type { AddressText, Gathered, GatheredRule } from "../../model/gathered.ts";
import { nameKey } from "../../model/resource.ts";
import { entryOnLine } from "../lists/address-lines.ts";

export interface Narrowed {
  /** Without rules that do not name the address and whose sources could all be read. */
  readonly gathered: Gathered;
  /** `spec.addresses[3]` as written, for a place in a narrowed rule; texts keep their line numbers. */
  readonly placeOf: (rule: string, source: string) => string;
}

export function narrowGathered(gathered: Gathered, cover: AddressCover): Narrowed {
  const home = gathered.instance.meta.namespace;
  const isGuests = ({ rule: { meta } }: GatheredRule): boolean => meta.namespace !== home;
  // An Allow entry of a guest depends on every Block entry inside it.
  const isAllowedByGuest = gathered.rules.some(
    (item) => isGuests(item) && item.rule.action === "Allow" && isNamedIn(item, cover),
  );
  if (isAllowedByGuest) return { gathered, placeOf: (_rule, source) => source };
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
    places.set(nameKey(item.rule.meta), indexes);
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

/** Whether the rule names the address, in whatever spelling. */
export function isNamedIn({ rule, texts }: GatheredRule, cover: AddressCover): boolean {
  if (rule.addresses.some((text) => cover.find(text) !== undefined)) return true;
  return texts.some((text) => text.state !== "Missing" && !isEmpty(narrowText(text, cover)));
}

/** Lines that do not cover the address become empty, so that the others keep their numbers. */
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

/** Whether it says nothing. What can't be read may say anything. */
function isEmpty(item: AddressText): boolean {
  if (item.state === "Missing") return false;
  return item.state === "Read" ? item.text === "" : item.entries.length === 0;
}
