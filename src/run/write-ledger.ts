// The writes of one run, and what their outcomes mean for the lists and for the managed entries.
//
// An entry is recorded in the inventory before its call. If the API rejects that call, the entry was already on the list and was
// added by another writer. If the call may have taken effect, the entry is managed from then on.
import type { ListName } from "../model/declared.ts";
import { listNames } from "../model/declared.ts";
import { unknownOwners } from "../model/entry-owners.ts";
import type { Entry } from "../address/entry.ts";
import type { Inventory, OwnedOrigin, Refusal } from "../model/inventory.ts";
import type { Observed, ObservedEntries } from "../model/observed.ts";
import type { Operation } from "../model/operation.ts";
import { operationKey } from "../model/operation.ts";
import type { DesiredState } from "../decide/desired.ts";
import { asksToAdopt } from "../decide/ownership.ts";
import { displacedBy, RuleVersions, versionOf, withRefusal } from "../decide/refusals.ts";
import type { EntryChange } from "./entry-changes.ts";
import { EntryChanges } from "./entry-changes.ts";
import type { WritesDone } from "./facts.ts";
import { nothingDone } from "./facts.ts";

export type EntryOperation = Extract<Operation, { kind: "AddEntry" | "RemoveEntry" }>;
export type OriginOperation = Extract<Operation, { kind: "AddOrigin" | "RemoveOrigin" }>;

/** The state by which an outcome is judged. */
interface Basis {
  readonly inventory: Inventory;
  readonly desired: DesiredState;
}

