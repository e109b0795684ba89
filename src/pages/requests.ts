// Reads what a page about blocked requests shows: the requests of a period or the newest ones, the domain of the WAF, and its lists.
import { stringify } from "yaml";
import { eachRows } from "../cli/logs/collect-logs.ts";
import { type LogRange, describeRange, isWithin } from "../cli/logs/log-range.ts";
import type { LogWatch } from "../cli/logs/log-watch.ts";
import type { InstanceSight } from "../cli/targets/target.ts";
import { type Entry, readObservedEntry, isOpaque, networkOf, parseDeclaredEntry } from "../address/entry.ts";
import { prefixLengthMax } from "../address/network.ts";
import type { LogEntry } from "../model/log-entry.ts";
import type { ObjectName } from "../model/resource.ts";
import { inThousands, dayMs, dayOf, formatDay, formatTime } from "../model/texts.ts";
import type { WafPort, LogPort } from "../model/waf-result.ts";
import type { DayRange } from "../logs/cursor.ts";
import { countLogs, type LogReaderPorts } from "../logs/read-logs.ts";
import type { Clock } from "../async/clock.ts";
import { inSlices } from "../async/time-slices.ts";
import { NetworkIndex } from "../address/ranges.ts";
import { observeSpellings } from "../model/observed.ts";
import { compileInSlices } from "../decide/desired.ts";
import { specialPurposeObjection } from "../decide/special-purpose.ts";

/** The number of rows in each table of a served page. */
const newestTopMax = 20;
/** The number of rows of each day on a served page: a busy WAF logs a million rows a day. */
const newestRowsMax = 20_000;
/** Addresses change owners, so only a person should decide on a rule that never expires. */
const daysBlocked = 7;
const unknownInstance = "my-waf";

export interface RequestPorts extends LogReaderPorts {
  readonly waf: LogPort & Pick<WafPort, "readOrigins" | "readList">;
  /** Removes keys from strings that attackers control. */
  readonly redact: (text: string) => string;
}

export interface RequestsQuestion {
  /** The instance; undefined if only the WAF is known. */
  readonly sight: InstanceSight | undefined;
  /** The period, and the number of rows in each table; undefined for the newest requests, up to a limit. */
  readonly period?: { readonly range: LogRange; readonly topMax: number; readonly watch: LogWatch };
}

/** What a page about blocked requests shows. */
export type BlockedRequests = Extract<Awaited<ReturnType<typeof readRequests>>, { readonly state: "Done" }>;

/** Reads the requests, and then both lists: each client is shown with the list that it is on. */
export async function readRequests(ports: RequestPorts, question: RequestsQuestion) {
  const { waf, stopping, redact, clock } = ports;
  const read = await readRows(ports, question.period);
  if (read.state !== "Done") return read;
  const blocklist = await waf.readList("blocklist", { signal: stopping });
  const allowlist = await waf.readList("allowlist", { signal: stopping });
  const origins = await waf.readOrigins({ signal: stopping });
  if (stopping.aborted) return { state: "Stopped" as const };
  const { summary, range, gaps } = read;
  const { sight } = question;
  const declared = sight && (await declaredLists(sight, clock));
  const stateOf = listStates({
    blocklist: blocklist.ok ? blocklist.value : undefined,
    allowlist: allowlist.ok ? allowlist.value : undefined,
    // An address or a host name, as the API returns it.
    exempt: { "the primary origin": networksIn(origins.ok ? [origins.value.primary] : []), ...declared?.exempt },
    declared: declared?.declared,
  });
  const clients = summary.clients.items.map((client) => {
    const entry = client.key as Entry;
    return { ...client, entry, lists: stateOf(entry) };
  });
  const unread = Object.entries({ blocklist, allowlist }).flatMap(([list, result]) =>
    result.ok ? [] : [`cannot read the ${list}: ${result.fault.message}`],
  );
  const madeAtMs = clock.nowMs();
  return {
    state: "Done" as const,
    summary,
    /** `2026-11-15 to 2026-11-21`. */
    period: describeRange(range),
    clients,
    /** Undefined if the API did not return it. */
    domain: origins.ok ? redact(origins.value.domain) : undefined,
    madeAtMs,
    /** A rule that blocks the clients that are not on the blocklist; undefined if there are none. */
    suggestedRule: suggestRule(addressesToBlock(clients), sight?.gathered.instance.meta, range.days, madeAtMs),
    /** What is missing, one sentence each. */
    warnings: [...gaps, ...unread].map(redact),
    /** What is not known about the declaration. Unlike `warnings`, this does not make the page incomplete. */
    notes: (declared?.notes ?? []).map(redact),
  };
}

