// Counts the requests of the previous period, but only for the clients, reasons and other keys that the report shows. The counts
// are exact, and the memory depends only on the size of the report.
import { readObservedEntry } from "../../model/entry.ts";
import { networkOf } from "../../model/client-network.ts";
import type { LogEntry } from "../../model/log-entry.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { otherCategory } from "./report-statistics.ts";
import { labelOfReason } from "../../plan/logs/row-tests.ts";
import { keptPath, keptText } from "./row-texts.ts";

export const comparedKinds = [
  "categories",
  "reasons",
  "countries",
  "clients",
  "networks",
  "paths",
  "agents",
  "methods",
  "statuses",
] as const;
export type ComparedKind = (typeof comparedKinds)[number];

export class PreviousPeriod {
  readonly #counts: Readonly<Record<ComparedKind, Map<string, number>>>;
  #total = 0;

  constructor(summary: LogReportSummary) {
    const zeros = (keys: readonly string[]): Map<string, number> => new Map(keys.map((key) => [key, 0]));
    const keysOf = (items: readonly { readonly key: string }[]): Map<string, number> =>
      zeros(items.map(({ key }) => key));
    this.#counts = {
      categories: keysOf(summary.categories),
      reasons: keysOf(summary.reasons.items),
      countries: keysOf(summary.countries.items),
      clients: zeros(summary.clients.items.map(({ entry }) => entry)),
      networks: zeros(summary.networks.items.map(({ entry }) => entry)),
      paths: keysOf(summary.paths.items),
      agents: keysOf(summary.agents.items),
      methods: keysOf(summary.methods.items),
      statuses: keysOf(summary.statuses.items),
    };
  }

  get total(): number {
    return this.#total;
  }

  add(entry: LogEntry): void {
    this.#total += 1;
    const reason = keptText(entry.block_reason);
    const category = labelOfReason(reason);
    this.#count("categories", this.#counts.categories.has(category) ? category : otherCategory);
    this.#count("reasons", reason);
    this.#count("countries", entry.country === null ? "" : keptText(entry.country));
    const client = readObservedEntry(keptText(entry.client_ip));
    this.#count("clients", client);
    const network = networkOf(client);
    if (network !== undefined) this.#count("networks", network);
    this.#count("paths", keptPath(entry.request_path));
    this.#count("agents", keptText(entry.user_agent ?? ""));
    this.#count("methods", keptText(entry.http_method));
    this.#count("statuses", String(entry.http_status));
  }

  /** Undefined for a key that the report does not show. */
  countOf(kind: ComparedKind, key: string): number | undefined {
    return this.#counts[kind].get(key);
  }

  #count(kind: ComparedKind, key: string): void {
    const before = this.#counts[kind].get(key);
    if (before !== undefined) this.#counts[kind].set(key, before + 1);
  }
}
