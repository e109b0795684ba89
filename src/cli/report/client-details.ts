// Counts paths, user agents, reasons, methods and statuses for the clients with the most requests. To limit the memory, only some
// clients are followed, and the clients with the fewest requests are dropped. If a client is followed late, its details cover
// only part of its requests, which `rows` shows.
import type { Entry } from "../../model/entry.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import { FrequentCounter } from "./report-counter.ts";
import { keptPath, keptText } from "./row-texts.ts";

/** How many clients remain when some are dropped. At most twice as many are followed. */
const clientsKeptMax = 200;
/** How many strings of each kind are kept. At most twice as many are held. */
const textsKeptMax = 8;

export const detailKinds = ["paths", "agents", "reasons", "methods", "statuses"] as const;
export type DetailKind = (typeof detailKinds)[number];

export interface DetailCounts {
  readonly items: readonly { readonly key: string; readonly count: number }[];
  /** The maximum by which any count is too low. */
  readonly shortMax: number;
  readonly distinctMin: number;
}

export interface ClientDetail extends Readonly<Record<DetailKind, DetailCounts>> {
  /** How many rows are counted here. */
  readonly rows: number;
}

interface Followed extends Readonly<Record<DetailKind, FrequentCounter<undefined>>> {
  rows: number;
  /** The requests of the client in the whole report. */
  count: number;
}

export class ClientDetails {
  readonly #followed = new Map<Entry, Followed>();
  /** A client with fewer requests is not followed. */
  #countMin = 0;

  /** @param count how many requests of the client were counted so far, including this one */
  add(client: Entry, count: number, entry: LogEntry): void {
    let followed = this.#followed.get(client);
    if (followed === undefined) {
      if (count < this.#countMin) return;
      followed = newFollowed();
      this.#followed.set(client, followed);
    }
    followed.rows += 1;
    followed.count = count;
    followed.paths.add(keptPath(entry.request_path), noNote);
    followed.agents.add(keptText(entry.user_agent ?? ""), noNote);
    followed.reasons.add(keptText(entry.block_reason), noNote);
    followed.methods.add(keptText(entry.http_method), noNote);
    followed.statuses.add(String(entry.http_status), noNote);
    if (this.#followed.size > 2 * clientsKeptMax) this.#shrink();
  }

  /** Undefined for a client that was not followed. */
  of(client: Entry, topMax: number): ClientDetail | undefined {
    const followed = this.#followed.get(client);
    if (followed === undefined) return undefined;
    const countsOf = (counter: FrequentCounter<undefined>): DetailCounts => ({
      items: counter.ranked().slice(0, topMax),
      shortMax: counter.shortMax,
      distinctMin: counter.distinctMin,
    });
    return {
      rows: followed.rows,
      paths: countsOf(followed.paths),
      agents: countsOf(followed.agents),
      reasons: countsOf(followed.reasons),
      methods: countsOf(followed.methods),
      statuses: countsOf(followed.statuses),
    };
  }

  #shrink(): void {
    const ranked = [...this.#followed].sort(([, a], [, b]) => b.count - a.count);
    for (const [client] of ranked.slice(clientsKeptMax)) this.#followed.delete(client);
    this.#countMin = (ranked[clientsKeptMax - 1]?.[1].count ?? 0) + 1;
  }
}

function noNote(): undefined {
  return undefined;
}

function newFollowed(): Followed {
  const counter = (): FrequentCounter<undefined> => new FrequentCounter<undefined>(textsKeptMax);
  return {
    rows: 0,
    count: 0,
    paths: counter(),
    agents: counter(),
    reasons: counter(),
    methods: counter(),
    statuses: counter(),
  };
}
