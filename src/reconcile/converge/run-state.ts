// One pass over one instance: the state that its steps share. `refresh` and `replan` bring it up to date, `record` writes the
// inventory ahead. The plan always belongs to the other fields: whoever changes one of them plans again.
import type { ListName } from "../../model/declared.ts";
import { listNames } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { Gathered } from "../../model/gathered.ts";
import type { Inventory } from "../../model/inventory.ts";
import type { Operation } from "../../model/operation.ts";
import { operationKey } from "../../model/operation.ts";
import type { ObjectName } from "../../model/resource.ts";
import type { DesiredState } from "../../plan/instance/desired.ts";
import { compileDesired } from "../../plan/instance/desired.ts";
import type { Observed } from "../../model/observed.ts";
import type { Plan } from "../../plan/instance/plan.ts";
import { planInstance } from "../../plan/instance/plan.ts";
import type { InstanceMemory } from "./instance-memory.ts";
import type { RunResult } from "../run-result.ts";
import type { ReconcilePorts, WafPort } from "../ports.ts";

export interface Pass {
  readonly name: ObjectName;
  readonly ports: ReconcilePorts;
  readonly memory: InstanceMemory;
  readonly waf: WafPort;
  readonly startedMs: number;
  /** Of the source, when `gathered` was read. */
  version: number;
  gathered: Gathered;
  desired: DesiredState;
  observed: Observed;
  inventory: Inventory;
  revision: string;
  /** The inventory in memory is newer than the stored one. */
  inventoryDirty: boolean;
  plan: Plan;
  /** The lists of which it is certain that they are those of this domain; see `record`. */
  listsOfDomain: Observed["lists"] | undefined;
  /** Which of the plan's operations is next. */
  next: number;
  /** When the declared state was last confirmed by a fresh read; undefined since it changed. */
  confirmedMs: number | undefined;
  /** Lists that were written to, or where a write was refused, since they were last read. */
  readonly unread: Set<ListName>;
  /** Refused writes whose truth the next read of the list tells. */
  readonly refused: Map<string, { readonly operation: EntryOperation; readonly message: string }>;
  /** Recorded as ours in this pass and not yet sent: if the API says that one exists already, it is somebody else's. */
  readonly recordedNow: Record<ListName, Set<Entry>>;
  readonly originsRecordedNow: Set<string>;
  /** What was done, for events and for the pace. */
  readonly done: { added: number; removed: number; originsAdded: number; originsRemoved: number };
  /** Why the pass waits just now. */
  waiting: string | undefined;
  lastProgressMs: number;
  /** What was last said of `waiting`. */
  toldWaiting: string | undefined;
  /** The last report while the pass worked. */
  progress: ProgressReport | undefined;
  ended: boolean;
  /** Cache clears are looked at when something else is declared, and at a certain time. */
  clearsSeen: Gathered | undefined;
  clearsNextMs: number;
}

export interface ProgressReport {
  readonly written: Promise<void>;
  isWritten: boolean;
}

export type EntryOperation = Extract<Operation, { kind: "AddEntry" | "RemoveEntry" }>;

/** Plans again from what the pass knows now. Refused writes wait for the list to be read, and are not sent again before. */
export function replan(pass: Pass): void {
  const { desired, observed, inventory } = pass;
  const plan = planInstance({ desired, observed, inventory, nowMs: pass.ports.clock.nowMs() });
  const operations = plan.operations.filter((operation) => !pass.refused.has(operationKey(operation)));
  pass.plan = operations.length === plan.operations.length ? plan : { ...plan, operations };
  pass.next = 0;
}

/** Compiles what was gathered, and plans again. Expired rules go with the time. */
export function recompile(pass: Pass): void {
  pass.desired = compileDesired(pass.gathered, pass.ports.clock.nowMs());
  replan(pass);
}

/** True if the declared state may be newer than what the pass works on, or a rule has expired since. */
export function isOutdated(pass: Pass): boolean {
  const { nextExpiryMs } = pass.desired;
  if (nextExpiryMs !== undefined && nextExpiryMs <= pass.ports.clock.nowMs()) return true;
  return pass.ports.source.version(pass.name) !== pass.version;
}

