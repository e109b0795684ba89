// The alert rules. The description of each rule says what to do.

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: "critical" | "warning" | "info";
  readonly summary: string;
  readonly description: string;
}

/** Selects the metrics of wafsync's processes: other controllers have metrics with the same names. */
export const ofWafsync = "and on (job, instance) wafsync_build_info";

const alerts: readonly Alert[] = [
  {
    alert: "WafsyncNoLeader",
    expr: `absent((leader_election_master_status == 1) ${ofWafsync})`,
    for: "5m",
    severity: "critical",
    summary: "No wafsync operator is running.",
    description: "No pod holds the Lease, so no change reaches a WAF. Check the pods and their logs.",
  },
  {
    alert: "WafsyncSeveralLeaders",
    expr: `sum by (namespace, name) (leader_election_master_status ${ofWafsync}) > 1`,
    for: "2m",
    severity: "critical",
    summary: "Several wafsync operators believe that they hold the same Lease.",
    description: "Several pods write to the same WAFs. Delete all pods except one, and report this as a bug.",
  },
  {
    alert: "WafsyncShardsUnheld",
    expr: "(max by (job) (wafsync_shards) > 1) > sum by (job) (wafsync_shards_held)",
    for: "5m",
    severity: "critical",
    summary: "No pod holds some of wafsync's {{ $value }} shards.",
    description:
      "No pod reconciles the instances of these shards. Check that all pods are running with the same --shards.",
  },
  {
    alert: "WafsyncInstanceNotReady",
    expr: "max by (waf_instance) (wafsync_instance_ready) == 0",
    for: "15m",
    severity: "warning",
    summary: "The WafInstance {{ $labels.waf_instance }} is not Ready.",
    description: "The condition Ready of the instance gives the reason, and the conditions reference says what to do.",
  },
  {
    alert: "WafsyncSyncTooOld",
    expr: "time() - (max by (waf_instance) (wafsync_last_sync_timestamp_seconds) > 0) > 3600",
    for: "5m",
    severity: "warning",
    summary:
      "The WAF of {{ $labels.waf_instance }} was last in the declared state {{ $value | humanizeDuration }} ago.",
    description: "Later changes of rules may not have been applied. Check the conditions of the instance.",
  },
  {
    alert: "WafsyncApiKeyRefused",
    expr: 'sum by (waf_instance) (increase(wafsync_waf_requests_total{code="403"}[15m])) > 0',
    for: "10m",
    severity: "critical",
    summary: "The WAF rejects the API key of {{ $labels.waf_instance }}.",
    description: "Correct the API key in the Secret that spec.apiKeySecretRef of the instance names.",
  },
  {
    alert: "WafsyncWafApiFailing",
    expr: [
      'sum by (waf_instance) (rate(wafsync_waf_requests_total{code!~"[234].."}[10m]))',
      "/ sum by (waf_instance) (rate(wafsync_waf_requests_total[10m])) > 0.2",
    ].join("\n"),
    for: "15m",
    severity: "warning",
    summary: "{{ $value | humanizePercentage }} of the WAF API calls of {{ $labels.waf_instance }} fail.",
    description: "The API returns errors or does not respond. wafsync retries; if this continues, ask the provider.",
  },
  {
    alert: "WafsyncRateLimited",
    expr: 'sum by (waf_instance) (increase(wafsync_waf_requests_total{code="429"}[30m])) > 30',
    for: "15m",
    severity: "info",
    summary: "The WAF API keeps rate-limiting {{ $labels.waf_instance }}.",
    description: "Set spec.minRequestInterval of the instance, or look for another writer with the same key.",
  },
  {
    alert: "WafsyncReconcileErrors",
    expr: [
      'sum by (controller) (rate(wafsync_reconcile_total{result="error"}[15m]))',
      "/ sum by (controller) (rate(wafsync_reconcile_total[15m])) > 0.5",
    ].join("\n"),
    for: "15m",
    severity: "warning",
    summary: "{{ $value | humanizePercentage }} of the reconcile runs of the controller {{ $labels.controller }} fail.",
    description: "Check the log for a common cause, for example a blocked network.",
  },
  {
    alert: "WafsyncRemovalsHeld",
    expr: "max by (waf_instance, list) (wafsync_held_removals) > 0",
    for: "15m",
    severity: "warning",
    summary: "{{ $value }} removals from the {{ $labels.list }} of {{ $labels.waf_instance }} are on hold.",
    description: "The condition RemovalsHeld of the instance gives the reason, and explains how to approve them.",
  },
  {
    alert: "WafsyncCapacityExceeded",
    expr: 'max by (waf_instance, list) (wafsync_list_entries{state="overflow"}) > 0',
    for: "5m",
    severity: "warning",
    summary: "{{ $value }} declared entries do not fit on the {{ $labels.list }} of {{ $labels.waf_instance }}.",
    description: "The condition Synced of the instance names some of them, and says what to do.",
  },
  {
    alert: "WafsyncContested",
    expr: "max by (waf_instance, list) (wafsync_contested_entries) > 0",
    for: "5m",
    severity: "warning",
    summary: "Another writer keeps reverting the {{ $labels.list }} of {{ $labels.waf_instance }}.",
    description: "Find the other writer: a second cluster, a script or a person with the same key.",
  },
  {
    alert: "WafsyncCacheClearsFail",
    expr: 'sum by (waf_instance, cause) (increase(wafsync_cache_clears_total{result="Failed"}[1h])) >= 3',
    for: "0s",
    severity: "warning",
    summary: "Clearing the cache of {{ $labels.waf_instance }} failed several times.",
    description:
      "Visitors may see outdated pages. The status of the WafCacheClear or of the instance gives the reason.",
  },
  {
    alert: "WafsyncLogsNotForwarded",
    expr: "sum by (waf_instance) (increase(wafsync_log_forwarding_failures_total[30m])) > 3",
    for: "15m",
    severity: "warning",
    summary: "Blocked requests of {{ $labels.waf_instance }} are not forwarded.",
    description:
      "The condition LogsForwarded of the instance gives the reason. The API keeps logs only for a limited time.",
  },
  {
    alert: "WafsyncLogsTooLarge",
    expr: 'sum by (waf_instance) (increase(wafsync_log_forwarding_failures_total{reason="TooLarge"}[2h])) > 0',
    for: "0s",
    severity: "warning",
    summary: "The logs of {{ $labels.waf_instance }} exceed a limit of the operator.",
    description: "The condition LogsForwarded of the instance names the limit, and says when forwarding continues.",
  },
  {
    alert: "WafsyncFeedStale",
    expr: "max by (waf_feed) (wafsync_feed_stale) > 0",
    for: "15m",
    severity: "warning",
    summary:
      "The source of the WafFeed {{ $labels.waf_feed }} has not confirmed its content for longer than spec.staleAfter.",
    description:
      "Rules continue to use the last good content. See the condition Fetched of the feed, and the conditions reference.",
  },
  {
    alert: "WafsyncAutoBlockFull",
    expr: "max by (waf_auto_block) (delta(wafsync_auto_block_left_out[1h])) > 0",
    for: "0s",
    severity: "warning",
    summary: "The WafAutoBlock {{ $labels.waf_auto_block }} lists no further clients: spec.maxEntries is reached.",
    description:
      "Review the listed clients in its status. During an attack, raise spec.maxEntries or set groupBy: Network.",
  },
  {
    alert: "WafsyncEntriesLeftBehind",
    expr: "increase(wafsync_orphaned_entries_total[1h]) > 0",
    for: "0s",
    severity: "warning",
    summary: "Entries stay on a WAF although their WafInstance was deleted.",
    description:
      "The key was lost before they could be removed. A Warning event of the instance says how many there are.",
  },
  {
    alert: "WafsyncWatchNotSynced",
    expr: "max by (kind) (wafsync_watch_synced and on (job, instance) (leader_election_master_status == 1)) == 0",
    for: "10m",
    severity: "warning",
    summary: "wafsync cannot read objects of the kind {{ $labels.kind }}.",
    description: "Until it can, it removes no entry. Check that the CRDs and the roles are installed.",
  },
  {
    alert: "WafsyncWorkStuck",
    expr: `max by (name) (workqueue_longest_running_processor_seconds ${ofWafsync}) > 1800`,
    for: "5m",
    severity: "warning",
    summary: "One run of the controller {{ $labels.name }} has taken {{ $value | humanizeDuration }} so far.",
    description: "Restart the leader. If it happens again, report it with the log.",
  },
  {
    alert: "WafsyncMemoryHigh",
    expr: `max by (job, instance) (process_resident_memory_bytes ${ofWafsync}) > 450 * 1024 * 1024`,
    for: "10m",
    severity: "warning",
    summary: "The wafsync process {{ $labels.instance }} uses {{ $value | humanize1024 }}B of memory.",
    description:
      "The manifests limit the pod to 512 MiB. Raise the limit of the pod and the threshold of this alert. The operator guide explains what needs memory.",
  },
];

