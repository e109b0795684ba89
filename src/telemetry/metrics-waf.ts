// Metrics of the WAFs: calls, lists and plans. Labels name instances, but never an address, a host or a key, and every label
// has a limited set of values.
import { Counter, Histogram, type Registry } from "prom-client";
import { listNames } from "../model/declared.ts";
import { operationKinds } from "../model/operation.ts";
import type { WafFaultCode } from "../model/waf-result.ts";
import { InstanceSeries } from "./metrics-instances.ts";
import { visibleText } from "../model/texts.ts";

/** One call of the WAF API; `endpoint` is a path with a placeholder for the key. */
export interface MeasuredCall {
  readonly method: string;
  readonly endpoint: string;
  readonly status: number | undefined;
  readonly faultCode: WafFaultCode | undefined;
  readonly durationMs: number;
}

/** The calls whose series exist from the start. */
export const measuredCalls: readonly Pick<MeasuredCall, "method" | "endpoint">[] = [
  { method: "GET", endpoint: "/api/origins" },
  { method: "POST", endpoint: "/api/origins" },
  { method: "DELETE", endpoint: "/api/origins" },
  { method: "GET", endpoint: "/api/blocklist_ips" },
  { method: "POST", endpoint: "/api/blocklist_ip" },
  { method: "DELETE", endpoint: "/api/blocklist_ip" },
  { method: "GET", endpoint: "/api/allowlist_ips" },
  { method: "POST", endpoint: "/api/allowlist_ip" },
  { method: "DELETE", endpoint: "/api/allowlist_ip" },
  { method: "POST", endpoint: "/clear/{api_key}" },
  { method: "GET", endpoint: "/api/logs/query" },
  { method: "GET", endpoint: "/api/logs/scroll" },
];
const listStates = ["live", "managed", "foreign", "pending", "held", "overflow"] as const;
const ownStatuses: ReadonlySet<number> = new Set([200, 400, 403, 404, 429, 500, 502, 503, 504]);
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const clearCauses = ["WafCacheClear", "Rollout"] as const;
const byList = listNames.map((list) => ({ list }));

/** The HTTP status, or its class if it is not in `ownStatuses`; without a response, the fault code. */
function codeOf({ status, faultCode }: MeasuredCall): string {
  if (status === undefined) return faultCode ?? "None";
  return ownStatuses.has(status) ? String(status) : `${Math.floor(status / 100)}xx`;
}

/** The series of instances, which are named `namespace/name`. */
function makeSeries(instances: InstanceSeries) {
  return {
    requests: instances.counter(
      "wafsync_waf_requests_total",
      "Calls of the WAF API by endpoint and HTTP status, or by fault if there was no response.",
      measuredCalls.map((call) => ({ ...call, code: "200" })),
    ),
    entries: instances.gauge(
      "wafsync_list_entries",
      "Entries by list and state, as of the last read.",
      listNames.flatMap((list) => listStates.map((state) => ({ list, state }))),
    ),
    held: instances.gauge("wafsync_held_removals", "Removals on hold.", byList),
    contested: instances.gauge("wafsync_contested_entries", "Entries that another writer keeps reverting.", byList),
    plan: instances.gauge(
      "wafsync_plan_operations",
      "Operations in the last plan by kind.",
      operationKinds.map((kind) => ({ kind })),
    ),
    added: instances.counter("wafsync_entries_added_total", "Entries added to the WAF.", byList),
    removed: instances.counter("wafsync_entries_removed_total", "Entries removed from the WAF.", byList),
    clears: instances.counter(
      "wafsync_cache_clears_total",
      "Calls to clear the cache by cause and result.",
      clearCauses.flatMap((cause) => ["Cleared", "Failed"].map((result) => ({ cause, result }))),
    ),
    lastSync: instances.gauge(
      "wafsync_last_sync_timestamp_seconds",
      "When the WAF was last in the declared state, as a Unix time.",
    ),
    resync: instances.gauge("wafsync_resync_interval_seconds", "`spec.resyncInterval` of the instance."),
    keyRefused: instances.gauge(
      "wafsync_api_key_refused",
      "1 if the WAF has refused the API key since the last successful call, 0 if not.",
    ),
    ready: instances.gauge("wafsync_instance_ready", "1 if the condition Ready of the instance is True, 0 if not."),
  };
}

export function makeWafMetrics(registry: Registry) {
  const registers = [registry];
  const instances = new InstanceSeries(registry);
  const { requests, keyRefused, ...series } = makeSeries(instances);
  const { logsForwarded, forgetLogs, ...logs } = makeLogMetrics(instances);
  const durations = new Histogram({
    name: "wafsync_waf_request_duration_seconds",
    help: "Duration of calls of the WAF API, without the wait for other calls with the same key.",
    labelNames: ["method", "endpoint"],
    buckets: durationBuckets,
    registers,
  });
  for (const call of measuredCalls) durations.zero({ ...call });
  const orphaned = new Counter({
    name: "wafsync_orphaned_entries_total",
    help: "Managed entries and origins that stayed on a WAF after their instance was deleted.",
    registers,
  });
  return {
    /** Creates all series of the instance (`namespace/name`), at zero. */
    addInstance: (instance: string) => instances.add(instance),
    /** Removes all series of an instance that was deleted. */
    forgetInstance(instance: string) {
      instances.forget(instance);
      forgetLogs(instance);
    },
    waf: { ...series, ...logs, orphaned },
    logsForwarded,
    wafCalled(instance: string, call: MeasuredCall) {
      const { method, endpoint } = call;
      const isKnown = measuredCalls.some((one) => one.method === method && one.endpoint === endpoint);
      const labels = isKnown ? { method, endpoint } : { method: "other", endpoint: "other" };
      requests.inc(instance, { ...labels, code: codeOf(call) });
      if (call.status === 403 || call.status === 200) keyRefused.set(instance, call.status === 403 ? 1 : 0);
      durations.observe(labels, call.durationMs / 1000);
    },
  };
}

// Metrics of blocked requests. Reasons and countries come from outside, so each instance gets series for a limited number of
// them, in order of arrival; the others are counted as `other`.

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
function makeLogMetrics(instances: InstanceSeries) {
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
