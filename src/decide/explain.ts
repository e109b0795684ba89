// Explains why an address is blocked, allowed, or neither: all entries of both lists that cover it, all rules that declare it, and the
// outcome of each entry in the next plan.
import { AddressCover } from "../address/ranges.ts";
import { type DeclaredRule, eachList, type ListName, listNames } from "../model/declared.ts";
import { readOwners, ruleIdOf } from "../model/rule-id.ts";
import { type Entry, networkOf } from "../address/entry.ts";
import { finished } from "../model/finished.ts";
import type { Gathered } from "../model/gathered.ts";
import type { Inventory } from "../model/inventory.ts";
import { type ObservedEntries, observeSpellings } from "../model/observed.ts";
import { type CompiledRule, endOf, noteOf, placeIn, readInSlices } from "./compiled-rule.ts";
import { Latest } from "./latest.ts";
import { agreeing } from "./decisions.ts";
import { compileInSlices, type DesiredState } from "./desired.ts";
import { type Plan, planInSlices } from "./plan.ts";

export interface ExaminedInput {
  readonly gathered: Gathered;
  /** The lists of the WAF; undefined if they could not be read. */
  readonly live: Readonly<Record<ListName, readonly string[]>> | undefined;
  /** Undefined if it could not be read. */
  readonly inventory: Inventory | undefined;
  /** The version of the inventory that the status describes. */
  readonly reportedVersion?: number | undefined;
  readonly nowMs: number;
}

/** What a run would start from: all addresses are looked up in it. */
export interface Examined extends Pick<ExaminedInput, "gathered" | "inventory"> {
  readonly desired: DesiredState;
  /** Undefined if the lists could not be read. */
  readonly lists: Readonly<Record<ListName, ObservedEntries>> | undefined;
  /** What the next plan decides about the rows whose columns disagree; undefined if the lists or the inventory could not be read. */
  readonly outcomes: Plan["outcomes"] | undefined;
  /** The removals that the next plan puts on hold; undefined if there are none, or they are unknown. */
  readonly held?: Plan["held"];
}

export type Explanation = ReturnType<typeof explainAddress>;
/** An entry that covers the address, on a list or declared for it. */
export type Covering = ReturnType<typeof coveringOf>;
/** A rule that declares an entry that covers the address. */
export type Wanting = ReturnType<typeof wantingOf>;

/** A rule that declares the address without effect, or may declare it. */
export interface Ineffective {
  readonly rule: DeclaredRule;
  /** Empty if the whole rule has no effect, or its source can't be read. */
  readonly sources: readonly string[];
  readonly message: string;
  /** A source of the rule can't be read, so nobody knows whether the rule declares the address. */
  readonly isUnread?: true;
  /** Set for an expired rule. */
  readonly expiredAtMs?: number | undefined;
}

/** `Allowed` if the allowlist covers the address, whether or not the blocklist does. */
export type Verdict = "Blocked" | "Allowed" | "NotBlocked";

/** Compiles the desired state as a run does, which can take a while: once for all addresses. */
export function* examineInSlices(input: ExaminedInput): Generator<undefined, Examined> {
  const { gathered, live, inventory, reportedVersion = 0, nowMs } = input;
  const lists = live && eachList((list) => observeSpellings(live[list]));
  yield;
  const desired = yield* compileInSlices(gathered, nowMs, inventory, lists && { lists });
  const examined = { gathered, inventory, desired, lists };
  if (lists === undefined || inventory === undefined) return { ...examined, outcomes: undefined };
  const observed = { domain: inventory.domain ?? "", primaryOrigin: "", lists, readAtMs: eachList(() => nowMs) };
  const { outcomes, held } = yield* planInSlices({ desired, observed, inventory, reportedVersion, nowMs });
  return { ...examined, outcomes, held };
}

/**
 * Looks the address up in the desired state, on the lists and in the inventory. The coverings of the blocklist come first, and of each
 * list the narrowest network.
 */
export function explainAddress(address: Entry, examined: Examined) {
  const { gathered, desired, lists } = examined;
  const cover = new AddressCover(address);
  const coverings = listNames.flatMap((list) => {
    const entries = [lists?.[list], desired.lists[list]].flatMap((known) =>
      [...(known?.keys() ?? [])].filter((entry) => cover.has(entry)),
    );
    return [...new Set(entries)]
      .toSorted((a, b) => networkOf(b).prefixLength - networkOf(a).prefixLength)
      .map((entry) => coveringOf(list, entry, cover, examined));
  });
  const isOn = (list: ListName): boolean =>
    coverings.some((covering) => covering.list === list && (covering.isLive ?? !isRefused(covering, examined)));
  const unlisted = isOn("blocklist") ? "Blocked" : "NotBlocked";
  const verdict: Verdict = isOn("allowlist") ? "Allowed" : unlisted;
  return { verdict, coverings, ineffective: desired.rules.flatMap((rule) => ineffectiveIn(rule, gathered, cover)) };
}

