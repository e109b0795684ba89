// The guards on single entries: what a rule may never put on a list, whoever wrote it.
import type { DeclaredOrigin, DeclaredInstance, ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import { familyOf, parseDeclaredEntry, prefixLengthOf } from "../../model/entry.ts";
import { NetworkIndex } from "../../model/entry-set.ts";
import { asSentence } from "../../model/sentence.ts";

export interface EntryGuards {
  readonly minPrefixLength: { readonly ipv4: number; readonly ipv6: number };
  readonly neverBlock: NetworkIndex;
  /** Items of `guards.neverBlock` that are no addresses: a guard that can't be read must be seen, not skipped. */
  readonly faults: readonly string[];
}

/**
 * The guards of an instance. The addresses of declared origins count as listed in `neverBlock`: a WAF that blocks its own
 * origin serves nobody.
 */
export function compileGuards(instance: DeclaredInstance, origins: readonly DeclaredOrigin[]): EntryGuards {
  const networks: Entry[] = [];
  const faults: string[] = [];
  for (const [index, text] of instance.guards.neverBlock.entries()) {
    const parsed = parseDeclaredEntry(text);
    if (parsed.ok) networks.push(parsed.entry);
    else faults.push(asSentence(`spec.guards.neverBlock[${index}]: ${parsed.fault.message}`));
  }
  for (const origin of origins) {
    const parsed = parseDeclaredEntry(origin.host);
    if (parsed.ok) networks.push(parsed.entry);
  }
  return { minPrefixLength: instance.guards.minPrefixLength, neverBlock: new NetworkIndex(networks), faults };
}

/** Why the guards refuse the entry on that list, in a sentence, or undefined if they do not. */
export function guardObjection(guards: EntryGuards, list: ListName, entry: Entry): string | undefined {
  const family = familyOf(entry);
  const shortest = guards.minPrefixLength[family];
  if (prefixLengthOf(entry) < shortest) {
    return `${entry} is wider than /${shortest}, the widest that spec.guards.minPrefixLength.${family} of the instance lets through: write narrower networks.`;
  }
  if (list === "allowlist") return undefined;
  const kept = guards.neverBlock.overlaps(entry);
  if (kept === undefined) return undefined;
  return `${entry} overlaps ${kept}, which must stay reachable (spec.guards.neverBlock of the instance, or a declared origin): take it out of the rule.`;
}
