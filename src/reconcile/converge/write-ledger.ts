// What the outcome of a write means for the pass: for what the WAF now shows, and for what is ours.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import { operationKey } from "../../model/operation.ts";
import type { WriteAccepted } from "../../model/waf-result.ts";
import { versionOf, versionOfRules, withRefusal } from "../../plan/lists/refusals.ts";
import type { EntryOperation, Pass } from "./run-state.ts";
import { changeInventory } from "./run-state.ts";

type OriginOperation = Extract<Operation, { kind: "AddOrigin" | "RemoveOrigin" }>;

/** The API accepted the write. */
export function settleAccepted(pass: Pass, operation: Operation, accepted: WriteAccepted): void {
  const nowMs = pass.ports.clock.nowMs();
  switch (operation.kind) {
    case "AddEntry":
      live(pass, operation.list).set(operation.entry, [operation.entry]);
      pass.recordedNow[operation.list].delete(operation.entry);
      pass.unread.add(operation.list);
      pass.done.added += 1;
      noteRuleChange(pass, operation.rules, nowMs);
      return;
    case "RemoveEntry":
      dropSpelling(live(pass, operation.list), operation.entry, operation.spelling);
      pass.memory.removed[operation.list].add(operation.entry);
      pass.unread.add(operation.list);
      pass.done.removed += 1;
      return;
    case "AddOrigin":
      pass.originsRecordedNow.delete(operation.host);
      pass.done.originsAdded += 1;
      markOriginAdded(pass, operation, nowMs);
      return;
    case "RemoveOrigin":
      pass.done.originsRemoved += 1;
      forgetOrigin(pass, operation.host);
      tellOriginRemoval(pass, operation, accepted.message);
      return;
  }
}

/**
 * The write was sent and nobody knows whether it took effect: from now on it counts as ours. Until the list is read again, an
 * entry that may be there is taken as there: if no rule wants it any more by then, it must not be forgotten.
 */
export function settleUnknown(pass: Pass, operation: Operation): void {
  if (operation.kind === "AddEntry" || operation.kind === "RemoveEntry") {
    if (operation.kind === "AddEntry") live(pass, operation.list).set(operation.entry, [operation.entry]);
    pass.recordedNow[operation.list].delete(operation.entry);
    pass.unread.add(operation.list);
  } else {
    pass.originsRecordedNow.delete(operation.host);
  }
}

/** The API refused the write: for entries the next read of the list tells why. Origins can't be read, so it is decided now. */
export function settleRefused(pass: Pass, operation: Operation, message: string): void {
  if (operation.kind === "AddEntry" || operation.kind === "RemoveEntry") {
    pass.refused.set(operationKey(operation), { operation, message });
    pass.unread.add(operation.list);
    return;
  }
  settleRefusedOrigin(pass, operation, message);
}

/**
 * An addition that was recorded before this pass may have been made by a process that was killed: a second one is refused,
 * and the origin is there. A refused removal means that there is nothing to remove; no reading could tell more.
 */
function settleRefusedOrigin(pass: Pass, operation: OriginOperation, message: string): void {
  const nowMs = pass.ports.clock.nowMs();
  // It is taken at its word, so it must come from this WAF and no other.
  pass.listsOfDomain = undefined;
  if (operation.kind === "RemoveOrigin") {
    forgetOrigin(pass, operation.host);
    tellOriginRemoval(pass, operation, message, true);
    return;
  }
  if (!pass.originsRecordedNow.has(operation.host)) {
    markOriginAdded(pass, operation, nowMs);
    return;
  }
  const declared = pass.desired.origins.get(operation.host);
  changeInventory(pass, (inventory) => ({
    ...withoutOrigin(inventory, operation.host),
    refusals: withRefusal(inventory.refusals, {
      operation: operationKey(operation),
      message,
      refusedAtMs: nowMs,
      wantedBy: declared === undefined ? "" : versionOf(declared),
    }),
  }));
}

/** After a list was read again: which refused writes are done all the same, and which are refused for good. */
export function settleRead(pass: Pass, list: ListName): void {
  const nowMs = pass.ports.clock.nowMs();
  pass.unread.delete(list);
  const live = pass.observed.lists[list];
  disown(
    pass,
    list,
    [...pass.recordedNow[list]].filter((entry) => live.has(entry)),
  );
  for (const [key, { operation, message }] of pass.refused) {
    if (operation.list !== list) continue;
    pass.refused.delete(key);
    const isLive = live.has(operation.entry);
    if (operation.kind === "AddEntry") disown(pass, list, [operation.entry]);
    if (isLive === (operation.kind === "AddEntry")) continue;
    changeInventory(pass, (inventory) => ({
      ...inventory,
      refusals: withRefusal(inventory.refusals, {
        operation: key,
        message,
        refusedAtMs: nowMs,
        wantedBy: wantedBy(pass, operation),
      }),
    }));
  }
}

function wantedBy(pass: Pass, operation: EntryOperation): string {
  if (operation.kind === "RemoveEntry") return "";
  return versionOfRules(pass.desired.lists[operation.list].get(operation.entry) ?? []);
}

/**
 * They were recorded in this pass, and either never sent or refused at their first call: they are not on the list, or
 * somebody else put them there.
 */
function disown(pass: Pass, list: ListName, candidates: readonly Entry[]): void {
  const lost = candidates.filter(
    (entry) => pass.recordedNow[list].delete(entry) && pass.inventory.entries[list].has(entry),
  );
  if (lost.length === 0) return;
  changeInventory(pass, (inventory) => {
    const entries = new Map(inventory.entries[list]);
    for (const entry of lost) entries.delete(entry);
    return { ...inventory, entries: { ...inventory.entries, [list]: entries } };
  });
}

function markOriginAdded(pass: Pass, operation: OriginOperation, nowMs: number): void {
  changeInventory(pass, (inventory) => {
    const before = inventory.origins.get(operation.host);
    const record = { type: operation.type, addedAtMs: nowMs, retainedBy: before?.retainedBy };
    return { ...inventory, origins: new Map(inventory.origins).set(operation.host, record) };
  });
}

function forgetOrigin(pass: Pass, host: string): void {
  changeInventory(pass, (inventory) => withoutOrigin(inventory, host));
}

function withoutOrigin(inventory: Inventory, host: string): Inventory {
  const origins = new Map(inventory.origins);
  origins.delete(host);
  return { ...inventory, origins };
}

function tellOriginRemoval(pass: Pass, operation: OriginOperation, answer: string, refused = false): void {
  const { status } = pass.ports;
  const { meta } = pass.gathered.instance;
  if (!refused) {
    status.event(meta, { type: "Normal", reason: "OriginRemoved", message: `Removed origin ${operation.host}.` });
    return;
  }
  status.event(meta, {
    type: "Warning",
    reason: "OriginRemovalRefused",
    message: `The API refused to remove origin ${operation.host} (${answer}). It is taken as not there any more; since origins can't be read back, look at the WAF's own console if in doubt.`,
  });
}

function noteRuleChange(pass: Pass, rules: readonly string[], nowMs: number): void {
  for (const id of rules) pass.memory.ruleChangedMs.set(id, nowMs);
}

function live(pass: Pass, list: ListName): Map<Entry, readonly string[]> {
  return pass.observed.lists[list] as Map<Entry, readonly string[]>;
}

function dropSpelling(entries: Map<Entry, readonly string[]>, entry: Entry, spelling: string): void {
  const left = (entries.get(entry) ?? []).filter((text) => text !== spelling);
  if (left.length === 0) entries.delete(entry);
  else entries.set(entry, left);
}