/** If the list could not be read, a declared entry counts as being on it, unless the API refused it. */
function isRefused({ list, entry }: Covering, { inventory }: Examined): boolean {
  return inventory?.refusals.some(({ operation }) => operation === `${list} +${entry}`) === true;
}

function coveringOf(list: ListName, entry: Entry, cover: AddressCover, examined: Examined) {
  const { desired, lists, inventory, outcomes } = examined;
  const record = inventory?.entries[list].get(entry);
  const rules = desired.lists[list].get(entry)?.rules ?? [];
  const spellings = lists?.[list].get(entry);
  const decided = outcomes?.[list].find((row) => row.entry === entry)?.outcome;
  return {
    list,
    entry,
    /** Undefined if the list could not be read. */
    isLive: lists === undefined ? undefined : spellings !== undefined,
    /** As the list shows it. */
    spellings: spellings ?? [],
    /** Undefined if unknown. A declared entry that is not on the list is not managed yet. */
    isManaged: inventory === undefined ? undefined : record !== undefined,
    manner: record?.manner,
    sinceMs: record?.sinceMs,
    /** Empty if no rule declares it. */
    wantedBy: rules.map((rule) => wantingOf(rule, entry, cover)),
    /** How many declared entries a merged network covers. */
    lines: record?.lines ?? rules.map(({ lines }) => lines.get(entry)).find((lines) => lines !== undefined),
    /** The last owners, if no rule declares it. */
    formerOwners: rules.length > 0 || record === undefined ? [] : readOwners(record.owners),
    /** Undefined if the lists or the inventory could not be read. */
    outcome: outcomes && (decided ?? agreeing),
  };
}

function wantingOf(rule: CompiledRule, entry: Entry, cover: AddressCover) {
  const sources = rule.parts.flatMap((part) => placeIn(part, rule.cutFrom.get(entry) ?? entry) ?? []);
  return {
    rule: rule.rule,
    /**
     * The positions in the rule: `spec.addresses[3]`, or a line of a ConfigMap. A merged network has the addresses of entries in several
     * places.
     */
    sources: sources.length === 0 ? sourcesIn(rule.parts, cover) : sources,
    /** What a source says about the entry. */
    note: noteOf(rule, entry),
    expiresAtMs: rule.expiresAtMs ?? endOf(rule, entry),
  };
}

function ineffectiveIn(compiled: CompiledRule, gathered: Gathered, cover: AddressCover): Ineffective[] {
  const { rule, id, isAttached, message } = compiled;
  const gatheredRule = gathered.rules.find((item) => ruleIdOf(item.rule.meta) === id);
  const named = (rejected: CompiledRule["rejected"]) => rejected.filter(({ entry }) => cover.find(entry) !== undefined);
  if (!isAttached) {
    const read = gatheredRule === undefined ? undefined : finished(readInSlices(gatheredRule, 0, new Latest()));
    const isNamed = read !== undefined && sourcesIn(read.parts, cover).length + named(read.invalid).length > 0;
    return isNamed ? [{ rule, sources: [], message }] : [];
  }
  const sources = sourcesIn(compiled.parts, cover);
  if (compiled.expired) {
    const expiredAtMs = rule.meta.deleting ? undefined : compiled.expiresAtMs;
    const expired = rule.meta.deleting ? "The rule is being deleted." : "The rule has expired.";
    return sources.length > 0 ? [{ rule, sources, message: expired, expiredAtMs }] : [];
  }
  const rejected = named(compiled.rejected).map((item) => ({ rule, sources: [item.source], message: item.message }));
  const excepted = rule.except.find((text) => cover.find(text) !== undefined);
  const leavesOut = `spec.except of the rule leaves out ${excepted ?? ""}.`;
  const left = excepted === undefined || sources.length === 0 ? [] : [{ rule, sources, message: leavesOut }];
  const unread = gatheredRule?.texts.flatMap((text) => (text.state === "Missing" ? [text.problem] : [])) ?? [];
  return [...rejected, ...left, ...unread.map((message) => ({ rule, sources: [], message, isUnread: true as const }))];
}

function sourcesIn(parts: CompiledRule["parts"], cover: AddressCover): readonly string[] {
  return parts.flatMap((part) =>
    [...part.entries.keys()].flatMap((entry) => (cover.has(entry) ? (placeIn(part, entry) ?? []) : [])),
  );
}
