// Determines which entries are managed. An entry is managed as soon as it is recorded, before the call that adds it. An entry
// that was on the list before any rule declared it stays unmanaged, unless a rule adopts it. Entries of unknown origin are
// unmanaged.
import type { Entry } from "../../address/entry.ts";
import type { Manner, OwnedEntry } from "../../model/inventory.ts";
import { withChanges } from "../../model/overlaid-map.ts";
import type { ResourceMeta } from "../../model/resource.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import type { ObservedEntries } from "../../model/observed.ts";
import type { WantedBy } from "./owner-lookup.ts";
import { OwnerLookup } from "./owner-lookup.ts";
import { entriesToUpdate, isOf } from "./outdated-records.ts";
import { goneRetainers, isRetained, joinRetainers } from "./retention.ts";
import { rulesIn, type WantedEntries } from "./wanted-entries.ts";

/** The annotation with which a rule or an origin adopts existing entries. */
export const adoptAnnotation = "wafsync.dev/adopt";

export interface ListOwnership {
  /** The content of the inventory before the first operation of this plan. */
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  /** `Owners`: the same entries are managed, but their owners have changed. */
  readonly change: "None" | "Owners" | "Entries";
  /** Entries that are already on the list and become managed. */
  readonly adopted: readonly Entry[];
  /** When to read the list again to drop missing entries from the record; undefined if there are none. */
  readonly lookAgainMs: number | undefined;
}

/**
 * Computes the ownership of one list.
 *
 * - `adds` become managed. Declared managed entries stay managed, with updated owners.
 * - Entries that a deleted rule retains are dropped from the record, even if other rules declare them.
 * - Undeclared entries that two reads did not contain are dropped. One read may be older than the last write, and a write that timed
 * out may still take effect: if the record were dropped too early, the entry would be orphaned.
 */
export function ownEntries(input: {
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  readonly wanted: WantedEntries;
  readonly observed: ObservedEntries;
  readonly adds: readonly { readonly entry: Entry; readonly rules: readonly CompiledRule[] }[];
  /** Policy `Exclusive`: undeclared entries are removed, even if a deleted rule retains them. */
  readonly exclusive: boolean;
  readonly existingRules: ReadonlySet<string>;
  /** Rules that seem to be deleted, and may only be unreadable at the moment: they retain nothing yet. */
  readonly unknownRules: ReadonlySet<string>;
  /** Whether entries may leave the record: not if what is declared could not be confirmed. */
  readonly mayForget: boolean;
  /** When the list was read. */
  readonly readAtMs: number;
  /** The minimum time between the two reads. */
  readonly windowMs: number;
  readonly nowMs: number;
}): ListOwnership {
  const { owned, wanted, observed, adds, existingRules, unknownRules, mayForget, readAtMs, windowMs, nowMs } = input;
  const lookup = new OwnerLookup();
  // If the clock was set back since, the very read that missed an entry must not count as a second one.
  const records = new Records(lookup, existingRules, nowMs, Math.max(nowMs, readAtMs));
  const isLeft = (record: OwnedEntry, isDeclared: boolean): boolean =>
    mayForget && (isDeclared || !input.exclusive) && isRetained(record, existingRules, unknownRules);
  const changes = new Map<Entry, OwnedEntry | undefined>();
  let change: ListOwnership["change"] = "None";
  let lookAgainMs: number | undefined;
  const wasMissing = ({ missingSinceMs }: OwnedEntry): boolean =>
    windowMs === 0 || (missingSinceMs !== undefined && readAtMs - missingSinceMs >= windowMs);
  for (const entry of entriesToUpdate(owned, wanted, lookup)) {
    const before = owned.get(entry);
    if (before === undefined) continue;
    const rules = wanted.get(entry);
    const isMissing = rules === undefined && !observed.has(entry) && mayForget;
    if (isLeft(before, rules !== undefined) || (isMissing && wasMissing(before))) {
      change = "Entries";
      changes.set(entry, undefined);
      continue;
    }
    const record =
      rules === undefined
        ? records.unwanted(before, isMissing)
        : records.updated(before, rules, entry, observed.has(entry));
    if (record.missingSinceMs !== before.missingSinceMs) change = "Entries";
    else if (record !== before && change === "None") change = "Owners";
    lookAgainMs = earlier(lookAgainMs, record.missingSinceMs);
    if (record !== before) changes.set(entry, record);
  }
  const isManaged = (entry: Entry): boolean =>
    changes.has(entry) ? changes.get(entry) !== undefined : owned.has(entry);
  const take = (entry: Entry, rules: readonly CompiledRule[], manner: Manner): void => {
    if (isManaged(entry)) return;
    changes.set(entry, records.fresh(rules, entry, manner));
    change = "Entries";
  };
  // The usual first plan: there is nothing to look up.
  const isFirst = owned.size === 0 && changes.size === 0;
  if (isFirst) for (const { entry, rules } of adds) changes.set(entry, records.fresh(rules, entry, "Added"));
  else for (const { entry, rules } of adds) take(entry, rules, "Added");
  if (isFirst && adds.length > 0) change = "Entries";
  const adopted = adoptable(wanted, observed, isManaged);
  for (const entry of adopted) take(entry, wanted.get(entry) ?? [], "Adopted");
  const atMs = lookAgainMs === undefined ? undefined : lookAgainMs + windowMs;
  return { owned: withChanges(owned, changes), change, adopted, lookAgainMs: atMs };
}

