// The writes of one run, and what their outcomes mean for the lists and for the managed entries.
//
// An entry is recorded in the inventory before its call. If the API rejects that call, the entry was already on the list and was
// added by another writer. If the call may have taken effect, the entry is managed from then on.
import { type ListName, listNames } from "../model/declared.ts";
import { readOwners, unknownOwners, ruleIdOfOwner } from "../model/rule-id.ts";
import type { Entry } from "../address/entry.ts";
import type { Inventory, OwnedOrigin, Refusal } from "../model/inventory.ts";
import type { Observed, ObservedEntries } from "../model/observed.ts";
import { type Adoption, type Operation, operationKey } from "../model/operation.ts";
import type { Plan } from "../decide/plan.ts";
import type { Changed } from "./status/events.ts";
import { asksToAdopt, displacedBy, RuleVersions, versionOf, withRefusal } from "../decide/ownership.ts";
import { nothingDone, type WritesDone } from "./facts.ts";
import type { World } from "./world.ts";

export type EntryOperation = Extract<Operation, { kind: "AddEntry" | "RemoveEntry" }>;
export type OriginOperation = Extract<Operation, { kind: "AddOrigin" | "RemoveOrigin" }>;

export class WriteLedger {
  readonly #lists: Readonly<Record<ListName, ListWrites>> = {
    blocklist: new ListWrites(),
    allowlist: new ListWrites(),
  };
  /** Hosts that were recorded in this run and not sent yet. */
  readonly #unsentOrigins = new Set<string>();
  readonly #world: World;
  readonly #done = { ...nothingDone };
  /** The entries that were changed, each once, even if its write is repeated because the WAF does not show it. */
  readonly #changed = new Map<string, Changed>();

  constructor(world: World) {
    this.#world = world;
  }

  get done(): WritesDone {
    return { ...this.#done };
  }

  /** The entries that were added, removed and adopted. */
  get changed(): readonly Changed[] {
    return [...this.#changed.values()];
  }

  #note(change: Changed["change"], { list, entry }: Adoption | EntryOperation, rules: readonly string[]): void {
    this.#changed.set(`${change} ${list} ${entry}`, { change, entry, rules });
  }

  /** The lists that were written to, or where a write was refused, since they were last read. */
  get unread(): readonly ListName[] {
    return listNames.filter((list) => this.#lists[list].isUnread);
  }

  /** The number of refused writes that await the next read of their list. */
  get refusedCount(): number {
    return this.#lists.blocklist.refused.size + this.#lists.allowlist.refused.size;
  }

  /** True if the write was refused, and must not be sent again before the next read of its list. */
  awaitsRead(operation: Operation): boolean {
    if (this.refusedCount === 0 || isOriginOperation(operation)) return false;
    return this.#lists[operation.list].refused.has(operationKey(operation));
  }

  /** Returns the WAF as last read, with later writes applied. Returns the same object if there were none. */
  shown(observed: Observed): Observed {
    if (listNames.every((list) => this.#lists[list].isEmpty)) return observed;
    const blocklist = this.#lists.blocklist.over(observed.lists.blocklist);
    return { ...observed, lists: { blocklist, allowlist: this.#lists.allowlist.over(observed.lists.allowlist) } };
  }

  /** Call this when the inventory of the plan was stored. Notes the entries that were recorded before their call. */
  recorded(before: Inventory, { adoptions, operations }: Pick<Plan, "adoptions" | "operations">): void {
    this.#done.adopted += adoptions.length;
    for (const adoption of adoptions) this.#note("Adopted", adoption, adoption.rules);
    for (const operation of operations) {
      if (operation.kind === "AddEntry") {
        const { list, entry } = operation;
        if (!before.entries[list].has(entry)) this.#lists[list].unsent.add(entry);
      } else if (operation.kind === "AddOrigin" && before.origins.get(operation.host)?.type !== operation.type) {
        this.#unsentOrigins.add(operation.host);
      }
    }
  }

  /** Call this when the API accepted the write. Returns the resulting inventory. */
  accepted(operation: Operation): Inventory {
    const { inventory, ports } = this.#world;
    this.#done[isRemoval(operation) ? "removed" : "added"] += 1;
    if (operation.kind === "RemoveOrigin") return withoutOrigin(inventory, operation.host);
    if (operation.kind === "AddOrigin") {
      this.#unsentOrigins.delete(operation.host);
      return withOriginAdded(inventory, operation, ports.clock.nowMs());
    }
    const { list, entry } = operation;
    this.#lists[list].accepted(operation);
    if (operation.kind === "AddEntry") this.#note("Added", operation, operation.rules);
    else {
      const { owners = unknownOwners } = inventory.entries[list].get(entry) ?? {};
      this.#note(
        "Removed",
        operation,
        readOwners(owners).flatMap((owner) => ruleIdOfOwner(owner) ?? []),
      );
    }
    return inventory;
  }

  /**
   * Call this when the outcome of the write is unknown: the entry is then managed. Until the next read of the list, an entry that
   * may be on it counts as listed, so that it is not dropped from the inventory if no rule declares it any longer.
   */
  unknown(operation: Operation): void {
    if (isOriginOperation(operation)) {
      this.#unsentOrigins.delete(operation.host);
      return;
    }
    const writes = this.#lists[operation.list];
    writes.uncertain.set(operationKey(operation), operation);
    if (operation.kind === "AddEntry") writes.added(operation.entry);
    writes.unsent.delete(operation.entry);
    writes.isUnread = true;
  }

  /**
   * Call this when the API refused the write. For an entry, the next read of the list shows why. Origins can't be read, so the
   * refusal takes effect immediately. Returns the resulting inventory.
   */
  refused(operation: Operation, message: string): Inventory {
    if (isOriginOperation(operation)) return this.#refusedOrigin(operation, message);
    const writes = this.#lists[operation.list];
    writes.refused.set(operationKey(operation), { operation, message });
    writes.isUnread = true;
    return this.#world.inventory;
  }

  /**
   * Call this when a list was read. Decides which refused writes had already taken effect, and which stay refused. Returns the
   * resulting inventory.
   */
  listRead(list: ListName, live: ObservedEntries): Inventory {
    const { desired } = this.#world;
    const writes = this.#lists[list];
    for (const operation of writes.uncertain.values()) {
      if (isDone(operation, live)) this.#world.happened({ kind: "Settled", operation });
    }
    const refused = [...writes.refused];
    writes.read();
    const shown = [...writes.unsent].filter((entry) => live.has(entry));
    let inventory = this.#disowned(this.#world.inventory, list, shown);
    const versions = new RuleVersions();
    for (const [key, { operation, message }] of refused) {
      if (operation.kind === "AddEntry") inventory = this.#disowned(inventory, list, [operation.entry]);
      if (isDone(operation, live)) continue;
      const rules = desired.lists[list].get(operation.entry)?.rules ?? [];
      const wantedBy = operation.kind === "RemoveEntry" ? "" : versions.of(rules);
      inventory = this.#withRefusal(inventory, { operation: key, message, wantedBy });
    }
    return inventory;
  }

  /**
   * The API's words decide nothing. After an addition with an unknown outcome, or if its WafOrigin adopts the origin, a refused
   * addition counts as added, because the origin may exist and serve. A refused removal means that there is nothing to remove,
   * because no read can show more.
   */
  #refusedOrigin(operation: OriginOperation, message: string): Inventory {
    const { inventory, desired, ports } = this.#world;
    const nowMs = ports.clock.nowMs();
    if (operation.kind === "RemoveOrigin") return withoutOrigin(inventory, operation.host);
    const declared = desired.origins.get(operation.host);
    const isUnsent = this.#unsentOrigins.delete(operation.host);
    if (!isUnsent) return withOriginAdded(inventory, operation, nowMs, { unconfirmed: message });
    if (declared !== undefined && asksToAdopt(declared.meta)) {
      return withOriginAdded(inventory, operation, nowMs, { unconfirmed: message, manner: "Adopted" });
    }
    const wantedBy = declared === undefined ? "" : versionOf(declared);
    return this.#withRefusal(withoutOrigin(inventory, operation.host), {
      operation: operationKey(operation),
      message,
      wantedBy,
    });
  }

  #withRefusal(inventory: Inventory, refused: Omit<Refusal, "refusedAtMs">): Inventory {
    const { ports, memory } = this.#world;
    const refusal = { ...refused, refusedAtMs: ports.clock.nowMs() };
    this.#world.happened({ kind: "Refused", refusal });
    const displaced = displacedBy(inventory.refusals, refusal);
    if (displaced !== undefined) memory.olderRefusals.set(displaced.operation, displaced);
    return { ...inventory, refusals: withRefusal(inventory.refusals, refusal) };
  }

  /** Drops entries that were recorded in this run and never sent, or refused at their first call: they are not managed. */
  #disowned(inventory: Inventory, list: ListName, candidates: readonly Entry[]): Inventory {
    const { unsent } = this.#lists[list];
    const lost = candidates.filter((entry) => unsent.delete(entry) && inventory.entries[list].has(entry));
    if (lost.length === 0) return inventory;
    const entries = new Map(inventory.entries[list]);
    for (const entry of lost) entries.delete(entry);
    return { ...inventory, entries: { ...inventory.entries, [list]: entries } };
  }
}

