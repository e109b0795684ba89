// Explains why an address is blocked, allowed, or neither: all entries of both lists that cover it, and all rules that declare it.
import { AddressCover } from "../../model/address-cover.ts";
import type { DeclaredRule, ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import { readOwners } from "../../model/entry-owners.ts";
import type { EntryOwner } from "../../model/entry-owners.ts";
import type { Entry } from "../../model/entry.ts";
import { prefixLengthOf } from "../../model/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory, Manner } from "../../model/inventory.ts";
import { observeSpellings } from "../../model/entry-set.ts";
import { ruleIdOf } from "../../model/rule-id.ts";
import { sentAs } from "../lists/managed-parts.ts";
import type { CompiledRule } from "../lists/compiled-rule.ts";
import { describeCarved } from "../lists/compiled-rule.ts";
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
  /** Empty if no rule declares it. For a merged entry: the rules that declare the address and rely on it. */
  readonly wantedBy: readonly Wanting[];
  /** The entry that is sent for this declared one; undefined if it is sent itself. */
  readonly coveredBy: Entry | undefined;
  /** How many declared entries it stands for; 0 if it stands only for itself. */
  readonly parts: number;
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
  // A whole network may be exempt from automatic blocks, so these depend on more entries than those that cover the address.
  const isJudged = narrowed.gathered.rules.some(({ judged }) => judged !== undefined);
  const allowlist = isJudged && live !== undefined ? observeSpellings(live.allowlist) : shown.allowlist;
  const desired = compileDesired(
    narrowed.gathered,
    nowMs,
    inventory?.entries,
    live === undefined ? undefined : { lists: { ...shown, allowlist } },
  );
  const coverings = listNames.flatMap((list) => {
    const spellings = shown[list];
    const wanted = [...desired.declared[list].keys()].filter((entry) => cover.has(entry));
    const entries = [...new Set([...spellings.keys(), ...wanted])];
    const found = entries
      .toSorted((a, b) => prefixLengthOf(b) - prefixLengthOf(a))
      .map((entry) => coveringOf(list, entry, { spellings, desired, narrowed, live, inventory }));
    return found.map((covering) => withReliers(covering, found));
  });
  const isOn = (list: ListName): boolean =>
    coverings.some(
      (covering) =>
        covering.list === list &&
        (covering.isLive ?? (covering.refusal === undefined && covering.coveredBy === undefined)),
    );
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
  readonly spellings: ReadonlyMap<Entry, readonly string[]>;
  readonly desired: DesiredState;
  readonly narrowed: Narrowed;
}

function coveringOf(list: ListName, entry: Entry, look: Look): Covering {
  const { spellings, desired, narrowed, live, inventory } = look;
  const record = inventory?.entries[list].get(entry);
  const rules = desired.declared[list].get(entry) ?? [];
  const isLive = live === undefined ? undefined : spellings.has(entry);
  return {
    list,
    entry,
    isLive,
    spellings: spellings.get(entry) ?? [],
    isManaged: inventory === undefined ? undefined : record !== undefined,
    manner: record?.manner,
    sinceMs: record?.sinceMs,
    wantedBy: rules.map((rule) => wantingOf(rule, entry, narrowed)),
    coveredBy: rules.length === 0 || isLive === true ? undefined : coverOf(list, entry, look),
    parts: record?.standsFor?.length ?? 0,
    formerOwners: rules.length > 0 || record === undefined ? [] : readOwners(record.owners),
    refusal: inventory?.refusals.find(({ operation }) => operation === `${list} +${entry}`)?.message,
  };
}

/**
 * The entry that stands for a declared one. Merged entries are known from the record, because only entries that cover the address
 * are compiled here.
 */
function coverOf(list: ListName, entry: Entry, { spellings, desired, inventory }: Look): Entry | undefined {
  const recorded = inventory === undefined ? [] : sentAs(inventory.entries[list], entry);
  const shown = recorded.find((sent) => sent !== entry && spellings.has(sent));
  if (shown !== undefined) return shown;
  if (desired.lists[list].has(entry)) return undefined;
  const covers = (desired.declared[list].get(entry) ?? []).map((rule) => desired.compacted[list].coverOf(rule, entry));
  return covers.find((cover) => cover !== undefined);
}

/** A merged entry that no rule declares as such: adds the rules that rely on it. */
function withReliers(covering: Covering, found: readonly Covering[]): Covering {
  if (covering.wantedBy.length > 0) return covering;
  const wantedBy = found.flatMap((other) => (other.coveredBy === covering.entry ? other.wantedBy : []));
  return wantedBy.length === 0 ? covering : { ...covering, wantedBy, formerOwners: [] };
}

function wantingOf(rule: CompiledRule, entry: Entry, { placeOf }: Narrowed): Wanting {
  const carved = rule.carved.filter(({ pieces }) => pieces.includes(entry)).map((item) => item.entry);
  const named = [entry, ...carved];
  const sources = rule.parts.flatMap(({ entries }) => named.flatMap((one) => entries.get(one) ?? []));
  return {
    rule: rule.rule,
    sources: [...new Set(sources)].map((source) => placeOf(rule.id, source)),
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
  const carved = compiled.carved
    .filter(({ entry, pieces }) => cover.has(entry) && !pieces.some((piece) => cover.has(piece)))
    .map((item) => ({ rule, sources: [placeOf(id, item.source)], message: describeCarved(item) }));
  return [...rejected, ...carved, ...unread];
}

function sourcesOf({ id, parts }: CompiledRule, placeOf: Narrowed["placeOf"], cover: AddressCover): readonly string[] {
  const sources = parts.flatMap(({ entries }) =>
    [...entries].flatMap(([entry, source]) => (cover.has(entry) ? [source] : [])),
  );
  return sources.map((source) => placeOf(id, source));
}
