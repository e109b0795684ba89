// Judges the clients in the log rows of one WafAutoBlock: which ones reached the threshold, until when they are listed, and how often
// they were listed before. A client is listed when its requests within one window, by their own times, reach the threshold. While it
// is listed, its further requests are only evidence; only requests after the end count again, so every entry ends on time. Each time,
// the entry lasts longer. Each row is judged once: callers save the judge together with the position in the log.
import { type Entry, toEntry } from "../address/entry.ts";
import { isMapped, networkAt, readAddress, unmapped } from "../address/network.ts";
import {
  countryTest,
  labelOfReason,
  pathTest,
  reasonTest,
  rowTestOf,
  statusTest,
  type RowTest,
} from "../logs/row-tests.ts";
import type { DeclaredAutoBlock, PrefixLengths } from "../model/declared.ts";
import type { LogEntry } from "../model/log-entry.ts";
import { hourMs } from "../model/texts.ts";
import type { SavedJudge } from "../logs/log-records.ts";
import { addReason, ClientCounts, requestsOf, sourcesKept, type WindowCount } from "./client-counts.ts";
import { attachmentOf, type Gathered } from "../model/gathered.ts";
import { isOwnersOf } from "../decide/guest-limits.ts";
import { nameKey, type ResourceMeta, byAge } from "../model/resource.ts";

/** A row that is further in the future has a wrong time. */
const aheadMsMax = hourMs;
/** The number of former entries kept to recognize repeat offenders; the oldest are dropped. */
const formerMax = 2_000;
/** The number of parsed addresses cached within one call. */
const addressesKnownMax = 10_000;
const reasonsShownMax = 3;
const labelLengthMax = 64;
/**
 * A network is listed only if requests came from at least this many of its addresses: otherwise, a single client could get its
 * neighbors blocked.
 */
export const sourcesOfNetworkMin = sourcesKept;

const parsers = { countries: countryTest, reasons: reasonTest, statuses: statusTest, paths: pathTest };

type Listed = SavedJudge["listed"][number];

/** A client that reached the threshold, with the evidence. */
export type JudgedEntry = Readonly<Listed>;

/** What is published about one WafAutoBlock. */
export type Judgement = Readonly<Pick<SavedJudge, "listed" | "rows" | "leftOut" | "lastRowMs">>;

export const fresh: SavedJudge = {
  shape: "",
  listed: [],
  former: [],
  counts: [],
  rows: { matched: 0, late: 0, unreadable: 0 },
  leftOut: 0,
};

export interface JudgedRow {
  readonly entry: LogEntry;
  /** NaN if the row has no valid time. */
  readonly atMs: number;
  /** Equal for rows that may be the same request. */
  readonly identity: number;
  /** How many requests of this identity were judged before. */
  readonly known: number;
}

export interface JudgeContext {
  readonly nowMs: number;
  /** Whether an entry must not be blocked. */
  readonly isExempt: (entry: Entry) => boolean;
}

export class Judge {
  readonly #declared: DeclaredAutoBlock;
  readonly #matches: RowTest;
  readonly #counts: ClientCounts;
  readonly #listed: Map<Entry, Listed>;
  readonly #former: Map<string, SavedJudge["former"][number][1]>;
  readonly #rows: SavedJudge["rows"];
  #leftOut: number;
  #lastRowMs: number | undefined;

  /** @param saved the result of `save`; the parts that no longer fit the declaration are ignored */
  constructor(declared: DeclaredAutoBlock, capacity: number, saved = fresh) {
    const { listed, former, counts, rows, leftOut, lastRowMs, shape } = structuredClone(saved);
    this.#declared = declared;
    // The schema has validated the strings; an invalid one matches nothing.
    this.#matches = rowTestOf(parsers, declared.match, () => () => false);
    this.#counts = new ClientCounts(declared.windowMs, capacity, shape === shapeOf(declared) ? counts : []);
    this.#listed = new Map(listed.map((one) => [one.entry, one]));
    this.#former = new Map(former);
    this.#rows = rows;
    this.#leftOut = leftOut;
    this.#lastRowMs = lastRowMs;
  }

