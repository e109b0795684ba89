// Judges the rows of one day for the WafAutoBlocks of its instance, page by page. A client must never be listed for requests that it
// did not send, whatever the API returns:
//
// - A row counts on the day of its time, and only if that day was asked for.
// - It is known by its time, client, method, path and user agent: the API may complete or respell the rest.
// - Rows that are equal in these count as often as one page contains them. A row that occurs on two pages, or in a reading after one
//   that contradicted itself, is one request.
// - The result counts once the day has been read completely, and only if no more requests are known than the API reports.
import { dayOf, formatDay } from "../model/texts.ts";
import type { DeclaredAutoBlock } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import { NetworkIndex } from "../address/ranges.ts";
import type { Gathered } from "../model/gathered.ts";
import { type LogEntry, logTimeMs } from "../model/log-entry.ts";
import { type JudgedEntry, readClientAddress, judgedBlocks, Judges, type SavedJudges } from "./judge.ts";
import { compileDesired } from "../decide/desired.ts";
import { compileGuards, guardEntries } from "../decide/guards.ts";
import { protectedFrom } from "../decide/yielding.ts";
import { compileOrigins } from "../decide/origin-plan.ts";
import { blockRule } from "./block-rules.ts";
import type { DaySummary } from "../logs/day-reading.ts";
import { identityOfFields, type IdentitySeed, type RowTally } from "../logs/row-tally.ts";
import type { ReadPage } from "../logs/read-logs.ts";

/** Whether the logs must be read for a WafAutoBlock. */
export function wantsJudging(gathered: Gathered): boolean {
  return gathered.autoBlocks !== undefined && judgedBlocks(gathered).some(({ suspend }) => !suspend);
}

export interface DayJudgingOptions {
  readonly day: number;
  /** The judged rows of the day; updated when the day is complete. */
  readonly known: RowTally;
  readonly seed: IdentitySeed;
  readonly gathered: Gathered;
  readonly judges: SavedJudges;
}

/** `judges` is undefined if the day remains unjudged, or has no new rows. */
export interface JudgedDay {
  readonly isComplete: boolean;
  readonly judges: SavedJudges | undefined;
  readonly listed: readonly { readonly block: DeclaredAutoBlock; readonly listed: readonly JudgedEntry[] }[];
  readonly problems: readonly string[];
}

export class DayJudging {
  readonly #options: DayJudgingOptions;
  readonly #clients = new Map<string, string>();
  #added: RowTally = new Map();
  #draft: Judges | undefined;
  #listed: JudgedDay["listed"][number][] = [];
  /** Rows of other days. */
  #others = 0;

  constructor(options: DayJudgingOptions) {
    this.#options = options;
  }

  get day(): number {
    return this.#options.day;
  }

  page({ entries, isFirst, isDoubtful }: ReadPage, nowMs: number): void {
    if (isFirst) this.#begin();
    const { day, known } = this.#options;
    const copies: RowTally = new Map();
    const rows = [];
    for (const entry of entries) {
      const atMs = logTimeMs(entry.timestamp);
      if (!Number.isNaN(atMs) && dayOf(atMs) !== day) {
        this.#others += 1;
        continue;
      }
      const identity = this.#identityOf(entry, atMs);
      const copy = (copies.get(identity) ?? 0) + 1;
      if (isDoubtful && copy > 1) continue;
      copies.set(identity, copy);
      rows.push({ entry, atMs, identity, known: this.#added.get(identity) ?? known.get(identity) ?? 0 });
    }
    const fresh = rows.filter((row) => (copies.get(row.identity) ?? 0) > row.known);
    if (fresh.length === 0) return;
    for (const { identity } of fresh) this.#added.set(identity, copies.get(identity) ?? 0);
    this.#listed.push(...this.#judge(fresh, nowMs));
  }

  /** The day was read to its end. */
  end({ came, total, brokenCount }: DaySummary): JudgedDay {
    const { day, known } = this.#options;
    const date = formatDay(day);
    const problems =
      this.#others === 0
        ? []
        : [`${date}: the API returned ${this.#others} log entries of other days. Automatic blocks ignore them.`];
    let requests = 0;
    for (const [identity, count] of known) if (!this.#added.has(identity)) requests += count;
    for (const count of this.#added.values()) requests += count;
    const reported = Math.max(0, total - this.#others - brokenCount);
    if (came < total || requests > reported) {
      // The missing rows may still come, without a change of the total.
      if (this.#added.size === 0) return { isComplete: came >= total, judges: undefined, listed: [], problems };
      const returned = came < total ? `${came}` : `${requests} different ones`;
      problems.push(
        `${date}: the API reports ${reported} log entries, but returned ${returned}. Automatic blocks do not count the new ones.`,
      );
      return { isComplete: false, judges: undefined, listed: [], problems };
    }
    // If some rows were returned instead of others, the others may still come.
    for (const [identity, count] of this.#added) known.set(identity, count);
    return { isComplete: requests === reported, judges: this.#draft?.save(), listed: this.#listed, problems };
  }

  /** What an earlier reading of the day counted no longer counts. */
  #begin(): void {
    this.#added = new Map();
    this.#draft = undefined;
    this.#listed = [];
    this.#others = 0;
  }

  #judge(rows: Parameters<Judges["take"]>[0], nowMs: number): JudgedDay["listed"] {
    const { gathered, judges } = this.#options;
    this.#draft ??= new Judges(judges, judgedBlocks(gathered), nowMs);
    // The exemptions are compiled when the first client reaches a threshold.
    return this.#draft.take(rows, nowMs, (block) => exemptionsIn(gathered, block, nowMs));
  }

  #identityOf({ timestamp, client_ip, http_method, request_path, user_agent }: LogEntry, atMs: number): number {
    let client = this.#clients.get(client_ip);
    if (client === undefined) {
      client = readClientAddress(client_ip, undefined)?.address ?? client_ip;
      if (this.#clients.size < clientsKnownMax) this.#clients.set(client_ip, client);
    }
    const time = Number.isNaN(atMs) ? timestamp : atMs;
    return identityOfFields(this.#options.seed, [time, client, http_method, request_path, user_agent]);
  }
}

/** Whether an entry must not be blocked for the WafAutoBlock, as far as the declared state tells. */
export function exemptionsIn(gathered: Gathered, block: DeclaredAutoBlock, nowMs: number): (entry: Entry) => boolean {
  const rules = gathered.rules.filter(({ rule }) => rule.action === "Allow");
  const { rules: allowing } = compileDesired({ ...gathered, rules }, nowMs);
  const { rule } = blockRule(block, gathered, { state: "Unreachable", problem: "" });
  const protecting = new NetworkIndex(protectedFrom(rule, { allowing }));
  const guards = compileGuards(gathered.instance, compileOrigins(gathered).compiled);
  return (entry) =>
    protecting.overlaps(entry) !== undefined ||
    guardEntries(guards, "blocklist", [{ source: undefined, entries: new Map([[entry, 0]]) }]).entries.size === 0;
}

/** The number of parsed addresses cached for a day. */
const clientsKnownMax = 10_000;
