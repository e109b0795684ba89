// Metrics of blocked requests. Reasons and countries come from outside, so each instance gets series for a limited number of
// them, in order of arrival; the others are counted as `other`.
import { visibleText } from "../model/visible-text.ts";
import type { InstanceSeries } from "./metrics-instances.ts";

/** The maximum number of reasons and countries with their own series, for each instance. */
export const reasonsMax = 15;
export const countriesMax = 15;
const categoryLengthMax = 40;
const other = "other";
const outputs = ["Stdout", "OTLP"] as const;

/** The label of a reason, without its number, and a country. */
type ForwardedRow = readonly [label: string, country: string | null];

interface KnownNames {
  readonly reasons: Set<string>;
  readonly countries: Set<string>;
}

/** Call `forgetLogs` when the series of an instance are removed. */
export function makeLogMetrics(instances: InstanceSeries) {
  const known = new Map<string, KnownNames>();
  const blocked = instances.counter(
    "wafsync_blocked_requests_total",
    "Forwarded blocked requests by category of the block reason and by country.",
    [],
    ["reason", "country"],
  );
  const forwarded = instances.counter(
    "wafsync_log_rows_forwarded_total",
    "Forwarded log entries by output.",
    outputs.map((output) => ({ output })),
  );
  return {
    logFailures: instances.counter(
      "wafsync_log_forwarding_failures_total",
      "Failed log forwarding runs by reason of the condition LogsForwarded.",
      // The alert evaluates the increase of this series, and the first sample of a series is no increase.
      [{ reason: "TooLarge" }],
    ),
    lag: instances.gauge("wafsync_log_lag_seconds", "How long after its timestamp the newest log entry was forwarded."),
    remembered: instances.gauge(
      "wafsync_log_rows_remembered",
      "Log entries that are remembered, with at most 45 bytes each, so that each is forwarded only once.",
    ),
    logsForwarded: (instance: string, rows: readonly ForwardedRow[], output: (typeof outputs)[number]): void => {
      const names = known.get(instance) ?? { reasons: new Set(), countries: new Set() };
      known.set(instance, names);
      for (const [label, country] of rows) {
        blocked.inc(instance, {
          reason: ownName(names.reasons, categoryOf(label), reasonsMax),
          country: ownName(names.countries, countryOf(country), countriesMax),
        });
      }
      forwarded.inc(instance, { output }, rows.length);
    },
    forgetLogs: (instance: string) => void known.delete(instance),
  };
}

function categoryOf(label: string): string {
  return label.length > categoryLengthMax || !/\D/.test(label) || visibleText(label) !== label ? other : label;
}

function countryOf(country: string | null): string {
  return country !== null && /^[A-Z]{2}$/.test(country) ? country : other;
}

function ownName(names: Set<string>, name: string, most: number): string {
  if (name === other || names.has(name)) return name;
  if (names.size >= most) return other;
  names.add(name);
  return name;
}
