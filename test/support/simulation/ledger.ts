// Records who added each entry to the WAF in a simulation, and what every process knew when it wrote. Each effect is checked
// immediately against the documented guarantees; breaking a guarantee is a violation.
import { eachList, type ListName, listNames } from "../../../src/model/declared.ts";
import { type EntryOwner, readOwners, unknownOwners } from "../../../src/model/rule-id.ts";
import type { Entry } from "../../../src/address/entry.ts";
import type { Gathered } from "../../../src/model/gathered.ts";
import type { Inventory, OwnedEntry } from "../../../src/model/inventory.ts";
import { nameKey, type ObjectName } from "../../../src/model/resource.ts";
import type { RunFacts } from "../../../src/run/facts.ts";
import {
  aggregates,
  isForbidden,
  isRemembered,
  mayBeDeclared,
  type Memory,
  originRemovalForbidden,
  type Recorded,
  wantedEntries,
  wantedOrigins,
  writtenForRule,
} from "./oracle.ts";
import { RemovalCounts } from "./removal-counts.ts";
import { isCoveredBy, sharesAddress } from "./oracle-networks.ts";
import type { SimWall } from "./sim-time.ts";
import type { EntryChange, OriginChange, SimWaf, WafChange } from "./sim-waf.ts";

/**
 * `Ours`: wafsync added or adopted it. `Recorded`: another writer added it while the inventory recorded that wafsync was about
 * to, which wafsync cannot distinguish from its own call. `Others`: all other writers, and entries that were orphaned on purpose.
 */
type Owner = "Ours" | "Recorded" | "Others";

/** What a process knew about an instance. */
export interface Knowledge {
  /** The last declared state that it received. */
  gathered?: Gathered | undefined;
  /** The last fresh read. */
  confirmed?: Gathered | undefined;
  confirmedAtMs?: number;
  /** Each list as this process last read it. */
  readonly seen: Partial<Record<ListName, ReadonlySet<Entry>>>;
  /** Whether the entries that stay were reported. */
  saidLeftBehind?: boolean;
}

/** About the acting process. */
interface Circumstances {
  /** The declared states since its start, which its watch may show. */
  readonly declared: readonly Gathered[];
  /** The clock that decides which entries have expired. */
  readonly wall: SimWall;
}

/** The basis for judging a removal: a fresh read, and the times that the clock of the process has shown since then. */
interface Basis {
  readonly confirmed: Gathered;
  readonly moments: readonly number[];
}

/** A fresh read is valid for 30 s; the call itself and its turn in the lane may take longer. */
const confirmedForMs = 30_000;
export const callMsMax = 20_000;
/** From the plan of a run to its report. */
const runMsMax = 600_000;

export class Ledger {
  readonly violations: string[] = [];
  readonly #owners: Record<ListName, Map<Entry, Owner>> = { blocklist: new Map(), allowlist: new Map() };
  readonly #ownOrigins = new Set<string>();
  readonly #approved: Record<ListName, Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  readonly #counts = new RemovalCounts();
  /** The time at which an inventory was last deleted with its instance. */
  #forgottenMs = 0;
  /** The reported removals on hold, by the hash that approves them. */
  readonly #reported = new Map<string, Readonly<Record<ListName | "origins", readonly string[]>>>();
  /** What a process removed and added since it read a list, by what that read showed. */
  readonly #removedSince = new WeakMap<ReadonlySet<Entry>, Set<Entry>>();
  readonly #addedSince = new WeakMap<ReadonlySet<Entry>, Set<Entry>>();
  /** The hashes that a person approved, and those that were used. */
  readonly #given = new Set<string>();
  readonly #used = new Set<string>();
  /** The record before the last save. */
  #formerInventory: Inventory | undefined;
  readonly #waf: SimWaf;
  /** Of all instances together, or of one. */
  readonly #inventory: (instance?: ObjectName) => Inventory;
  readonly #nowMs: () => number;

