// Explains why an address is blocked, allowed, or neither: all entries of both lists that cover it, and all rules that declare it.
import { AddressCover } from "../../address/ranges.ts";
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import { readOwners } from "../../model/entry-owners.ts";
import type { EntryOwner } from "../../model/entry-owners.ts";
import type { Entry } from "../../address/entry.ts";
import { prefixLengthOf } from "../../address/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory, Manner } from "../../model/inventory.ts";
import { observeSpellings } from "../../model/observe-spellings.ts";
import { ruleIdOf } from "../../model/rule-id.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import type { DesiredState } from "./desired.ts";
import { compileDesired } from "./desired.ts";
import type { Narrowed } from "./narrow.ts";
import { isNamedIn, narrowGathered } from "./narrow.ts";

export interface ExplainInput {
  readonly address: Entry;
  readonly gathered: Gathered;
  /** The lists of the WAF; undefined if they could not be read. */
  readonly live: Readonly<Record<ListName, readonly string[]>> | undefined;
  /** Undefined if it could not be read. */
  readonly inventory: Pick<Inventory, "entries" | "refusals"> | undefined;
  readonly nowMs: number;
}

/** A rule that declares an entry that covers the address. */
export interface Wanting {
  readonly rule: DeclaredRule;
  /** The positions in the rule: `spec.addresses[3]`, or a line of a ConfigMap. */
  readonly sources: readonly string[];
  readonly expiresAtMs: number | undefined;
}

/** An entry that covers the address, on a list or declared for it. */
export interface Covering {
  readonly list: ListName;
  readonly entry: Entry;
  /** Undefined if the list could not be read. */
  readonly isLive: boolean | undefined;
  /** As the list shows it. */
  readonly spellings: readonly string[];
  /** Undefined if unknown. A declared entry that is not on the list is not managed yet. */
  readonly isManaged: boolean | undefined;
  readonly manner: Manner | undefined;
  readonly sinceMs: number | undefined;
  /** Empty if no rule declares it. */
  readonly wantedBy: readonly Wanting[];
  /** How many declared entries a merged network stands for. */
  readonly lines: number | undefined;
  /** The last owners, if no rule declares it. */
  readonly formerOwners: readonly EntryOwner[];
  /** The API's error if it refused to add it; otherwise undefined. */
  readonly refusal: string | undefined;
}

/** A rule that declares the address without effect. */
export interface Ineffective {
  readonly rule: DeclaredRule;
  /** Empty if the whole rule has no effect, or its source can't be read. */
  readonly sources: readonly string[];
  readonly message: string;
  /** Set for an expired rule. */
  readonly expiredAtMs?: number | undefined;
}

/** `Allowed` if the allowlist covers the address, whether or not the blocklist does. */
export type Verdict = "Blocked" | "Allowed" | "NotBlocked";

export interface Explanation {
  readonly verdict: Verdict;
  /** Blocklist first, and the narrowest network of each list first. */
  readonly coverings: readonly Covering[];
  readonly ineffective: readonly Ineffective[];
}

/** Takes a few milliseconds for a hundred thousand entries: only those that cover the address are compiled. */
export function explainAddress({ address, gathered, live, inventory, nowMs }: ExplainInput): Explanation {
  const cover = new AddressCover(address);
  const narrowed = narrowGathered(gathered, cover);
  const shown = {
    blocklist: spellingsOn(live?.blocklist ?? [], cover),
    allowlist: spellingsOn(live?.allowlist ?? [], cover),
  };
  // Automatic blocks and merged networks depend on more entries than those that cover the address.
  const lists =
    live === undefined || narrowed.gathered !== gathered
      ? shown
      : { blocklist: observeSpellings(live.blocklist), allowlist: observeSpellings(live.allowlist) };
  const desired = compileDesired(
    narrowed.gathered,
    nowMs,
    inventory?.entries,
    live === undefined ? undefined : { lists },
  );
  const coverings = listNames.flatMap((list) => {
    const spellings = shown[list];
    const wanted = [...desired.lists[list].keys()].filter((entry) => cover.has(entry));
    const entries = [...new Set([...spellings.keys(), ...wanted])];
    return entries
      .toSorted((a, b) => prefixLengthOf(b) - prefixLengthOf(a))
      .map((entry) => coveringOf(list, entry, { cover, spellings, desired, narrowed, live, inventory }));
  });
  const isOn = (list: ListName): boolean =>
    coverings.some((covering) => covering.list === list && (covering.isLive ?? covering.refusal === undefined));
  const unlisted = isOn("blocklist") ? "Blocked" : "NotBlocked";
  const verdict = isOn("allowlist") ? "Allowed" : unlisted;
  return { verdict, coverings, ineffective: desired.rules.flatMap((rule) => ineffectiveIn(rule, narrowed, cover)) };
}

