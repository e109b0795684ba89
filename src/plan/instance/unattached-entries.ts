// Finds the unattached rules that declare an entry which no record assigns to a rule: on a list with the policy `Exclusive`, wafsync also
// removes entries that it does not manage.
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { parseDeclaredEntry } from "../../model/entry.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import type { Hold } from "../lists/holds.ts";

export interface UnattachedRule {
  readonly rule: DeclaredRule;
  readonly hold: Hold;
}

/** Returns the holds of the rules that declare the entry, or an entry with common addresses. */
export function unattachedEntries(
  unattached: readonly UnattachedRule[],
  list: ListName,
): (entry: Entry) => readonly Hold[] {
  const ofList = unattached.filter(({ rule }) => (rule.action === "Block") === (list === "blocklist"));
  // The sources of unattached rules are not read, so these rules may declare every entry.
  const declaresAny = ofList.filter(({ rule }) => rule.addressesFrom.length + rule.feeds.length > 0);
  const named = ofList.map(({ rule, hold }) => ({ hold, entries: entriesOf(rule) }));
  const all = new NetworkIndex(named.flatMap(({ entries }) => entries));
  const indexes = named.map(({ hold, entries }) => ({ hold, index: new NetworkIndex(entries) }));
  return (entry) => {
    const found =
      all.overlaps(entry) === undefined ? [] : indexes.filter(({ index }) => index.overlaps(entry) !== undefined);
    return [...new Set([...declaresAny, ...found].map(({ hold }) => hold))];
  };
}

function entriesOf({ addresses }: DeclaredRule): Entry[] {
  return addresses.flatMap((text) => {
    const parsed = parseDeclaredEntry(text);
    return parsed.ok ? [parsed.entry] : [];
  });
}