export class WriteLedger {
  readonly #writes: Readonly<Record<ListName, ListWrites>> = {
    blocklist: new ListWrites(),
    allowlist: new ListWrites(),
  };
  /** Lists that were written to, or where a write was refused, since they were last read. */
  readonly #unread = new Set<ListName>();
  /** Refused writes by their key, until the next read of the list shows why they were refused. */
  readonly #refused = new Map<string, { readonly operation: EntryOperation; readonly message: string }>();
  /** Writes with an unknown outcome by their key, until a response or the next read of the list shows the outcome. */
  readonly #uncertain = new Map<string, EntryOperation>();
  /** Entries that were recorded in this run and not sent yet. */
  readonly #unsent: Readonly<Record<ListName, Set<Entry>>> = { blocklist: new Set(), allowlist: new Set() };
  readonly #unsentOrigins = new Set<string>();
  readonly #onRefusal: (refusal: Refusal, displaced: Refusal | undefined) => void;
  readonly #changes = new EntryChanges();
  #done: WritesDone = nothingDone;

  /** @param onRefusal called for each refusal, with the one that the inventory no longer has room for */
  constructor(onRefusal: (refusal: Refusal, displaced: Refusal | undefined) => void) {
    this.#onRefusal = onRefusal;
  }

  get done(): WritesDone {
    return this.#done;
  }

  /** The entries that were added and removed, by rule. */
  changes(): readonly EntryChange[] {
    return this.#changes.all();
  }

  get unread(): ReadonlySet<ListName> {
    return this.#unread;
  }

  /** The number of refused writes that await the next read of their list. */
  get refusedCount(): number {
    return this.#refused.size;
  }

  /** True if the write was refused, and must not be sent again before the next read of its list. */
  awaitsRead(operation: Operation): boolean {
    return this.#refused.size > 0 && this.#refused.has(operationKey(operation));
  }

  /** Returns the WAF as last read, with later writes applied. Returns the same object if there were none. */
  shown(observed: Observed): Observed {
    if (listNames.every((list) => this.#writes[list].isEmpty)) return observed;
    const { blocklist, allowlist } = observed.lists;
    return {
      ...observed,
      lists: {
        blocklist: this.#writes.blocklist.over(blocklist),
        allowlist: this.#writes.allowlist.over(allowlist),
      },
    };
  }

  /** Call this when the inventory was stored. Notes the entries that were recorded before their call; those already listed were adopted. */
  recorded(before: Inventory, after: Inventory, observed: Observed, adoptions: number): void {
    this.#done = { ...this.#done, adopted: this.#done.adopted + adoptions };
    for (const list of listNames) {
      const live = observed.lists[list];
      const now = after.entries[list];
      for (const entry of now.keys()) {
        const isNew = !before.entries[list].has(entry);
        if (isNew && !this.#writes[list].shows(entry, live)) this.#unsent[list].add(entry);
      }
    }
    for (const [host, origin] of after.origins) {
      if (before.origins.get(host)?.type !== origin.type) this.#unsentOrigins.add(host);
    }
  }

  /** Call this when the API accepted the write. Returns the resulting inventory. */
  accepted(operation: Operation, inventory: Inventory, nowMs: number): Inventory {
    const { added, removed, originsAdded, originsRemoved } = this.#done;
    this.#uncertain.delete(operationKey(operation));
    switch (operation.kind) {
      case "AddEntry":
        this.#writes[operation.list].added(operation.entry);
        this.#unsent[operation.list].delete(operation.entry);
        this.#unread.add(operation.list);
        this.#changes.added(operation.list, operation.entry, operation.rules[0]);
        this.#done = { ...this.#done, added: added + 1 };
        return inventory;
      case "RemoveEntry":
        this.#writes[operation.list].removed(operation.entry, operation.spelling);
        this.#unread.add(operation.list);
        this.#noteRemoved(operation, inventory);
        this.#done = { ...this.#done, removed: removed + 1 };
        return inventory;
      case "AddOrigin":
        this.#unsentOrigins.delete(operation.host);
        this.#done = { ...this.#done, originsAdded: originsAdded + 1 };
        return withOriginAdded(inventory, operation, nowMs);
      case "RemoveOrigin":
        this.#done = { ...this.#done, originsRemoved: originsRemoved + 1 };
        return withoutOrigin(inventory, operation.host);
    }
  }

  /**
   * Call this when the outcome of the write is unknown: the entry is then managed. Until the next read of the list, an entry that
   * may be on it counts as listed, so that it is not dropped from the inventory if no rule declares it any longer.
   */
  unknown(operation: Operation): void {
    if (operation.kind === "AddEntry" || operation.kind === "RemoveEntry") {
      this.#uncertain.set(operationKey(operation), operation);
      if (operation.kind === "AddEntry") this.#writes[operation.list].added(operation.entry);
      this.#unsent[operation.list].delete(operation.entry);
      this.#unread.add(operation.list);
    } else {
      this.#unsentOrigins.delete(operation.host);
    }
  }

  /**
   * Call this when the API refused the write. For an entry, the next read of the list shows why. Origins can't be read, so the
   * refusal takes effect immediately. Returns the resulting inventory.
   */
  refused(operation: Operation, message: string, basis: Basis, nowMs: number): Inventory {
    if (operation.kind === "AddEntry" || operation.kind === "RemoveEntry") {
      this.#refused.set(operationKey(operation), { operation, message });
      this.#unread.add(operation.list);
      return basis.inventory;
    }
    return this.#refusedOrigin(operation, message, basis, nowMs);
  }

  /** Call this when a list was read. Returns the writes with an unknown outcome that took effect, each only once. */
  takeSettled(list: ListName, live: ObservedEntries): readonly EntryOperation[] {
    const settled: EntryOperation[] = [];
    for (const [key, operation] of this.#uncertain) {
      if (operation.list !== list) continue;
      this.#uncertain.delete(key);
      if (live.has(operation.entry) === (operation.kind === "AddEntry")) settled.push(operation);
    }
    return settled;
  }

  /**
   * Call this when a list was read. Decides which refused writes had already taken effect, and which stay refused. Returns the
   * resulting inventory.
   */
  listRead(list: ListName, live: ObservedEntries, basis: Basis, nowMs: number): Inventory {
    this.#unread.delete(list);
    this.#writes[list].forget();
    let inventory = this.#disowned(
      basis.inventory,
      list,
      [...this.#unsent[list]].filter((entry) => live.has(entry)),
    );
    const versions = new RuleVersions();
    for (const [key, { operation, message }] of this.#refused) {
      if (operation.list !== list) continue;
      this.#refused.delete(key);
      if (operation.kind === "AddEntry") inventory = this.#disowned(inventory, list, [operation.entry]);
      if (live.has(operation.entry) === (operation.kind === "AddEntry")) continue;
      const rules = basis.desired.lists[list].get(operation.entry)?.rules ?? [];
      const wantedBy = operation.kind === "RemoveEntry" ? "" : versions.of(rules);
      const refusal = { operation: key, message, refusedAtMs: nowMs, wantedBy };
      inventory = this.#withRefusal(inventory, refusal);
    }
    return inventory;
  }

  #noteRemoved({ list, entry }: Extract<EntryOperation, { kind: "RemoveEntry" }>, { entries }: Inventory): void {
    this.#changes.removed(list, entry, entries[list].get(entry)?.owners ?? unknownOwners);
  }

  /**
   * The API's words decide nothing. After an addition with an unknown outcome, or if its WafOrigin adopts the origin, a refused
   * addition counts as added, because the origin may exist and serve. A refused removal means that there is nothing to remove,
   * because no read can show more.
   */
  #refusedOrigin(operation: OriginOperation, message: string, { inventory, desired }: Basis, nowMs: number): Inventory {
    if (operation.kind === "RemoveOrigin") return withoutOrigin(inventory, operation.host);
    const declared = desired.origins.get(operation.host);
    const isUnsent = this.#unsentOrigins.delete(operation.host);
    if (!isUnsent) return withOriginAdded(inventory, operation, nowMs, { unconfirmed: message });
    if (declared !== undefined && asksToAdopt(declared.meta)) {
      return withOriginAdded(inventory, operation, nowMs, { unconfirmed: message, manner: "Adopted" });
    }
    const wantedBy = declared === undefined ? "" : versionOf(declared);
    const refusal = { operation: operationKey(operation), message, refusedAtMs: nowMs, wantedBy };
    return this.#withRefusal(withoutOrigin(inventory, operation.host), refusal);
  }

  #withRefusal(inventory: Inventory, refusal: Refusal): Inventory {
    this.#onRefusal(refusal, displacedBy(inventory.refusals, refusal));
    return { ...inventory, refusals: withRefusal(inventory.refusals, refusal) };
  }

  /** Drops entries that were recorded in this run and never sent, or refused at their first call: they are not managed. */
  #disowned(inventory: Inventory, list: ListName, candidates: readonly Entry[]): Inventory {
    const lost = candidates.filter((entry) => this.#unsent[list].delete(entry) && inventory.entries[list].has(entry));
    if (lost.length === 0) return inventory;
    const entries = withChanges(inventory.entries[list], new Map(lost.map((entry) => [entry, undefined])));
    return { ...inventory, entries: { ...inventory.entries, [list]: entries } };
  }
}