async function readRows(ports: RequestPorts, period: RequestsQuestion["period"]) {
  const { clock, stopping, redact } = ports;
  const nowMs = clock.nowMs();
  const today = dayOf(nowMs);
  const newest = { days: { firstDay: today - 1, lastDay: today }, sinceMs: undefined, untilMs: undefined };
  const { range, topMax } = period ?? { range: newest, topMax: newestTopMax };
  const statistics = new RequestStatistics();
  const add = (row: LogEntry): void => {
    if (!isWithin(range, row.timestamp)) return;
    // Before strings are truncated, because a part of a key would not be recognized.
    const redacted = {
      ...row,
      client_ip: redact(row.client_ip),
      request_path: redact(row.request_path),
      block_reason: redact(row.block_reason),
      country: row.country && redact(row.country),
    };
    statistics.add(redacted);
  };
  if (period !== undefined) {
    const { firstDay, lastDay } = range.days;
    const counted = await countLogs(ports, { startDate: formatDay(firstDay), endDate: formatDay(lastDay) });
    if (!counted.ok && !stopping.aborted) return { state: "Failed" as const, fault: counted.fault };
    if (counted.ok) period.watch.expect(counted.total);
  }
  const gaps: string[] = [];
  // The newest day first, because a part of it may be all that is read.
  const parts =
    period === undefined ? [today, today - 1].map((day) => ({ firstDay: day, lastDay: day })) : [range.days];
  for (const days of parts) {
    let left = period === undefined ? newestRowsMax : Infinity;
    const onRows = (rows: readonly LogEntry[]): boolean => {
      for (const row of rows) add(row);
      left -= rows.length;
      return left > 0;
    };
    const end = await eachRows(ports, { days }, { onRows, watcher: period?.watch });
    if (end.state === "Failed" && period !== undefined) return end;
    const logs = `The logs of ${formatDay(days.firstDay)}`;
    const limit = `${inThousands(newestRowsMax)} rows that are read here`;
    if (end.state === "Failed") gaps.push(`${logs} could not be read. ${end.fault.message}`);
    if (end.state === "Enough") gaps.push(`${logs} are longer than the ${limit}: see \`wafsync report\`.`);
  }
  if (stopping.aborted) return { state: "Stopped" as const };
  return { state: "Done" as const, summary: statistics.summary(topMax), range, gaps };
}

/** A WafIpRule, as YAML to copy; undefined if there is nothing to block. */
function suggestRule(
  addresses: readonly Entry[],
  instance: ObjectName | undefined,
  { firstDay, lastDay }: DayRange,
  nowMs: number,
): string | undefined {
  if (addresses.length === 0) return undefined;
  const rule = {
    apiVersion: "wafsync.dev/v1alpha1",
    kind: "WafIpRule",
    metadata: {
      name: `top-clients-${formatDay(lastDay)}`,
      ...(instance !== undefined && { namespace: instance.namespace }),
    },
    spec: {
      instanceRef: { name: instance?.name ?? unknownInstance },
      action: "Block",
      description: `Most blocked requests from ${formatDay(firstDay)} to ${formatDay(lastDay)}`,
      // Not a `ttl`, which counts from the creation of the object: a file has no creation time.
      expiresAt: formatTime(nowMs + daysBlocked * dayMs),
      addresses,
    },
  };
  const named = instance === undefined ? `# Replace ${unknownInstance} with the name of your WafInstance.\n` : "";
  return `# Check the addresses first: one of them may be a proxy that many people share.\n${named}${stringify(rule)}`;
}

// Summarizes blocked requests by client, reason, country and path. The memory does not grow with the number of rows, nor with their
// content, which attackers control.

/** How many strings of each kind are kept when there are too many. */
const keptMax = 10_000;
/** In characters: longer strings are truncated. */
export const textLengthMax = 300;

/** A string and how often it occurs. */
export interface Counted {
  readonly key: string;
  readonly count: number;
}