  /** Counts the rows of one page, in any order, with all rows of an identity. @returns the newly listed clients */
  take(rows: readonly JudgedRow[], context: JudgeContext): readonly JudgedEntry[] {
    this.expire(context.nowMs);
    const listed: JudgedEntry[] = [];
    const addresses = new Map<string, ClientAddress | undefined>();
    const copies = new Map<number, number>();
    for (const { entry: row, atMs, identity, known } of rows) {
      if (!this.#matches(row)) continue;
      const copy = (copies.get(identity) ?? 0) + 1;
      copies.set(identity, copy);
      // The known requests may have been any of the rows.
      if (copy <= known) continue;
      this.#rows.matched += 1;
      const client = this.#addressOf(row.client_ip, addresses);
      if (client === undefined || Number.isNaN(atMs) || atMs > context.nowMs + aheadMsMax) {
        this.#rows.unreadable += 1;
      } else if (atMs < this.#oldestMs(context.nowMs)) this.#rows.late += 1;
      else listed.push(...this.#count(row, client, atMs, context));
    }
    return listed;
  }

  /** Drops expired entries and old records. */
  expire(nowMs: number): void {
    for (const [entry, { untilMs, times }] of this.#listed) {
      if (untilMs > nowMs) continue;
      this.#listed.delete(entry);
      this.#former.delete(entry);
      this.#former.set(entry, { untilMs, times });
    }
    for (const [key, { untilMs }] of this.#former) {
      if (this.#former.size <= formerMax && untilMs + this.#declared.maxTtlMs > nowMs) continue;
      this.#former.delete(key);
    }
    // A row that is just in time belongs to the window of older ones.
    this.#counts.forgetBefore(this.#oldestMs(nowMs) - this.#declared.windowMs);
  }

  /** The number of clients with counted requests. */
  get clients(): number {
    return this.#counts.size;
  }

  /** Call this at the end: the result shares values with the judge. */
  save(): SavedJudge {
    return {
      shape: shapeOf(this.#declared),
      listed: [...this.#listed.values()],
      former: [...this.#former],
      counts: this.#counts.save(),
      rows: this.#rows,
      leftOut: this.#leftOut,
      ...(this.#lastRowMs !== undefined && { lastRowMs: this.#lastRowMs }),
    };
  }

  #addressOf(text: string, known: Map<string, ClientAddress | undefined>): ClientAddress | undefined {
    if (known.has(text)) return known.get(text);
    const { groupBy, networkPrefixLength } = this.#declared;
    const client = readClientAddress(text, groupBy === "Network" ? networkPrefixLength : undefined);
    if (known.size < addressesKnownMax) known.set(text, client);
    return client;
  }

  /** Rows before this time are too old to list a client. */
  #oldestMs(nowMs: number): number {
    return nowMs - Math.max(hourMs, this.#declared.ttlMs, this.#declared.windowMs);
  }

  #count(row: LogEntry, { address, network }: ClientAddress, atMs: number, context: JudgeContext): JudgedEntry[] {
    this.#lastRowMs = Math.max(this.#lastRowMs ?? atMs, atMs);
    const reason = labelOfReason(row.block_reason).slice(0, labelLengthMax);
    const standing = this.#listed.get(address) ?? (network === undefined ? undefined : this.#listed.get(network));
    if (standing !== undefined) {
      noteEvidence(standing, reason, atMs);
      return [];
    }
    // During a former entry, requests were only evidence.
    const formerMs = (key: string | undefined): number =>
      key === undefined ? 0 : (this.#former.get(key)?.untilMs ?? 0);
    const notBeforeMs = Math.max(formerMs(address), formerMs(network));
    if (atMs < notBeforeMs) return [];
    if (network !== undefined) {
      const found = this.#counts.add({ key: network, atMs, reason, source: address, notBeforeMs });
      if (found.sources >= sourcesOfNetworkMin && this.#isReached(found, network, context)) {
        return this.#list(network, context);
      }
    }
    const found = this.#counts.add({ key: address, atMs, reason, notBeforeMs });
    return this.#isReached(found, address, context) ? this.#list(address, context) : [];
  }

  #isReached({ requests }: WindowCount, entry: Entry, { isExempt }: JudgeContext): boolean {
    if (requests < this.#declared.threshold) return false;
    if (!isExempt(entry)) return true;
    // Checked again after the same number of further requests.
    this.#counts.delete(entry);
    return false;
  }

  #list(entry: Entry, { nowMs }: JudgeContext): JudgedEntry[] {
    const counted = this.#counts.get(entry);
    this.#counts.delete(entry);
    if (counted === undefined) return [];
    if (this.#listed.size >= this.#declared.maxEntries) {
      this.#leftOut += 1;
      return [];
    }
    const times = (this.#former.get(entry)?.times ?? 0) + 1;
    const { firstMs, lastMs, reasons } = counted;
    const until = { sinceMs: nowMs, untilMs: nowMs + ttlOf(this.#declared, times), times };
    const listed = { entry, ...until, requests: requestsOf(counted), firstMs, lastMs, reasons };
    this.#listed.set(entry, listed);
    this.#former.delete(entry);
    return [listed];
  }
}

/** How long an entry lasts: longer each time, up to `maxTtl`. */
export function ttlOf(
  { ttlMs, repeatFactor, maxTtlMs }: Pick<DeclaredAutoBlock, "ttlMs" | "repeatFactor" | "maxTtlMs">,
  times: number,
): number {
  return Math.min(maxTtlMs, ttlMs * repeatFactor ** (times - 1));
}

function noteEvidence(listed: Listed, reason: string, atMs: number): void {
  listed.requests += 1;
  listed.firstMs = Math.min(listed.firstMs, atMs);
  listed.lastMs = Math.max(listed.lastMs, atMs);
  addReason(listed.reasons, reason);
}

/** The most frequent reasons, without the WAF's rule number, and their requests. */
export function topReasons({ reasons }: JudgedEntry): JudgedEntry["reasons"] {
  return reasons.toSorted(([a, of], [b, other]) => other - of || (a < b ? -1 : 1)).slice(0, reasonsShownMax);
}

/** Identifies the settings that counts depend on: counts with another shape are not comparable. */
function shapeOf({ match, windowMs, groupBy, networkPrefixLength }: DeclaredAutoBlock): string {
  return JSON.stringify([match, windowMs, groupBy, networkPrefixLength]);
}

export interface ClientAddress {
  readonly address: Entry;
  /** Undefined if no network was requested. */
  readonly network: Entry | undefined;
}

/**
 * The client of a log row as an entry. Only `client_ip` counts, never a header that the client controls, and only if it is a single address:
 * a network or a list of addresses would block other clients. Undefined unless the string is one. @param prefixLengths the lengths of networks; undefined if none is needed */
export function readClientAddress(text: string, prefixLengths: PrefixLengths | undefined): ClientAddress | undefined {
  const read = readAddress(text.trim());
  if (read === undefined) return undefined;
  const client = (isMapped(read) ? unmapped(read) : undefined) ?? read;
  const prefixLength = prefixLengths?.[client.family];
  return {
    address: toEntry(client),
    network: prefixLength === undefined ? undefined : toEntry(networkAt(client.family, client.address, prefixLength)),
  };
}

// The judges of all WafAutoBlocks of one instance: each of them gets each row once. They share one memory limit, and are saved together.

/** The number of clients with counted requests per instance, divided among its WafAutoBlocks. */
export const clientsMax = 10_000;

/** The number of WafAutoBlocks whose state is kept although they are not declared. */
const absentMax = 8;

/** Another WafAutoBlock with the same name starts from scratch. In a folder, objects have only a name. */
export function blockKey(meta: ResourceMeta): string {
  return `${nameKey(meta)} ${meta.uid}`;
}

/** By `blockKey`. */
export type PublishedJudgements = Readonly<Record<string, Judgement>>;

/** The state as JSON, by `blockKey`. */
export type SavedJudges = Readonly<Record<string, SavedJudge>>;

export class Judges {
  readonly #seats: readonly { readonly declared: DeclaredAutoBlock; readonly judge: Judge }[];
  readonly #absent: SavedJudges;

  /**
   * Continues with a saved state, for these WafAutoBlocks. The state of others is kept until their last entry ends: after a restart, a
   * stale cache may lack a WafAutoBlock, or show a former one with the same name.
   */
  constructor(saved: SavedJudges, blocks: readonly DeclaredAutoBlock[], nowMs: number) {
    const capacity = Math.floor(clientsMax / Math.max(1, blocks.length));
    this.#seats = blocks.map((declared) => {
      return { declared, judge: new Judge(declared, capacity, saved[blockKey(declared.meta)]) };
    });
    const seated = new Set(blocks.map(({ meta }) => blockKey(meta)));
    // In a folder, objects have no UID: there, nothing is stale.
    const kept = Object.entries(saved).filter(
      ([key, { listed }]) => !seated.has(key) && !key.endsWith(" ") && listed.some(({ untilMs }) => untilMs > nowMs),
    );
    this.#absent = Object.fromEntries(kept.slice(-absentMax));
  }

  /** @returns the newly listed clients of each WafAutoBlock, without those that list none */
  take(
    rows: readonly JudgedRow[],
    nowMs: number,
    exemptionFor: (block: DeclaredAutoBlock) => (entry: Entry) => boolean,
  ): readonly { readonly block: DeclaredAutoBlock; readonly listed: readonly JudgedEntry[] }[] {
    return this.#seats.flatMap(({ declared: block, judge }) => {
      if (block.suspend) return [];
      let exempts: ((entry: Entry) => boolean) | undefined;
      const isExempt = (entry: Entry): boolean => (exempts ??= exemptionFor(block))(entry);
      const listed = judge.take(rows, { nowMs, isExempt });
      return listed.length === 0 ? [] : [{ block, listed }];
    });
  }

  save(): SavedJudges {
    const seats = this.#seats.map(({ declared, judge }) => [blockKey(declared.meta), judge.save()] as const);
    return { ...this.#absent, ...Object.fromEntries(seats) };
  }
}

/** The maximum number of judged WafAutoBlocks per instance. */
export const autoBlocksMax = 8;

/** The attached WafAutoBlocks that are judged: those of the owner first, then the oldest. */
export function judgedBlocks(gathered: Gathered): readonly DeclaredAutoBlock[] {
  const { instance, autoBlocks = [] } = gathered;
  const attached = autoBlocks.filter(({ meta }) => attachmentOf(gathered, meta).state === "Allowed" && !meta.deleting);
  const isOwners = (block: DeclaredAutoBlock): number => Number(isOwnersOf(instance, block));
  return attached.toSorted((a, b) => isOwners(b) - isOwners(a) || byAge(a.meta, b.meta)).slice(0, autoBlocksMax);
}