/** Gathers anew and plans again. `Gone` if the instance is no more, `Outdated` if it is to be begun anew. */
export async function refresh(pass: Pass): Promise<RunResult | undefined> {
  pass.version = pass.ports.source.version(pass.name);
  const gathered = await pass.ports.source.gather(pass.name);
  if (gathered === undefined) return { kind: "Gone" };
  if (!sameWaf(gathered, pass.gathered)) return { kind: "Outdated" };
  pass.gathered = gathered;
  pass.confirmedMs = undefined;
  recompile(pass);
  return undefined;
}

/** An instance that now points elsewhere, or is to be deleted, is begun anew rather than changed under way. */
export function sameWaf(a: Gathered, b: Gathered): boolean {
  if (a.instance.baseUrl !== b.instance.baseUrl || a.instance.meta.uid !== b.instance.meta.uid) return false;
  if (a.instance.meta.deleting !== b.instance.meta.deleting) return false;
  if (a.instance.expectedDomain !== b.instance.expectedDomain || a.sameKey.length !== b.sameKey.length) return false;
  if (a.key.state !== "Present" || b.key.state !== "Present") return false;
  return a.key.key.reveal() === b.key.key.reveal();
}

/** True if the plan leaves something behind: it is ours, may be there, and is in the record no more. */
export function forgetsWhatIsThere({ plan, inventory, observed }: Pass): boolean {
  const next = plan.inventory;
  if (next === inventory) return false;
  for (const host of inventory.origins.keys()) if (!next.origins.has(host)) return true;
  return listNames.some((list) => {
    const live = observed.lists[list];
    for (const entry of inventory.entries[list].keys()) {
      if (live.has(entry) && !next.entries[list].has(entry)) return true;
    }
    return false;
  });
}

/** Writes the inventory of the plan before anything of the plan is done. */
export async function record(pass: Pass): Promise<RunResult | undefined> {
  if (!pass.plan.inventoryChanged && !pass.inventoryDirty) return undefined;
  const foreign = await ensureDomain(pass);
  if (foreign !== undefined) return foreign;
  const before = pass.inventory;
  const next = pass.plan.inventory;
  const saved = await pass.ports.inventory.save(pass.name, next, pass.revision);
  if (saved.state === "Conflict") return { kind: "Blocked", blocker: "InventoryConflict", message: saved.problem };
  if (saved.state === "Failed") return { kind: "Blocked", blocker: "InventoryUnwritable", message: saved.problem };
  for (const list of listNames) {
    const live = pass.observed.lists[list];
    for (const entry of next.entries[list].keys()) {
      // What the list shows already was adopted, and is not sent.
      if (!before.entries[list].has(entry) && !live.has(entry)) pass.recordedNow[list].add(entry);
    }
  }
  for (const [host, origin] of next.origins) {
    if (before.origins.get(host)?.type !== origin.type) pass.originsRecordedNow.add(host);
  }
  pass.inventory = next;
  pass.revision = saved.revision;
  pass.inventoryDirty = false;
  pass.plan = { ...pass.plan, inventoryChanged: false };
  return undefined;
}

/**
 * Lists don't say whose they are. If the key was given to another WAF since the domain was read, what they show must not
 * make us forget anything: so the domain is read once more before the first record that goes by them.
 */
async function ensureDomain(pass: Pass): Promise<RunResult | undefined> {
  const { lists } = pass.observed;
  if (pass.listsOfDomain === lists) return undefined;
  const read = await pass.waf.readOrigins({ signal: pass.ports.abandon });
  if (!read.ok) return read.fault.code === "Aborted" ? { kind: "Interrupted" } : { kind: "Failed", fault: read.fault };
  const moved = movedDomain(pass, read.value.domain);
  if (moved === undefined) pass.listsOfDomain = lists;
  return moved;
}

/** Each accepted write names the domain that it was done for. Another one than was read ends the pass. */
export function movedDomain({ observed }: Pass, domain: string): RunResult | undefined {
  if (domain.toLowerCase() === observed.domain.toLowerCase()) return undefined;
  const message = `The API key belonged to ${observed.domain} when the lists were read, and to ${domain} at the last write: nothing more is written until it is clear which WAF this is.`;
  return { kind: "Blocked", blocker: "DomainChanged", message };
}

/** Changes the inventory in memory; `record` stores it. The plan is made again, since it carries the inventory. */
export function changeInventory(pass: Pass, change: (inventory: Inventory) => Inventory): void {
  pass.inventory = change(pass.inventory);
  pass.inventoryDirty = true;
}