/** The most frequent strings, and how exact their counts are. */
export interface Ranking {
  readonly items: readonly Counted[];
  /** The maximum by which any count is too low; 0 if all counts are exact. */
  readonly shortMax: number;
  /** The number of different strings; if `shortMax` is not 0, there may have been more. */
  readonly distinctMin: number;
}

export type RequestSummary = ReturnType<RequestStatistics["summary"]>;

export class RequestStatistics {
  readonly #clients = new FrequentCounter(keptMax);
  readonly #reasons = new FrequentCounter(keptMax);
  readonly #countries = new FrequentCounter(keptMax);
  readonly #paths = new FrequentCounter(keptMax);
  #total = 0;

  add(entry: LogEntry): void {
    this.#total += 1;
    this.#reasons.add(keptText(entry.block_reason));
    this.#countries.add(keptText(entry.country ?? ""));
    this.#paths.add(keptPath(entry.request_path));
    // Different spellings of one address are one client.
    this.#clients.add(readObservedEntry(keptText(entry.client_ip)));
  }

  /** @param topMax The maximum number of items of each ranking. */
  summary(topMax: number) {
    return {
      total: this.#total,
      clients: this.#clients.ranking(topMax),
      reasons: this.#reasons.ranking(topMax),
      countries: this.#countries.ranking(topMax),
      paths: this.#paths.ranking(topMax),
    };
  }
}

/**
 * Counts how often each string occurs, with bounded memory. Counts are exact while there are few strings. After that, only the
 * frequent ones are kept, and the maximum error of a count is known (Misra-Gries summary).
 */
export class FrequentCounter {
  readonly #keptMax: number;
  readonly #counts = new Map<string, number>();
  #shortMax = 0;
  #distinctMin = 0;

  /** @param keptMax How many strings are kept when there are too many. At most twice as many are held. */
  constructor(keptMax: number) {
    this.#keptMax = keptMax;
  }