function spellingsOn(texts: readonly string[], cover: AddressCover): ReadonlyMap<Entry, readonly string[]> {
  const found = new Map<Entry, string[]>();
  for (const text of texts) {
    const entry = cover.find(text);
    if (entry !== undefined) found.set(entry, [...(found.get(entry) ?? []), text]);
  }
  return found;
}

interface Look extends Pick<ExplainInput, "live" | "inventory"> {
  readonly cover: AddressCover;
  readonly spellings: ReadonlyMap<Entry, readonly string[]>;
  readonly desired: DesiredState;
  readonly narrowed: Narrowed;
}

function coveringOf(list: ListName, entry: Entry, look: Look): Covering {
  const { cover, spellings, desired, narrowed, live, inventory } = look;
  const record = inventory?.entries[list].get(entry);
  const rules = desired.lists[list].get(entry) ?? [];
  const isLive = live === undefined ? undefined : spellings.has(entry);
  return {
    list,
    entry,
    isLive,
    spellings: spellings.get(entry) ?? [],
    isManaged: inventory === undefined ? undefined : record !== undefined,
    manner: record?.manner,
    sinceMs: record?.sinceMs,
    wantedBy: rules.map((rule) => wantingOf(rule, entry, narrowed, cover)),
    lines: record?.lines ?? rules.map(({ lines }) => lines.get(entry)).find((lines) => lines !== undefined),
    formerOwners: rules.length > 0 || record === undefined ? [] : readOwners(record.owners),
    refusal: inventory?.refusals.find(({ operation }) => operation === `${list} +${entry}`)?.message,
  };
}

function wantingOf(rule: CompiledRule, entry: Entry, { placeOf }: Narrowed, cover: AddressCover): Wanting {
  const sources = rule.parts.flatMap(({ entries }) => entries.get(rule.cutFrom.get(entry) ?? entry) ?? []);
  return {
    rule: rule.rule,
    // A merged network has the addresses of entries in several places.
    sources: sources.length === 0 ? sourcesOf(rule, placeOf, cover) : sources.map((source) => placeOf(rule.id, source)),
    expiresAtMs: rule.expiresAtMs ?? rule.judged?.find((judged) => judged.entry === entry)?.untilMs,
  };
}

function ineffectiveIn(compiled: CompiledRule, { gathered, placeOf }: Narrowed, cover: AddressCover): Ineffective[] {
  const { rule, id, verdict, message } = compiled;
  const gatheredRule = gathered.rules.find((item) => ruleIdOf(item.rule.meta) === id);
  const missing = gatheredRule?.texts.flatMap((text) => (text.state === "Missing" ? [text.problem] : [])) ?? [];
  const unread = missing.map((problem) => ({ rule, sources: [], message: problem }));
  const isNamed = sourcesOf(compiled, placeOf, cover).length > 0;
  if (verdict === "NotAllowed" || verdict === "NotGranted") {
    const named = gatheredRule !== undefined && isNamedIn(gatheredRule, cover);
    return named ? [{ rule, sources: [], message }] : [];
  }
  if (compiled.expired) {
    const sources = sourcesOf(compiled, placeOf, cover);
    const expiredAtMs = rule.meta.deleting ? undefined : compiled.expiresAtMs;
    const expired = rule.meta.deleting ? "The rule is being deleted." : "The rule has expired.";
    return isNamed ? [{ rule, sources, message: expired, expiredAtMs }] : [];
  }
  const named = compiled.rejected.filter(({ entry }) => cover.find(entry) !== undefined);
  const rejected = named.map((item) => {
    return { rule, sources: [placeOf(id, item.source)], message: item.message };
  });
  const excepted = rule.except.find((text) => cover.find(text) !== undefined);
  const leavesOut = `spec.except of the rule leaves out ${excepted ?? ""}.`;
  const sources = excepted === undefined ? [] : sourcesOf(compiled, placeOf, cover);
  const left = sources.length === 0 ? [] : [{ rule, sources, message: leavesOut }];
  return [...rejected, ...left, ...unread];
}

function sourcesOf({ id, parts }: CompiledRule, placeOf: Narrowed["placeOf"], cover: AddressCover): readonly string[] {
  const sources = parts.flatMap(({ entries }) =>
    [...entries].flatMap(([entry, source]) => (cover.has(entry) ? [source] : [])),
  );
  return sources.map((source) => placeOf(id, source));
}
