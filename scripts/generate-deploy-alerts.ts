// The alert rules: what a person has to know of, each with a sentence that says what to do.

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: "critical" | "warning" | "info";
  readonly summary: string;
  readonly description: string;
}

/** Other controllers have metrics of the same names: this leaves those of our processes. */
export const ofWafsync = "and on (job, instance) wafsync_build_info";

const alerts: readonly Alert[] = [
  {
    alert: "WafsyncNoLeader",
    expr: `absent((leader_election_master_status == 1) ${ofWafsync})`,
    for: "5m",
    severity: "critical",
    summary: "No wafsync operator is at work.",
    description: "No pod holds the Lease, so nothing that is declared reaches a WAF. Look at the pods and their logs.",
  },
  {
    alert: "WafsyncSeveralLeaders",
    expr: `sum by (namespace, name) (leader_election_master_status ${ofWafsync}) > 1`,
    for: "2m",
    severity: "critical",
    summary: "Several wafsync operators believe that they hold one Lease.",
    description: "Two pods write to the same WAFs. Delete all pods but one, and report it as a bug.",
  },
  {
    alert: "WafsyncInstanceNotReady",
    expr: "max by (waf_instance) (wafsync_instance_ready) == 0",
    for: "15m",
    severity: "warning",
    summary: "The WafInstance {{ $labels.waf_instance }} is not Ready.",
    description: "Its condition Ready says why, and the reference of conditions what to do.",
  },
  {
    alert: "WafsyncSyncTooOld",
    expr: "time() - (max by (waf_instance) (wafsync_last_sync_timestamp_seconds) > 0) > 3600",
    for: "5m",
    severity: "warning",
    summary: "The WAF of {{ $labels.waf_instance }} was last as declared {{ $value | humanizeDuration }} ago.",
    description: "Rules that were changed since then may not be in force. Look at the conditions of the instance.",
  },
  {
    alert: "WafsyncApiKeyRefused",
    expr: 'sum by (waf_instance) (increase(wafsync_waf_requests_total{code="403"}[15m])) > 0',
    for: "10m",
    severity: "critical",
    summary: "The WAF refuses the API key of {{ $labels.waf_instance }}.",
    description: "Put the right key into the Secret that spec.apiKeySecretRef of the instance names.",
  },
  {
    alert: "WafsyncWafApiFailing",
    expr: [
      'sum by (waf_instance) (rate(wafsync_waf_requests_total{code!~"[234].."}[10m]))',
      "/ sum by (waf_instance) (rate(wafsync_waf_requests_total[10m])) > 0.2",
    ].join("\n"),
    for: "15m",
    severity: "warning",
    summary: "{{ $value | humanizePercentage }} of the calls of {{ $labels.waf_instance }}'s WAF API fail.",
    description: "It answers with errors, or not at all. wafsync tries again by itself; ask the provider if it stays.",
  },
  {
    alert: "WafsyncRateLimited",
    expr: 'sum by (waf_instance) (increase(wafsync_waf_requests_total{code="429"}[30m])) > 30',
    for: "15m",
    severity: "info",
    summary: "The WAF API asks {{ $labels.waf_instance }} to slow down again and again.",
    description: "Set spec.minRequestInterval of the instance, or look for another writer with the same key.",
  },
  {
    alert: "WafsyncRemovalsHeld",
    expr: "max by (waf_instance, list) (wafsync_held_removals) > 0",
    for: "15m",
    severity: "warning",
    summary: "{{ $value }} removals from the {{ $labels.list }} of {{ $labels.waf_instance }} are held back.",
    description: "The condition RemovalsHeld of the instance says why, and how to approve them.",
  },
  {
    alert: "WafsyncContested",
    expr: "max by (waf_instance, list) (wafsync_contested_entries) > 0",
    for: "5m",
    severity: "warning",
    summary: "Somebody else keeps changing the {{ $labels.list }} of {{ $labels.waf_instance }}.",
    description: "Find the other writer: a second cluster, a script or a person with the same key.",
  },
  {
    alert: "WafsyncCacheClearsFail",
    expr: 'sum by (waf_instance, cause) (increase(wafsync_cache_clears_total{result="Failed"}[1h])) >= 3',
    for: "0s",
    severity: "warning",
    summary: "Clearing the cache of {{ $labels.waf_instance }} failed several times.",
    description: "Visitors may see old pages. The status of the WafCacheClear or of the instance says why.",
  },
  {
    alert: "WafsyncLogsNotForwarded",
    expr: "sum by (waf_instance) (increase(wafsync_log_forwarding_failures_total[30m])) > 3",
    for: "15m",
    severity: "warning",
    summary: "Blocked requests of {{ $labels.waf_instance }} are not forwarded.",
    description: "The condition LogsForwarded of the instance says why. The API keeps them for a limited time.",
  },
  {
    alert: "WafsyncEntriesLeftBehind",
    expr: "increase(wafsync_orphaned_entries_total[1h]) > 0",
    for: "0s",
    severity: "warning",
    summary: "Entries stay on a WAF although their WafInstance is gone.",
    description:
      "Its key was lost before they could be removed. A Warning event of the instance said how many they are.",
  },
  {
    alert: "WafsyncWatchNotSynced",
    expr: "max by (kind) (wafsync_watch_synced and on (job, instance) (leader_election_master_status == 1)) == 0",
    for: "10m",
    severity: "warning",
    summary: "wafsync can't read objects of the kind {{ $labels.kind }}.",
    description: "Nothing is removed until it can. Are the custom resource definitions and the roles there?",
  },
  {
    alert: "WafsyncWorkStuck",
    expr: `max by (name) (workqueue_longest_running_processor_seconds ${ofWafsync}) > 1800`,
    for: "5m",
    severity: "warning",
    summary: "One piece of work in {{ $labels.name }} has been running for {{ $value | humanizeDuration }}.",
    description: "Restart the leader; if it comes back, report it with the log.",
  },
];

/** The rules as a file of Prometheus has them, and as `spec` of a PrometheusRule. */
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

/** The reference of the alerts. */
export function alertPage(): string {
  const row = ({ alert, severity, for: holdFor, summary, description }: Alert): string =>
    `| \`${alert}\` | ${severity} | ${holdFor} | ${plain(summary)} ${description} |`;
  const lines = [
    "<!-- Written by scripts/generate-deploy.ts from scripts/generate-deploy-alerts.ts: `npm run generate`. -->",
    "",
    "# Alerts",
    "",
    "How to load them is in the [monitoring guide](../guides/monitoring.md). An alert comes after its condition has held for the time in the third column. Names and figures are examples.",
    "",
    "| Alert | Severity | After | What it says |",
    "| --- | --- | --- | --- |",
    ...alerts.map(row),
  ];
  return `${lines.join("\n")}\n`;
}

const exampleLabels = { waf_instance: "shop/main", list: "blocklist", kind: "WafIpRule", name: "instances" };
const exampleValues = [
  ["{{ $value | humanizePercentage }}", "35%"],
  ["{{ $value | humanizeDuration }}", "1h 10m 0s"],
  ["{{ $value }}", "120"],
] as const;

/** The sentence as it might come, with examples in place of Prometheus' templates. */
function plain(text: string): string {
  const labels = Object.entries(exampleLabels).map(([name, value]) => [`{{ $labels.${name} }}`, value] as const);
  return [...labels, ...exampleValues].reduce((result, [from, to]) => result.replaceAll(from, to), text);
}
