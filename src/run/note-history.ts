// Records history: every write that the API accepted or rejected, and facts that took effect with a record. Cheap, because the
// port only buffers it for its next batch.
import { listNames } from "../model/declared.ts";
import type { EntryOwners } from "../model/entry-owners.ts";
import { unknownOwners, writeOwners } from "../model/entry-owners.ts";
import type { HistoryEvent, HistoryTarget } from "../model/history.ts";
import type { Inventory, Refusal } from "../model/inventory.ts";
import type { Adoption, Operation } from "../model/operation.ts";
import { nameKey, type ObjectName, type ResourceMeta } from "../model/resource.ts";
import { ownerOfRule } from "../model/rule-id.ts";
import type { WafFault } from "../model/waf-result.ts";
import type { DesiredState } from "../decide/desired.ts";
import type { DriftedEntry } from "../decide/drift.ts";
import type { Plan } from "../decide/plan.ts";
import type { ReconcilePorts } from "./ports.ts";
import { emitAdoptions } from "./status/emit-entry-changes.ts";
import { emitApproval } from "./status/emit-events.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { Gathered } from "../model/gathered.ts";

type Ports = Pick<ReconcilePorts, "history" | "clock">;

/** Records a write that the API accepted at `atMs`. `basis` contains the inventory from before the write. */
export function noteAccepted(ports: Ports, name: ObjectName, operation: Operation, basis: Basis, atMs: number): void {
  const kind = isAddition(operation) ? "Added" : "Removed";
  note(ports, name, [{ kind, ...subjectOf(operation, basis), note: reasonOf(operation, basis) }], atMs);
}

/** Records a write whose outcome is unknown. */
export function noteUnknown(
  ports: Ports,
  name: ObjectName,
  operation: Operation,
  basis: Basis,
  { message }: WafFault,
): void {
  const act = isAddition(operation) ? "addition" : "removal";
  note(ports, name, [{ kind: "OutcomeUnknown", ...subjectOf(operation, basis), note: `${act}: ${message}` }]);
}

/** Records writes with an unknown outcome that took effect according to the list. */
export function noteSettled(ports: Ports, name: ObjectName, operations: readonly Operation[], basis: Basis): void {
  note(
    ports,
    name,
    operations.map((operation) => ({
      kind: isAddition(operation) ? "Added" : "Removed",
      ...subjectOf(operation, basis),
      note: "found when the list was read again",
    })),
  );
}

/** Records the refusals that are only in `after`. */
export function noteRefusals(ports: Ports, name: ObjectName, before: Inventory, after: Inventory): void {
  if (ports.history === undefined || before.refusals === after.refusals) return;
  const known = new Set(before.refusals);
  note(
    ports,
    name,
    after.refusals
      .filter((refusal) => !known.has(refusal))
      .map((refusal) => ({ kind: "Refused", ...refused(refusal) })),
  );
}

export function noteDrift(
  ports: Ports,
  name: ObjectName,
  drift: readonly DriftedEntry[],
  { lists }: Pick<DesiredState, "lists">,
): void {
  note(
    ports,
    name,
    drift.map(({ list, entry, change }) => ({
      kind: "Drifted",
      target: list,
      values: [entry],
      owners: ownersOfRules((lists[list].get(entry) ?? []).map(({ id }) => id)),
      note: change === "Vanished" ? "removed by another writer" : "added again by another writer",
    })),
  );
}

/** Records facts that take effect with a record: adoptions, and a new approval. */
function noteRecorded(
  ports: Ports,
  instance: ResourceMeta,
  adoptions: readonly Adoption[],
  approved: Pick<Inventory, "approval" | "entries"> | undefined,
): void {
  const events: Draft[] = adoptions.map(({ list, entry, rules }) => {
    return { kind: "Adopted", target: list, values: [entry], owners: ownersOfRules(rules), note: "" };
  });
  const { approval, entries } = approved ?? {};
  for (const list of listNames) {
    for (const entry of approval?.removals[list] ?? []) {
      const owners = entries?.[list].get(entry)?.owners ?? unknownOwners;
      events.push({ kind: "Approved", target: list, values: [entry], owners, note: approverOf(instance) });
    }
  }
  note(ports, instance, events);
}