function earlier(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || (b !== undefined && b < a) ? b : a;
}

/** Creates the records of entries: one shared object for all entries with the same record. */
class Records {
  readonly #existingRules: ReadonlySet<string>;
  readonly #nowMs: number;
  readonly #missedAtMs: number;
  readonly #owners: OwnerLookup;
  readonly #fresh: Readonly<Record<Manner, Map<WantedBy, OwnedEntry>>> = { Added: new Map(), Adopted: new Map() };
  /** The latest successor of a record: nearly every change applies to all entries that share it. */
  readonly #successors = new Map<OwnedEntry, OwnedEntry>();
  /** The same for undeclared entries, by whether they are missing. */
  readonly #missing = new Map<OwnedEntry, OwnedEntry>();
  readonly #found = new Map<OwnedEntry, OwnedEntry>();

  constructor(owners: OwnerLookup, existingRules: ReadonlySet<string>, nowMs: number, missedAtMs: number) {
    this.#owners = owners;
    this.#existingRules = existingRules;
    this.#nowMs = nowMs;
    this.#missedAtMs = missedAtMs;
  }

  /** For an undeclared entry: records when it was first missing. The same object if nothing changed. */
  unwanted(before: OwnedEntry, isMissing: boolean): OwnedEntry {
    const { missingSinceMs } = before;
    // A time in the future means that the clock was set back.
    const missedAtMs = this.#missedAtMs;
    if (isMissing ? missingSinceMs !== undefined && missingSinceMs <= missedAtMs : missingSinceMs === undefined) {
      return before;
    }
    const successors = isMissing ? this.#missing : this.#found;
    const known = successors.get(before);
    if (known !== undefined) return known;
    const record = isMissing ? { ...before, missingSinceMs: missedAtMs } : found(before);
    successors.set(before, record);
    return record;
  }

  /** The same object if the owners are unchanged. */
  updated(before: OwnedEntry, rules: readonly CompiledRule[], entry: Entry, isShown: boolean): OwnedEntry {
    // Its removal is confirmed: it becomes managed anew, not since it was first added.
    if (before.missingSinceMs !== undefined && !isShown) return this.fresh(rules, entry, "Added");
    const wanted = this.#owners.of(rules, entry);
    if (isOf(before, wanted)) return before;
    const gone = goneRetainers(before, this.#existingRules);
    const next = gone === undefined ? wanted : { ...wanted, retainedBy: joinRetainers([wanted.retainedBy, gone]) };
    if (isOf(before, next)) return before;
    const known = this.#successors.get(before);
    if (known !== undefined && isOf(known, next)) return known;
    const { lines: _, ...rest } = found(before);
    const record = { ...rest, ...next };
    this.#successors.set(before, record);
    return record;
  }

  /** The record of an entry that becomes managed now. */
  fresh(rules: readonly CompiledRule[], entry: Entry, manner: Manner): OwnedEntry {
    const wantedBy = this.#owners.of(rules, entry);
    const known = this.#fresh[manner].get(wantedBy);
    if (known !== undefined) return known;
    const record: OwnedEntry = { ...wantedBy, sinceMs: this.#nowMs, manner };
    this.#fresh[manner].set(wantedBy, record);
    return record;
  }
}

/** The record of an entry that is not missing. */
function found(record: OwnedEntry): OwnedEntry {
  const { missingSinceMs: _, ...rest } = record;
  return rest;
}

function adoptable(
  wanted: WantedEntries,
  observed: ObservedEntries,
  isManaged: (entry: Entry) => boolean,
): readonly Entry[] {
  const found = new Set<Entry>();
  for (const rule of rulesIn(wanted)) {
    if (!asksToAdopt(rule.rule.meta)) continue;
    for (const entry of rule.entries) {
      // A remembered entry that leaves the record, since a deleted rule retains it, is no longer remembered.
      if (observed.has(entry) && !isManaged(entry) && !rule.remembered.has(entry)) found.add(entry);
    }
  }
  return [...found];
}

/** Whether a rule or an origin adopts existing entries. */
export function asksToAdopt(meta: ResourceMeta): boolean {
  return meta.annotations[adoptAnnotation] === "true";
}

/** The entries that may be removed from one list, by policy, ownership and `deletionPolicy`. Never contains declared entries. */
export function removableEntries(input: {
  readonly exclusive: boolean;
  readonly owned: ReadonlyMap<Entry, OwnedEntry>;
  /** The entries on the list that no rule declares. */
  readonly undeclared: Iterable<Entry>;
  readonly existingRules: ReadonlySet<string>;
  readonly unknownRules: ReadonlySet<string>;
}): readonly Entry[] {
  const { exclusive, owned, existingRules, unknownRules } = input;
  const isRemovable = (record: OwnedEntry | undefined): boolean =>
    record !== undefined && !isRetained(record, existingRules, unknownRules);
  return [...input.undeclared].filter((entry) => exclusive || isRemovable(owned.get(entry)));
}