/** The rules for a Prometheus rule file, and for the `spec` of a PrometheusRule. */
export function alertGroups(): unknown {
  const rules = alerts.map(({ alert, expr, for: holdFor, severity, summary, description }) => ({
    alert,
    expr,
    for: holdFor,
    labels: { severity },
    annotations: { summary, description },
  }));
  return { groups: [{ name: "wafsync", rules }] };
}

/** The alerts reference. */
export function alertPage(): string {
  const row = ({ alert, severity, for: holdFor, summary, description }: Alert): string =>
    `| \`${alert}\` | ${severity} | ${holdFor} | ${plain(summary)} ${description} |`;
  const lines = [
    "<!-- Written by scripts/generate-deploy.ts from scripts/generate-deploy-alerts.ts: `npm run generate`. -->",
    "",
    "# Alerts",
    "",
    "The [monitoring guide](../guides/monitoring.md) explains how to load these alerts. An alert fires after its condition has been true for the time in the third column. Names and figures are examples.",
    "",
    "| Alert | Severity | After | Text |",
    "| --- | --- | --- | --- |",
    ...alerts.map(row),
  ];
  return `${lines.join("\n")}\n`;
}

const exampleLabels = {
  waf_instance: "shop/main",
  waf_feed: "shop/threats",
  list: "blocklist",
  kind: "WafIpRule",
  name: "instances",
  controller: "instances",
  instance: "10.0.0.7:8080",
};
const exampleValues = [
  ["{{ $value | humanizePercentage }}", "35%"],
  ["{{ $value | humanizeDuration }}", "1h 10m 0s"],
  ["{{ $value | humanize1024 }}", "460Mi"],
  ["{{ $value }}", "120"],
] as const;

/** Replaces the Prometheus templates in a sentence with examples. */
function plain(text: string): string {
  const labels = Object.entries(exampleLabels).map(([name, value]) => [`{{ $labels.${name} }}`, value] as const);
  return [...labels, ...exampleValues].reduce((result, [from, to]) => result.replaceAll(from, to), text);
}
