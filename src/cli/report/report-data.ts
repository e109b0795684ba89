// The data that a report shows.
import type { ListName } from "../../model/declared.ts";
import type { Entry } from "../../model/entry.ts";
import type { HistoryEvent } from "../../model/history.ts";
import type { BlockSuggestions } from "./block-suggestions.ts";
import type { ListState } from "./report-clients.ts";
import type { ClientCount, LogReportSummary, NetworkCount } from "./report-statistics.ts";
import type { PreviousPeriod } from "./previous-period.ts";
import type { NewestRow } from "./newest-rows.ts";

export interface AssessedClient extends ClientCount {
  readonly lists: ListState;
}

export interface AssessedNetwork extends NetworkCount {
  readonly lists: ListState;
}

/** A client or network that the report is about, as `--client` or `--network` names it. */
export interface FocusView {
  readonly entry: Entry;
  readonly lists: ListState;
  /** The entries of the lists inside it. */
  readonly inside: Readonly<Record<ListName, readonly Entry[]>>;
  /** The lines of `wafsync why`; empty without a folder. */
  readonly why: readonly string[];
}

export interface ReportData {
  readonly summary: LogReportSummary;
  /** `2026-11-15 to 2026-11-21`. */
  readonly period: string;
  readonly clients: readonly AssessedClient[];
  readonly networks: readonly AssessedNetwork[];
  /** Undefined if there is nothing to compare with. */
  readonly before: { readonly period: string; readonly counts: PreviousPeriod } | undefined;
  /** Empty for a report about all clients. */
  readonly focus: readonly FocusView[];
  /** The newest first; empty for a report about all clients. */
  readonly newest: readonly NewestRow[];
  /** The changes to the lists in the period, oldest first; undefined if there is no history to read. */
  readonly changes: readonly HistoryEvent[] | undefined;
  /** The domain of the WAF; undefined if the API did not return it. */
  readonly domain: string | undefined;
  readonly madeAtMs: number;
  /** A rule that blocks the clients that are not on the blocklist; undefined if there are none. */
  readonly suggestedRule: string | undefined;
  /** The clients that WafAutoBlocks suggest to block; empty without a folder. */
  readonly suggestions: readonly BlockSuggestions[];
  /** Why the report is incomplete, such as missing rows, or days that the plan does not keep. */
  readonly warnings: readonly string[];
  /** What the report omits, and why. Unlike `warnings`, this does not make it incomplete. */
  readonly notes: readonly string[];
  readonly version: string;
}