  constructor(waf: SimWaf, inventory: (instance?: ObjectName) => Inventory, nowMs: () => number) {
    this.#waf = waf;
    this.#inventory = inventory;
    this.#nowMs = nowMs;
  }

  ownersOf(list: ListName): ReadonlyMap<Entry, Owner> {
    return this.#owners[list];
  }

  readonly memory: Memory = {
    shown: (list) => this.#owners[list],
    isRecorded: (list, entry) => recordedAs(this.#inventory(), list, entry).length > 0,
    isAllowedAlready: (entry, shown) =>
      recordedAs(this.#inventory(), "allowlist", entry).some((sent) => shown.has(sent)),
    // What another instance recorded is unmanaged for this one, even if it left the entry behind.
    recorded: (instance) => recordedIn(this.#inventory(instance)),
  };

  #wanted(gathered: Gathered, atMs: number) {
    return wantedEntries(gathered, atMs, this.memory);
  }

  /** The holder of an entry is determined by the WAF, or by the possibly older lists that the process has read. */
  #bothWanted(
    gathered: Gathered,
    atMs: number,
    seen: Knowledge["seen"],
    list: ListName,
  ): readonly [ReadonlySet<Entry>, ReadonlySet<Entry>] {
    const shown: Memory["shown"] = (name) => new Map([...(seen[name] ?? [])].map((entry) => [entry, undefined]));
    const bySeen = wantedEntries(gathered, atMs, { ...this.memory, shown });
    return [this.#wanted(gathered, atMs)[list], bySeen[list]];
  }

  isOurOrigin(host: string): boolean {
    return this.#ownOrigins.has(host);
  }

  violation(what: string): void {
    this.violations.push(what);
  }

  /** Another writer changed the list. */
  changedByOthers({ kind, list, entry }: EntryChange): void {
    const owners = this.#owners[list];
    if (kind === "Removed") {
      if (!this.#waf.has(list, entry)) owners.delete(entry);
      return;
    }
    if (!owners.has(entry)) owners.set(entry, this.#inventory().entries[list].has(entry) ? "Recorded" : "Others");
  }

  /** A call of wafsync had this effect. */
  changedByUs(
    change: WafChange,
    instance: string,
    knowledge: Knowledge | undefined,
    { declared, wall }: Circumstances,
  ): void {
    const gathered = knowledge?.gathered;
    if (knowledge === undefined || gathered === undefined) {
      this.violation(`${describe(change)} was done for ${instance}, of which nothing was known`);
      return;
    }
    const complain = (why: string): void => this.violation(`${describe(change)}, though ${why}`);
    if (gathered.instance.suspend && change.kind !== "CacheCleared") complain("the instance is suspended");
    if (change.kind === "Added")
      this.#judgeAdd(change, knowledge, { declared: [gathered, ...declared], wall }, complain);
    else if (change.kind === "Removed") this.#judgeRemoval(change, knowledge, wall, complain);
    else if (isOfOrigin(change)) this.#judgeOrigin(change, knowledge, { declared, wall }, complain);
  }

  /** A call that wafsync no longer waited for had this effect. If its instance was released in the meantime, the entry is unmanaged. */
  changedLate(change: WafChange, sentAtMs: number): void {
    if (change.kind !== "Added" && change.kind !== "Removed") return;
    const { kind, list, entry } = change;
    if (kind === "Removed") {
      if (!this.#waf.has(list, entry)) this.#owners[list].delete(entry);
      return;
    }
    const isLeft = this.#forgottenMs >= sentAtMs;
    if (!isLeft && !this.#inventory().entries[list].has(entry))
      this.violation(`${entry} appeared on the ${list} by a late write of wafsync, and the inventory forgot it`);
    this.#owners[list].set(entry, isLeft ? "Others" : "Ours");
  }

  /**
   * Judged by the knowledge of the process and the state of the API server: an address that was unblocked before the process
   * started must not be blocked again because of its stale cache.
   */
  #judgeAdd(
    { list, entry }: EntryChange,
    { seen }: Knowledge,
    { declared: [known, ...declared], wall }: Circumstances & { readonly declared: readonly [Gathered, ...Gathered[]] },
    complain: (why: string) => void,
  ): void {
    const read = seen[list];
    if (read !== undefined) this.#addedSince.set(read, (this.#addedSince.get(read) ?? new Set()).add(entry));
    const moments = wall.shownSince(this.#nowMs() - callMsMax);
    const mayWant = (gathered: Gathered): boolean =>
      moments.some((atMs) =>
        this.#bothWanted(gathered, atMs, seen, list).some(
          (wanted) => wanted.has(entry) || isMergedFrom(gathered, list, entry, wanted),
        ),
      );
    if (known.instance.policies[list] === "Observe") complain("the policy is Observe");
    if (isForbidden(known, list, entry)) complain("a guard forbids it");
    if (!mayWant(known)) complain("no rule wants it");
    else if (
      !declared.some((gathered) => mayWant(gathered) && !isForbidden(gathered, list, entry)) &&
      !isMergedFrom(known, list, entry, this.#wantedByAny(declared, moments, list, seen))
    )
      complain("no rule that was declared since the process began wants it");
    if (!this.#inventory().entries[list].has(entry)) complain("the inventory does not say that it is managed");
    this.#owners[list].set(entry, "Ours");
  }

  #judgeRemoval(
    { list, entry }: EntryChange,
    knowledge: Knowledge,
    wall: SimWall,
    complain: (why: string) => void,
  ): void {
    const owner = this.#owners[list].get(entry);
    if (!this.#waf.has(list, entry)) this.#owners[list].delete(entry);
    if (knowledge.gathered?.instance.meta.deleting === true) {
      if (!isInDeletion(knowledge)) complain("no fresh read says that this very instance is being deleted");
      if (owner === "Others") complain("wafsync did not add it, and only the instance goes");
      if (knowledge.gathered.instance.deletionPolicy === "Retain") complain("the instance retains its entries");
      return;
    }
    const { confirmed, confirmedAtMs = 0 } = knowledge;
    if (confirmed === undefined) return complain("no fresh read came before");
    if (this.#nowMs() - confirmedAtMs > confirmedForMs + callMsMax) complain("the last fresh read is too old");
    const policy = confirmed.instance.policies[list];
    if (policy === "Observe") complain("the policy is Observe");
    if (policy !== "Exclusive" && owner === "Others") complain("the policy is Additive, and wafsync did not add it");
    const moments = wall.shownSince(confirmedAtMs);
    const isWanted = moments.every((atMs) =>
      this.#bothWanted(confirmed, atMs, knowledge.seen, list).every((wanted) => wanted.has(entry)),
    );
    const uncovered = this.#uncoveredBy(list, entry, knowledge, { confirmed, moments });
    if (uncovered !== undefined) complain(`it uncovers ${uncovered}, which an accepted rule wants`);
    if (isWanted && !aggregates(confirmed, list)) complain("an accepted rule wants it");
    if (isWanted) return;
    if (this.#approved[list].has(entry)) {
      // The list may also show it in a different spelling.
      if (!this.#waf.has(list, entry)) this.#approved[list].delete(entry);
      return;
    }
    const forbidden = this.#forbidden(list, entry, { confirmed, moments });
    if (forbidden !== undefined) complain(forbidden);
    // The guards do not count the end of an automatic block.
    if (endsByItself(confirmed, this.#inventory(), entry)) return;
    const objections = moments.map((atMs) =>
      this.#countObjection(list, [entry], knowledge, { confirmed, moments, atMs }),
    );
    if (this.#inventory().allowed[list].pending.has(entry)) objections.length = 0;
    if (objections[0] !== undefined && !objections.includes(undefined)) complain(objections[0]);
    // Several plans within the window must not remove more than one plan may.
    const owners = this.#inventory().entries[list].get(entry)?.owners ?? unknownOwners;
    const count = this.#counts.note(list, entry, owners, confirmed, moments);
    if (count !== undefined) complain(`${count} went within the window of the guards`);
  }

  /** The declared state has several variants: one for each content of a feed. */
  #wantedByAny(
    declared: readonly Gathered[],
    moments: readonly number[],
    list: ListName,
    seen: Knowledge["seen"],
  ): ReadonlySet<Entry> {
    const wanted = declared.flatMap((gathered) =>
      moments.flatMap((atMs) => this.#bothWanted(gathered, atMs, seen, list)),
    );
    return new Set(wanted.flatMap((entries) => [...entries]));
  }

  /** A declared entry that the list has covered so far, according to the knowledge of the process. */
  #uncoveredBy(list: ListName, removed: Entry, knowledge: Knowledge, { confirmed, moments }: Basis): Entry | undefined {
    const seen = knowledge.seen[list] ?? new Set();
    const own = this.#removedSince.get(seen) ?? new Set();
    this.#removedSince.set(seen, own.add(removed));
    const live = this.#waf.entries(list);
    const before = new Set([...live, removed]);
    const after = new Set([...live, ...this.#known(seen).filter((entry) => !own.has(entry))]);
    const [first, ...others] = moments.flatMap((atMs) => this.#bothWanted(confirmed, atMs, knowledge.seen, list));
    return [...(first ?? [])].find(
      (entry) =>
        sharesAddress(entry, removed) &&
        others.every((wanted) => wanted.has(entry)) &&
        isCoveredBy(entry, before) &&
        !isCoveredBy(entry, after),
    );
  }

  /** What is listed, as far as the process can know: other writers' changes since it read the list are not in it, its own additions are. */
  #known(read: ReadonlySet<Entry>): readonly Entry[] {
    return [...read, ...(this.#addedSince.get(read) ?? [])];
  }

  /**
   * Removals are judged when they are recorded as allowed, before the first one. Those that are recorded do not count again, and a part that
   * a person approved is judged as an approval.
   */
  #judgeAllowed(before: Inventory, after: Inventory, knowledge: Knowledge, wall: SimWall): void {
    const { confirmed, confirmedAtMs = 0 } = knowledge;
    for (const list of listNames) {
      const approved = after.approval?.removals[list] ?? new Set();
      const fresh = [...after.allowed[list].pending.difference(before.allowed[list].pending).difference(approved)];
      if (fresh.length === 0 || confirmed?.instance.meta.deleting === true) continue;
      if (confirmed === undefined) return this.violation("Removals were allowed without a fresh read");
      const moments = wall.shownSince(confirmedAtMs);
      const objections = moments.map((atMs) =>
        this.#countObjection(list, fresh, knowledge, { confirmed, moments, atMs }, before),
      );
      if (objections[0] !== undefined && !objections.includes(undefined)) this.violation(`${list}: ${objections[0]}`);
    }
  }

  /** While a plan is applied, its removals and the list get shorter: a plan that was allowed stays allowed. */
  #countObjection(
    list: ListName,
    entries: readonly Entry[],
    { seen }: Knowledge,
    { confirmed, moments, atMs }: Basis & { readonly atMs: number },
    inventory = this.#inventory(),
  ): string | undefined {
    const { maxRemovals, maxRemovalPercent } = confirmed.instance.guards;
    const { allowed } = inventory;
    // The plan was made with this record: what is leaving only since then still took its part of a grant.
    const memory = { ...this.memory, recorded: () => recordedIn(inventory) };
    const wanted = [...wantedEntries(confirmed, atMs, memory)[list]];
    // Guards do not count entries that other entries replace: `#uncoveredBy` checks these.
    if (entries.every((entry) => isCoveredBy(entry, wanted))) return undefined;
    const { refusals, disputes } = this.#inventory();
    // These are paused, so they are not part of the plan.
    const waits = (other: Entry): boolean =>
      this.#forbidden(list, other, { confirmed, moments }) !== undefined ||
      disputes.some((dispute) => dispute.list === list && dispute.entry === other) ||
      refusals.some(
        ({ operation }) =>
          (operation.startsWith(`${list} -`) && operation.includes(other.split("/")[0] ?? "")) ||
          // A removal waits for an addition that the WAF does not accept, if both share addresses.
          (operation.startsWith(`${list} +`) && sharesAddress(operation.slice(`${list} +`.length), other)),
      );
    const left = [...this.#removable(list, confirmed, atMs)].filter(
      (other) =>
        seen[list]?.has(other) === true &&
        !this.#approved[list].has(other) &&
        !allowed[list].pending.has(other) &&
        !waits(other) &&
        !endsByItself(confirmed, this.#inventory(), other),
    );
    const count = new Set([...left, ...entries]).size;
    if (count > maxRemovals) return `${count} entries would be removed at once, and ${maxRemovals} may be`;
    // Entries that a missing source keeps on the other list are not added to this list.
    const opposite = list === "blocklist" ? "allowlist" : "blocklist";
    const added = wanted.filter((other) => !this.#inventory().entries[opposite].has(other));
    // A plan in the middle of a run counts the remaining entries.
    const known = this.#known(seen[list] ?? new Set());
    // The size is that of what is declared: the entries that a merged network stands for are among the additions.
    const records = this.#inventory().entries[list];
    const isMerged = (other: Entry, adds: readonly Entry[]): boolean =>
      records.get(other)?.lines !== undefined &&
      isCoveredBy(
        other,
        adds.filter((one) => one !== other && isCoveredBy(one, [other])),
      );
    const sizeOf = (listed: readonly Entry[], adds: readonly Entry[]): number =>
      new Set([...listed.filter((other) => !isMerged(other, adds)), ...adds, ...entries]).size;
    const stillListed = known.filter((other) => this.#waf.has(list, other));
    const isTooMany = [wanted, added].every(
      (adds) => sizeOf(stillListed, adds) >= 10 && count * 100 > maxRemovalPercent * sizeOf(known, adds),
    );
    return isTooMany ? `${count} of ${known.length} entries would be removed at once` : undefined;
  }

  #judgeOrigin(
    change: OriginChange,
    { gathered, confirmed, confirmedAtMs = 0 }: Knowledge,
    { declared, wall }: Circumstances,
    complain: (why: string) => void,
  ): void {
    const { host, type, kind } = change;
    if (gathered?.instance.policies.origins === "Observe") complain("the policy is Observe");
    if (kind === "OriginAdded") {
      // Whether it was added is unknown, and its WafOrigin can't be read.
      const mayWant = (one: Gathered): boolean =>
        wantedOrigins(one).get(host) === type || this.#isRememberedOrigin(one, host, type, wall);
      if (gathered !== undefined && !mayWant(gathered)) complain("no WafOrigin wants it");
      else if (!declared.some(mayWant)) complain("no WafOrigin that was declared since the process began wants it");
      if (!this.#inventory().origins.has(host)) complain("the inventory does not say that it is managed");
      this.#ownOrigins.add(host);
      return;
    }
    if (!this.#ownOrigins.delete(host)) complain("wafsync did not add it");
    if (gathered?.instance.meta.deleting === true) {
      if (!isInDeletion({ gathered, confirmed }))
        complain("no fresh read says that this very instance is being deleted");
      return;
    }
    if (confirmed === undefined) return complain("no fresh read came before");
    if (this.#nowMs() - confirmedAtMs > confirmedForMs + callMsMax) complain("the last fresh read is too old");
    if (wantedOrigins(confirmed).get(host) === type) complain("a WafOrigin wants it");
    const owners = this.#ownersOfOrigin(host);
    const all = wall.shownSince(confirmedAtMs).map((atMs) => originRemovalForbidden(confirmed, owners, atMs));
    if (all[0] !== undefined && !all.includes(undefined)) complain(all[0]);
  }

  #isRememberedOrigin(gathered: Gathered, host: string, type: OriginChange["type"], wall: SimWall): boolean {
    const record = this.#inventory().origins.get(host);
    const moments = wall.shownSince(this.#nowMs() - callMsMax);
    return (
      record?.type.toLowerCase() === type &&
      moments.some((atMs) => originRemovalForbidden(gathered, this.#ownersOfOrigin(host), atMs) !== undefined)
    );
  }

  #ownersOfOrigin(host: string): readonly EntryOwner[] {
    const record = this.#inventory().origins.get(host);
    return record === undefined ? [] : readOwners(record.owners);
  }

  /** Entries that are no longer declared and that wafsync may remove, without considering the guards. */
  *#removable(list: ListName, gathered: Gathered, atMs: number): Generator<Entry, void, void> {
    const wanted = this.#wanted(gathered, atMs)[list];
    const owned = this.#inventory().entries[list];
    const isExclusive = gathered.instance.policies[list] === "Exclusive";
    const rules = new Set(gathered.rules.flatMap(({ rule }) => (rule.meta.deleting ? [] : [nameKey(rule.meta)])));
    for (const entry of this.#waf.entries(list)) {
      // The declared parts of a merged entry are sent first.
      if (wanted.has(entry) || isCoveredBy(entry, wanted)) continue;
      const record = owned.get(entry);
      if (isExclusive) yield entry;
      else if (record !== undefined && !isLeftBehind(record, rules)) yield entry;
    }
  }

  /** A run has ended: only removals that may be on hold are reported as such, and a person can approve them by their hash. */
  reported({ plan, gathered, inventory, nowMs }: RunFacts, wall: SimWall): void {
    if (plan === undefined || inventory === undefined) return;
    const { held, kept } = plan;
    const moments = [nowMs, ...wall.shownSince(this.#nowMs() - runMsMax)];
    for (const { part, value, owners } of kept) {
      // The plan was made with the previous record, and a rule may have expired since then.
      const records = [inventory, this.#formerInventory ?? inventory];
      const isJustified = moments.some((atMs) =>
        part === "origins"
          ? originRemovalForbidden(gathered, readOwners(owners), atMs) !== undefined
          : records.some((one) =>
              isRemembered(gathered, part, recordedOf(one, part, value as Entry), atMs, this.memory),
            ),
      );
      if (!isJustified) this.violation(`${value} is kept (${part}), though nothing that can't be read may want it`);
    }
    if (held === undefined) return;
    const entries: Record<ListName | "origins", string[]> = { blocklist: [], allowlist: [], origins: [] };
    for (const { host } of held.origins) entries.origins.push(host);
    for (const list of listNames) for (const { entry } of held.removals[list]) entries[list].push(entry);
    if (held.obstacle?.kind === "Unconfirmed" && gathered.unconfirmed === undefined)
      this.violation("Removals are on hold, though a fresh read confirmed what is declared");
    if (held.hash !== undefined) this.#reported.set(held.hash, entries);
  }

  /** A person approves the removals that were reported with this hash. Returns false if the hash was never reported. */
  approve(hash: string): boolean {
    const isKnown = this.#reported.has(hash);
    if (isKnown) this.#given.add(hash);
    return isKnown;
  }

  /** A used hash, for a person who forgets to remove the annotation or adds it again. */
  get usedHash(): string | undefined {
    return [...this.#used].at(-1);
  }

  #judgeApproval(before: Inventory, after: Inventory): void {
    const { approval, approvals } = after;
    if (approvals === before.approvals || approval === undefined) return;
    const { hash, removals } = approval;
    const reported = this.#reported.get(hash);
    if (this.#used.has(hash)) this.violation(`The approval ${hash} acted a second time`);
    this.#used.add(hash);
    for (const list of listNames) {
      for (const entry of removals[list]) {
        const isKnown = reported?.[list].includes(entry) === true && this.#given.has(hash);
        if (isKnown || before.approval?.removals[list].has(entry) === true) this.#approved[list].add(entry);
        else if (reported !== undefined || !this.#given.has(hash))
          this.violation(`No person approved the removal of ${entry}`);
      }
    }
  }

  /** An entry that no record assigns to a rule stays while something can't be read that may declare it. */
  #forbidden(list: ListName, entry: Entry, { confirmed, moments }: Basis): string | undefined {
    const recorded = recordedOf(this.#inventory(confirmed.instance.meta), list, entry);
    if (recorded.owners.length > 0) return undefined;
    const all = moments.map((atMs) => mayBeDeclared(confirmed, list, atMs));
    return all.includes(undefined) ? undefined : all[0];
  }

  /** Entries that may leave the record: missing ones, unmanaged ones, and those that a deleted rule or origin retains. */
  saved(before: Inventory, after: Inventory, knowledge: Knowledge, wall: SimWall): void {
    const { gathered, seen } = knowledge;
    this.#formerInventory = before;
    this.#judgeApproval(before, after);
    this.#judgeAllowed(before, after, knowledge, wall);
    // All objects that refer to the instance are released with it.
    const isGoing = gathered?.instance.meta.deleting === true;
    const rules = new Set(gathered?.rules.flatMap(({ rule }) => (rule.meta.deleting ? [] : [nameKey(rule.meta)])));
    for (const list of listNames) {
      for (const [entry, record] of before.entries[list]) {
        const owner = this.#owners[list].get(entry);
        if (owner === undefined || this.#inventory().entries[list].has(entry)) continue;
        if (owner !== "Ours") {
          this.#owners[list].set(entry, "Others");
          continue;
        }
        const isLeft = isGoing ? record.retainedBy !== undefined : isLeftBehind(record, rules);
        if (isLeft) this.#owners[list].set(entry, "Others");
        else this.violation(`${entry} is on the ${list}, wafsync added it, and the inventory forgot it`);
      }
      for (const [entry, record] of after.entries[list]) {
        const former = before.entries[list].get(entry);
        const isBack = seen[list]?.has(entry) !== true || this.#isAdopted(list, entry, gathered);
        if (former !== undefined && !isGoing && !isBack && forgetsRetention(former, record, rules))
          this.violation(`A deleted rule retains ${entry} on the ${list}, and the inventory forgot it`);
        if (former !== undefined || !this.#owners[list].has(entry)) continue;
        // Only entries that the process has seen are adopted: for others, the response to its call shows whether they existed.
        if (seen[list]?.has(entry) !== true) this.#owners[list].set(entry, "Recorded");
        else if (this.#isAdopted(list, entry, gathered)) this.#owners[list].set(entry, "Ours");
      }
    }
    const origins = new Set(gathered?.origins.map(({ meta }) => nameKey(meta)));
    for (const [host, record] of before.origins) {
      if (!this.#ownOrigins.has(host) || this.#inventory().origins.has(host)) continue;
      this.#ownOrigins.delete(host);
      const { retainedBy } = record;
      if (retainedBy !== undefined && (isGoing || !origins.has(retainedBy))) continue;
      this.violation(`${host} is an origin that wafsync added, and the inventory forgot it`);
    }
  }

  /** The inventory is deleted with its instance. */
  forgotten(before: Inventory, { gathered, confirmed, saidLeftBehind = false }: Knowledge): void {
    if (!isInDeletion({ gathered, confirmed })) this.violation("An inventory was deleted without a fresh read");
    for (const domain of before.otherDomains.keys())
      this.violation(`The record of the entries on the WAF of ${domain} was deleted`);
    this.#forgottenMs = this.#nowMs();
    this.#counts.forget();
    if (gathered?.instance.meta.deleting !== true) this.violation("An inventory was deleted, and its instance was not");
    for (const list of listNames) {
      for (const entry of before.entries[list].keys()) {
        if (this.#owners[list].get(entry) !== "Ours") continue;
        if (!saidLeftBehind) this.violation(`${entry} stays on the ${list}, and this was not reported`);
        this.#owners[list].set(entry, "Others");
      }
    }
    for (const host of before.origins.keys()) {
      if (this.#ownOrigins.delete(host) && !saidLeftBehind)
        this.violation(`${host} stays an origin, and this was not reported`);
    }
  }

  #isAdopted(list: ListName, entry: Entry, gathered: Gathered | undefined): boolean {
    if (gathered === undefined) return false;
    const adopting = gathered.rules.filter(({ rule }) => rule.meta.annotations["wafsync.dev/adopt"] === "true");
    return adopting.some((rule) => {
      const written = writtenForRule(gathered, rule);
      return written.has(entry) || isMergedFrom(gathered, list, entry, written);
    });
  }
}

function recordedIn(inventory: Inventory): ReturnType<Memory["recorded"]> {
  return eachList((list) => [...inventory.entries[list].keys()].map((entry) => recordedOf(inventory, list, entry)));
}

function recordedOf(inventory: Inventory, list: ListName, entry: Entry): Recorded {
  const record = inventory.entries[list].get(entry);
  const all = listNames.flatMap((name) => [...inventory.entries[name].values()]);
  return {
    entry,
    owners: record === undefined ? [] : readOwners(record.owners),
    isLeaving: record?.missingSinceMs !== undefined || inventory.allowed[list].pending.has(entry),
    isMerged: record?.lines !== undefined,
    hasEntriesOf: (source) => all.some(({ owners }) => readOwners(owners).some((owner) => owner.source === source)),
  };
}

/** Whether the entry is recorded for a WafAutoBlock that still exists. */
function endsByItself({ autoBlocks = [] }: Gathered, { entries }: Inventory, entry: Entry): boolean {
  return readOwners(entries.blocklist.get(entry)?.owners ?? unknownOwners).some(
    ({ kind, name }) => kind === "WafAutoBlock" && autoBlocks.some(({ meta }) => nameKey(meta) === name),
  );
}

/** A stale cache may show an earlier instance with the same name. */
function isInDeletion({ gathered, confirmed }: Pick<Knowledge, "gathered" | "confirmed">): boolean {
  const [seen, read] = [gathered?.instance.meta, confirmed?.instance.meta];
  return read?.deleting === true && read.uid === seen?.uid;
}

function isOfOrigin(change: WafChange): change is OriginChange {
  return change.kind === "OriginAdded" || change.kind === "OriginRemoved";
}

function describe(change: WafChange): string {
  switch (change.kind) {
    case "Added":
      return `${change.entry} was added to the ${change.list}`;
    case "Removed":
      return `${change.entry} was removed from the ${change.list}`;
    case "OriginAdded":
      return `${change.host} was added as ${change.type}`;
    case "OriginRemoved":
      return `${change.host} was removed as ${change.type}`;
    case "CacheCleared":
      return "The cache was cleared";
  }
}

/** The recorded entries for a declared entry: itself, or the networks that it was merged into. */
function recordedAs({ entries }: Inventory, list: ListName, entry: Entry): readonly Entry[] {
  const own = entries[list].has(entry) ? [entry] : [];
  const others = [...entries[list]].flatMap(([sent, { lines }]) =>
    sent !== entry && lines !== undefined && isCoveredBy(entry, [sent]) ? [sent] : [],
  );
  return [...own, ...others];
}

/** With `aggregate`, a network is sent for entries that together contain all of its addresses. */
function isMergedFrom(gathered: Gathered, list: ListName, entry: Entry, wanted: ReadonlySet<Entry>): boolean {
  return aggregates(gathered, list) && isCoveredBy(entry, wanted);
}

/** The rules that retain an entry, as the record names them. */
function retainersOf({ retainedBy }: OwnedEntry): readonly string[] {
  return retainedBy?.split(",") ?? [];
}

/** A deleted rule retains the entry. */
function isLeftBehind(record: OwnedEntry, rules: ReadonlySet<string>): boolean {
  return retainersOf(record).some((id) => !rules.has(id));
}

/** The entry stays managed, and the record no longer names a deleted rule that retains it. */
function forgetsRetention(before: OwnedEntry, after: OwnedEntry, rules: ReadonlySet<string>): boolean {
  const named = retainersOf(after);
  return retainersOf(before).some((id) => !rules.has(id) && !named.includes(id));
}