export function isRemoval(operation: Operation): boolean {
  return operation.kind === "RemoveEntry" || operation.kind === "RemoveOrigin";
}

export function isOriginOperation(operation: Operation): operation is OriginOperation {
  return operation.kind === "AddOrigin" || operation.kind === "RemoveOrigin";
}

/** Whether the list shows what the write was for. */
function isDone({ kind, entry }: EntryOperation, live: ObservedEntries): boolean {
  return live.has(entry) === (kind === "AddEntry");
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

/** The writes to one list since it was last read, applied to the result of that read. */
class ListWrites {
  isUnread = false;
  /** Refused writes by their key, until the next read of the list shows why they were refused. */
  readonly refused = new Map<string, { readonly operation: EntryOperation; readonly message: string }>();
  /** Writes with an unknown outcome by their key, until a response or the next read of the list shows the outcome. */
  readonly uncertain = new Map<string, EntryOperation>();
  /** Entries that were recorded in this run and not sent yet. */
  readonly unsent = new Set<Entry>();
  readonly #added = new Set<Entry>();
  /** The spellings that were removed. */
  readonly #removed = new Map<Entry, Set<string>>();

  get isEmpty(): boolean {
    return this.#added.size === 0 && this.#removed.size === 0;
  }

  accepted(operation: EntryOperation): void {
    const { entry } = operation;
    this.uncertain.delete(operationKey(operation));
    this.isUnread = true;
    if (operation.kind === "AddEntry") {
      this.added(entry);
      this.unsent.delete(entry);
    } else {
      this.#added.delete(entry);
      const spellings = this.#removed.get(entry) ?? new Set();
      this.#removed.set(entry, spellings.add(operation.spelling));
    }
  }

  added(entry: Entry): void {
    this.#added.add(entry);
    this.#removed.delete(entry);
  }

  /** The result of a read includes the writes. */
  read(): void {
    this.isUnread = false;
    this.refused.clear();
    this.uncertain.clear();
    this.#added.clear();
    this.#removed.clear();
  }

  /** Returns the list after the writes. An added entry has the spelling in which it was sent. */
  over(read: ObservedEntries): ObservedEntries {
    if (this.isEmpty) return read;
    const shown = new Map(read);
    for (const [entry, removed] of this.#removed) {
      const left = (read.get(entry) ?? []).filter((spelling) => !removed.has(spelling));
      if (left.length === 0) shown.delete(entry);
      else shown.set(entry, left);
    }
    for (const entry of this.#added) shown.set(entry, [entry]);
    return shown;
  }
}