interface Basis {
  readonly inventory: Inventory;
  readonly desired: DesiredState;
}

type Draft = Omit<HistoryEvent, "atMs">;

function note(
  { history, clock }: Ports,
  { namespace, name }: ObjectName,
  events: readonly Draft[],
  atMs = clock.nowMs(),
): void {
  if (history === undefined || events.length === 0) return;
  history.note(
    { namespace, name },
    events.map((event) => ({ atMs, ...event })),
  );
}

/** Why the entry is added, in the words of the first rule that declares it. */
function reasonOf(operation: Operation, { desired }: Basis): string {
  if (operation.kind !== "AddEntry") return "";
  return desired.lists[operation.list].get(operation.entry)?.[0]?.rule.description ?? "";
}

function isAddition({ kind }: Operation): boolean {
  return kind === "AddEntry" || kind === "AddOrigin";
}

function subjectOf(operation: Operation, { inventory, desired }: Basis): Pick<Draft, "target" | "values" | "owners"> {
  switch (operation.kind) {
    case "AddEntry":
      return { target: operation.list, values: [operation.entry], owners: ownersOfRules(operation.rules) };
    case "RemoveEntry": {
      const owners = inventory.entries[operation.list].get(operation.entry)?.owners ?? unknownOwners;
      return { target: operation.list, values: [operation.entry], owners };
    }
    case "AddOrigin":
    case "RemoveOrigin": {
      const { host } = operation;
      const declared = desired.origins.get(host);
      const owners =
        declared === undefined
          ? (inventory.origins.get(host)?.owners ?? unknownOwners)
          : writeOwners([{ kind: "WafOrigin", name: nameKey(declared.meta), source: undefined }]);
      return { target: "origins", values: [host], owners };
    }
  }
}

function ownersOfRules(rules: readonly string[]): EntryOwners {
  return writeOwners(rules.map((id) => ownerOfRule(id, undefined)));
}

/** Parses an operation key: `blocklist +192.0.2.1`, or `origins +host type` for an origin. */
function refused({ operation, message }: Refusal): Pick<Draft, "target" | "values" | "owners" | "note"> {
  const [target = "", value = ""] = operation.split(" ");
  const act = value.startsWith("-") ? "removal" : "addition";
  return {
    target: target as HistoryTarget,
    values: [value.slice(1)],
    owners: unknownOwners,
    note: `${act}: ${message}`,
  };
}

function approverOf({ approver }: ResourceMeta): string {
  return approver === undefined ? "" : `by ${approver.manager}`;
}

/** Emits events and history for facts that take effect with a record of the inventory: an approval, and adoptions. */
export function emitRecorded(
  ports: ReconcilePorts,
  memory: InstanceMemory,
  { gathered }: { readonly gathered: Gathered },
  { adoptions, inventory }: Plan,
  isApproved: boolean,
): void {
  const { meta } = gathered.instance;
  if (isApproved) emitApproval(ports.status, memory.emitted, meta, inventory.approval);
  emitAdoptions(ports.status, gathered, adoptions);
  noteRecorded(ports, meta, adoptions, isApproved ? inventory : undefined);
}

/**
 * Defers work that no call of the WAF should wait for, such as the history, until the next call is in flight. A request is sent one
 * turn of the event loop after it was made, so the work waits for two turns.
 */
export class Afterwards {
  #waiting: (() => void)[] = [];

  /** Runs `act` soon, in the order of the calls. */
  later(act: () => void): void {
    this.#waiting.push(act);
    if (this.#waiting.length === 1) setImmediate(() => setImmediate(() => this.catchUp()));
  }

  /** Runs the deferred work now. */
  catchUp(): void {
    const acts = this.#waiting;
    this.#waiting = [];
    for (const act of acts) act();
  }
}