export function isRemoval(operation: Operation): boolean {
  return operation.kind === "RemoveEntry" || operation.kind === "RemoveOrigin";
}

export function isOriginOperation(operation: Operation): operation is OriginOperation {
  return operation.kind === "AddOrigin" || operation.kind === "RemoveOrigin";
}

function withOriginAdded(
  inventory: Inventory,
  { host, type }: OriginOperation,
  nowMs: number,
  how: Partial<OwnedOrigin> = {},
): Inventory {
  const known = inventory.origins.get(host) ?? { retainedBy: undefined, owners: unknownOwners, manner: "Added" };
  const record = { ...known, type, addedAtMs: nowMs, unconfirmed: undefined, ...how };
  return { ...inventory, origins: new Map(inventory.origins).set(host, record) };
}

function withoutOrigin(inventory: Inventory, host: string): Inventory {
  const origins = new Map(inventory.origins);
  origins.delete(host);
  return { ...inventory, origins };
}

/** A map with changes/** A map with changes: each is a new value, or undefined for a removal. */
function withChanges<V>(map: ReadonlyMap<Entry, V>, changes: ReadonlyMap<Entry, V | undefined>): ReadonlyMap<Entry, V> {
  if (changes.size === 0) return map;
  const copy = new Map(map);
  for (const [key, value] of changes) {
    if (value === undefined) copy.delete(key);
    else copy.set(key, value);
  }
  return copy;
}

/** The writes to one list since it was last read, applied to the result of that read. */
class ListWrites {
  readonly #added = new Set<Entry>();
  /** The spellings that were removed. */
  readonly #removed = new Map<Entry, Set<string>>();

  get isEmpty(): boolean {
    return this.#added.size === 0 && this.#removed.size === 0;
  }

  added(entry: Entry): void {
    this.#added.add(entry);
    this.#removed.delete(entry);
  }

  removed(entry: Entry, spelling: string): void {
    this.#added.delete(entry);
    const spellings = this.#removed.get(entry) ?? new Set();
    this.#removed.set(entry, spellings.add(spelling));
  }

  /** Call this when the list was read, because the result includes the writes. */
  forget(): void {
    this.#added.clear();
    this.#removed.clear();
  }

  /** Whether the list contains the entry after the writes. */
  shows(entry: Entry, read: ObservedEntries): boolean {
    return this.#added.has(entry) || this.#left(entry, read).length > 0;
  }

  /** Returns the list after the writes. An added entry has the spelling in which it was sent. */
  over(read: ObservedEntries): ObservedEntries {
    if (this.isEmpty) return read;
    const changes = new Map<Entry, readonly string[] | undefined>();
    for (const entry of this.#removed.keys()) {
      const left = this.#left(entry, read);
      changes.set(entry, left.length === 0 ? undefined : left);
    }
    for (const entry of this.#added) changes.set(entry, [entry]);
    return withChanges(read, changes);
  }

  #left(entry: Entry, read: ObservedEntries): readonly string[] {
    const spellings = read.get(entry) ?? [];
    const removed = this.#removed.get(entry);
    return removed === undefined ? spellings : spellings.filter((spelling) => !removed.has(spelling));
  }
}