  add(key: string): void {
    const known = this.#counts.get(key);
    this.#counts.set(key, (known ?? 0) + 1);
    if (known !== undefined) return;
    this.#distinctMin = Math.max(this.#distinctMin, this.#counts.size);
    if (this.#counts.size > 2 * this.#keptMax) this.#shrink();
  }

  /** The most frequent strings; equal counts are in alphabetical order. A count is never more than the true one. */
  ranking(most: number): Ranking {
    const all = [...this.#counts].map(([key, count]) => ({ key, count }));
    return { items: all.sort(byCountThenKey).slice(0, most), shortMax: this.#shortMax, distinctMin: this.#distinctMin };
  }

  /** Subtracts the same number from every count, so that at most `keptMax` counts remain above zero. */
  #shrink(): void {
    const counts = [...this.#counts.values()].sort((a, b) => b - a);
    const taken = counts[this.#keptMax] ?? 0;
    for (const [key, count] of this.#counts) {
      if (count <= taken) this.#counts.delete(key);
      else this.#counts.set(key, count - taken);
    }
    this.#shortMax += taken;
  }
}

function byCountThenKey(a: Counted, b: Counted): number {
  if (a.count !== b.count) return b.count - a.count;
  return a.key < b.key ? -1 : 1;
}

function keptText(text: string): string {
  return text.length <= textLengthMax ? text : copyOf(text.slice(0, textLengthMax));
}

/** The path without its query. */
function keptPath(path: string): string {
  const mark = path.indexOf("?");
  return mark < 0 ? keptText(path) : copyOf(path.slice(0, Math.min(mark, textLengthMax)));
}

/** A part of a string keeps the whole string in memory, so it is copied. */
function copyOf(part: string): string {
  return Buffer.from(part, "utf16le").toString("utf16le");
}

// Whether clients are on the lists, or exempt from blocking, and which of them a rule could block.

/**
 * - `Listed`: on the blocklist, and perhaps on the allowlist, too.
 * - `Allowed`: on the allowlist.
 * - `Exempt`: never to be blocked, for the reason in `why`.
 * - `Declared`: a rule blocks it, but it is not on the blocklist yet.
 * - `Unknown`: a list could not be read.
 * - `NoAddress`: not a single IP address, so no rule should name it.
 */
export interface ListState {
  readonly state: "Listed" | "Allowed" | "Exempt" | "Declared" | "NotListed" | "NoAddress" | "Unknown";
  /** The same for people, with the widest entry that contains the client. */
  readonly words: string;
}

const noAddress: ListState = { state: "NoAddress", words: "–" };

/** @param texts may also contain host names, which are skipped */
export function networksIn(texts: readonly string[]): NetworkIndex {
  return new NetworkIndex(texts.map(parseDeclaredEntry).flatMap((read) => (read.ok ? [read.entry] : [])));
}

/** What the declaration of an instance adds to the two lists of its WAF. */
async function declaredLists({ gathered, inventory, gaps }: InstanceSight, clock: Clock) {
  const { rules, lists } = await inSlices(clock, compileInSlices(gathered, clock.nowMs(), inventory));
  // Includes Allow rules that another rule overrides: a person decided that these addresses should not be blocked.
  const allowed = rules
    .filter(({ rule, expired, isAttached }) => rule.action === "Allow" && !expired && isAttached)
    .flatMap(({ parts }) => parts.flatMap(({ entries }) => [...entries.keys()]));
  return {
    /** Networks that must never be blocked, by the reason. */
    exempt: {
      "an Allow rule": new NetworkIndex(allowed),
      neverBlock: networksIn(gathered.instance.guards.neverBlock),
      "a declared origin": networksIn(gathered.origins.map(({ host }) => host)),
      "a WafAutoBlock": networksIn((gathered.autoBlocks ?? []).flatMap(({ exempt }) => exempt)),
    },
    /** The entries of the Block rules. */
    declared: new NetworkIndex(lists.blocklist.keys()),
    /** What could not be read, one sentence each. */
    notes: gaps,
  };
}

export interface KnownLists {
  readonly exempt?: Readonly<Record<string, NetworkIndex>>;
  readonly declared?: NetworkIndex | undefined;
  /** As the WAF returned them; undefined for a list that could not be read. */
  readonly blocklist: readonly string[] | undefined;
  readonly allowlist: readonly string[] | undefined;
}

/** Returns a function that tells the state of a client. */
export function listStates({ blocklist, allowlist, exempt = {}, declared }: KnownLists): (client: Entry) => ListState {
  const listed = indexOf(blocklist);
  const allowed = indexOf(allowlist);
  return (client) => {
    if (isOpaque(client)) return noAddress;
    const byWords = (by: Entry): string => (by === client ? "" : ` by ${by}`);
    const [listedBy, allowedBy] = [listed?.containing(client), allowed?.containing(client)];
    const isAllowed = allowedBy === undefined ? "" : `allowed${byWords(allowedBy)}`;
    if (listedBy !== undefined)
      return { state: "Listed", words: `blocked${byWords(listedBy)}${isAllowed === "" ? "" : `, ${isAllowed}`}` };
    if (isAllowed !== "") return { state: "Allowed", words: isAllowed };
    const why = Object.keys(exempt).find((one) => exempt[one]?.overlaps(client) !== undefined);
    if (why !== undefined) return { state: "Exempt", words: `exempt (${why})` };
    if (!isAddress(client)) return noAddress;
    if (declared?.containing(client) !== undefined) return { state: "Declared", words: "declared, not blocked yet" };
    if (listed === undefined || allowed === undefined) return { state: "Unknown", words: "unknown" };
    return { state: "NotListed", words: "not on a list" };
  };
}

/**
 * The addresses that a rule could block, in the given order. Private, loopback and other special-purpose addresses are skipped: they
 * are not clients on the public Internet, and wafsync would reject them.
 */
export function addressesToBlock(
  clients: readonly { readonly entry: Entry; readonly lists: ListState }[],
): readonly Entry[] {
  const isPublic = (entry: Entry): boolean => specialPurposeObjection(entry, networkOf(entry)) === undefined;
  return clients.filter(({ lists, entry }) => lists.state === "NotListed" && isPublic(entry)).map(({ entry }) => entry);
}

function indexOf(spellings: readonly string[] | undefined): NetworkIndex | undefined {
  return spellings && new NetworkIndex(observeSpellings(spellings).keys());
}

/** The log of a WAF contains one client per row; blocking a network would block everyone in it. */
function isAddress(entry: Entry): boolean {
  const { family, prefixLength } = networkOf(entry);
  return prefixLength === prefixLengthMax(family);
}
