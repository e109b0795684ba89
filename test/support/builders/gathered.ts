// The inputs of a reconcile run, for tests: gathered resources, the WAF's lists, and managed entries.
import { ApiKey } from "../../../src/model/api-key.ts";
import type { ListName } from "../../../src/model/declared.ts";
import { type Entry, readObservedEntry } from "../../../src/address/entry.ts";
import { type Observed, observeSpellings } from "../../../src/model/observed.ts";
import { type EntryOwner, unknownOwners, writeOwners } from "../../../src/model/rule-id.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import { emptyInventory, type Inventory, type OwnedEntry, type OwnedOrigin } from "../../../src/model/inventory.ts";
import { operationKey, type Operation } from "../../../src/model/operation.ts";
import { compileDesired, type DesiredState } from "../../../src/decide/desired.ts";
import { finished } from "../../../src/model/finished.ts";
import { type Plan, type PlanInput, planInSlices } from "../../../src/decide/plan.ts";
import { anInstance } from "./declare.ts";

export const testKey = "a-key-of-the-tests";
/** The initial time of a virtual clock. */
export const nowMs = Date.UTC(2026, 0, 1);

export function gathered(overrides: Partial<Gathered> = {}): Gathered {
  return {
    instance: anInstance(),
    key: { state: "Present", key: new ApiKey(testKey) },
    rules: [],
    origins: [],
    cacheClears: [],
    namespaceLabels: new Map(),
    brokenSources: [],
    sameKey: [],
    ...overrides,
  };
}

export function desiredOf(overrides: Partial<Gathered> = {}, atMs = nowMs): DesiredState {
  return compileDesired(gathered(overrides), atMs);
}

export interface ObservedOverrides {
  readonly domain?: string;
  readonly primary?: string;
  readonly blocklist?: readonly string[];
  readonly allowlist?: readonly string[];
  /** The time at which both lists were read. */
  readonly readAtMs?: number;
}

/** The state of a WAF, with the lists in the WAF's spellings. */
export function observed(overrides: ObservedOverrides = {}): Observed {
  const primary = overrides.primary ?? "origin.shop.example";
  return {
    domain: overrides.domain ?? "shop.example",
    primaryOrigin: primary,
    lists: {
      blocklist: observeSpellings(overrides.blocklist ?? []),
      allowlist: observeSpellings(overrides.allowlist ?? []),
    },
    readAtMs: { blocklist: overrides.readAtMs ?? nowMs, allowlist: overrides.readAtMs ?? nowMs },
  };
}

/** A managed entry is its text, or its text and the rule that retains it. Its owners are unknown unless they are named. */
export type Owned = string | readonly [entry: string, retainedBy: string | undefined, owners?: readonly EntryOwner[]];

/** An entry that these rules declare in `spec.addresses` or in one of their texts. */
export function ownedBy(text: string, rules: readonly string[], source?: string): Owned {
  return [text, undefined, rules.map((name) => ({ kind: "WafIpRule", name, source }) as const)];
}

export interface InventoryOverrides extends Partial<Omit<Inventory, "entries" | "origins">> {
  readonly blocklist?: readonly Owned[];
  readonly allowlist?: readonly Owned[];
  readonly origins?: Readonly<Record<string, OwnedOrigin>>;
}

export function anInventory(overrides: InventoryOverrides = {}): Inventory {
  const { blocklist = [], allowlist = [], origins = {}, ...rest } = overrides;
  const domain = "domain" in overrides ? overrides.domain : "shop.example";
  const keyMark = new ApiKey(testKey).markFor(domain ?? "");
  return {
    ...emptyInventory,
    domain,
    waf: domain === undefined ? undefined : { baseUrl: anInstance().baseUrl, keyMark },
    entries: { blocklist: owned(blocklist), allowlist: owned(allowlist) },
    origins: new Map(Object.entries(origins)),
    ...rest,
  };
}

function owned(items: readonly Owned[]): Inventory["entries"][ListName] {
  return new Map(
    items.map((item) => {
      const [text, retainedBy, owners = []] = typeof item === "string" ? [item, undefined] : item;
      return [entry(text), anOwnedEntry({ owners: writeOwners(owners), retainedBy })];
    }),
  );
}

/** An entry that wafsync added, with nothing else recorded. */
export function anOwnedEntry(overrides: Partial<OwnedEntry> = {}): OwnedEntry {
  return { owners: unknownOwners, sinceMs: undefined, manner: "Added", retainedBy: undefined, ...overrides };
}

/** An alternate origin that the API accepted. */
export function anOwnedOrigin(overrides: Partial<OwnedOrigin> = {}): OwnedOrigin {
  const known = { owners: unknownOwners, manner: "Added", retainedBy: undefined } as const;
  return { type: "Alternate", addedAtMs: 1, unconfirmed: undefined, ...known, ...overrides };
}

/** Parses a canonical entry. */
export function entry(text: string): Entry {
  return readObservedEntry(text);
}

/** The plan, without its pauses. */
export function planInstance(input: PlanInput): Plan {
  return finished(planInSlices(input));
}

export interface Situation {
  readonly gathered?: Partial<Gathered>;
  readonly observed?: ObservedOverrides;
  readonly inventory?: InventoryOverrides;
  /** The declared state is confirmed. */
  readonly countsRemovals?: boolean;
  readonly nowMs?: number;
}

/** The plan of a situation. */
export function planOf(situation: Situation): Plan {
  const atMs = situation.nowMs ?? nowMs;
  const inventory = anInventory(situation.inventory);
  const shown = observed(situation.observed);
  return planInstance({
    desired: compileDesired(gathered(situation.gathered), atMs, inventory, shown),
    observed: shown,
    inventory,
    countsRemovals: situation.countsRemovals ?? false,
    nowMs: atMs,
  });
}

/** The operations of the plan, for example `blocklist +192.0.2.1`. */
export function operationsOf(situation: Situation): string[] {
  return planOf(situation).operations.map(operationKey);
}

/** A situation in which the blocklist shows what the record has. */
export function recorded(blocklist: readonly Owned[], given: Partial<Gathered> = {}, more: Situation = {}): Situation {
  const shown = blocklist.map((item) => (typeof item === "string" ? item : item[0]));
  return { ...more, gathered: given, observed: { blocklist: shown }, inventory: { ...more.inventory, blocklist } };
}

/** The lists after these operations, in the spellings of the plan. */
export function listsAfter(before: Observed["lists"], operations: readonly Operation[]): Observed["lists"] {
  const after = { blocklist: new Map(before.blocklist), allowlist: new Map(before.allowlist) };
  for (const operation of operations) {
    if (operation.kind === "AddEntry") after[operation.list].set(operation.entry, [operation.entry]);
    if (operation.kind !== "RemoveEntry") continue;
    const left = after[operation.list].get(operation.entry)?.filter((text) => text !== operation.spelling) ?? [];
    if (left.length === 0) after[operation.list].delete(operation.entry);
    else after[operation.list].set(operation.entry, left);
  }
  return after;
}
