// What a report shows, and how it says it: numbers, times and names as people read them.
import type { AssessedClient } from "./report-clients.ts";
import type { LogReportSummary } from "./report-statistics.ts";

export interface ReportData {
  readonly summary: LogReportSummary;
  /** `2026-11-15 to 2026-11-21`. */
  readonly period: string;
  readonly clients: readonly AssessedClient[];
  /** Whose WAF it is; undefined if the API did not tell. */
  readonly domain: string | undefined;
  readonly madeAtMs: number;
  /** A rule that blocks the clients that are not on the blocklist; undefined if there is none of them. */
  readonly suggestedRule: string | undefined;
  /** What the reader should know: rows that are missing, days that are not kept. */
  readonly warnings: readonly string[];
  readonly version: string;
}

/** `12.3 %`, and `< 0.1 %` for what is not nothing. */
export function shareWords(count: number, total: number): string {
  if (total === 0) return "0 %";
  const percent = (count / total) * 100;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** `2026-11-21 15:00`, in UTC. */
export function timeWords(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 16).replace("T", " ");
}

const regionNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });

/** The name of a country by its two letters, as far as there is one. */
export function countryWords(code: string): string {
  if (code === "") return "Unknown";
  const name = /^[A-Z]{2}$/i.test(code) ? regionNames.of(code.toUpperCase()) : undefined;
  return name ?? code;
}

/** `NONE` is what the API says for no reason. */
export function reasonWords(reason: string): string {
  return reason === "NONE" || reason === "" ? "No reason given" : reason;
}
