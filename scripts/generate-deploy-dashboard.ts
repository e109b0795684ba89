// The Grafana dashboard, as JSON that Grafana can import. A panel has a title, a description and queries.

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: "stat" | "timeseries";
  readonly unit: string;
  /** The number of columns, of 24. */
  readonly width: number;
  readonly queries: readonly Query[];
  /** For stats: from this value on, the panel has the color of a warning. */
  readonly warnFrom?: number;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** Selects the metrics of wafsync's processes: other controllers have metrics with the same names. */
const ofWafsync = "and on (job, instance) wafsync_build_info";
const ofInstance = 'waf_instance=~"$waf_instance"';
const rowHeight = { stat: 4, timeseries: 8 };
const columns = 24;

const rows: readonly Row[] = [
  {
    title: "Overview",
    panels: [
      figure(
        "Instances",
        "WafInstances that the leader manages.",
        `count(max by (waf_instance) (wafsync_instance_ready{${ofInstance}}))`,
      ),
      figure(
        "Not Ready",
        "Instances whose condition Ready is not True.",
        `count(max by (waf_instance) (wafsync_instance_ready{${ofInstance}}) == 0) or vector(0)`,
        1,
      ),
      figure(
        "Held removals",
        "Removals on hold: they await approval or a readable source.",
        `sum(max by (waf_instance, list) (wafsync_held_removals{${ofInstance}}))`,
        1,
      ),
      figure(
        "Contested entries",
        "Entries that another writer keeps reverting.",
        `sum(max by (waf_instance, list) (wafsync_contested_entries{${ofInstance}}))`,
        1,
      ),
      {
        ...figure(
          "Oldest sync",
          "The longest time since the WAF of an instance was last in the declared state.",
          `max(time() - (max by (waf_instance) (wafsync_last_sync_timestamp_seconds{${ofInstance}}) > 0))`,
          3600,
        ),
        unit: "s",
      },
      figure(
        "Leaders",
        "Pods that hold the Lease; there should be one.",
        `sum(leader_election_master_status ${ofWafsync})`,
      ),
    ],
  },
  {
    title: "Lists",
    panels: [
      graph("Entries on the lists", "As of the last read.", [
        {
          expr: `max by (waf_instance, list) (wafsync_list_entries{${ofInstance}, state="live"})`,
          legend: "{{waf_instance}} {{list}}",
        },
      ]),
      graph("Unmanaged entries", "Entries on the lists that wafsync does not manage.", [
        {
          expr: `max by (waf_instance, list) (wafsync_list_entries{${ofInstance}, state="foreign"})`,
          legend: "{{waf_instance}} {{list}}",
        },
      ]),
      graph("Pending writes", "Operations in the last plan.", [
        {
          expr: `max by (waf_instance, kind) (wafsync_plan_operations{${ofInstance}})`,
          legend: "{{waf_instance}} {{kind}}",
        },
      ]),
      graph("Changes", "Entries added (above) and removed (below).", [
        {
          expr: `sum by (waf_instance, list) (increase(wafsync_entries_added_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{waf_instance}} {{list}} added",
        },
        {
          expr: `-sum by (waf_instance, list) (increase(wafsync_entries_removed_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{waf_instance}} {{list}} removed",
        },
      ]),
      graph("Held removals", "Removals on hold, by list.", [
        {
          expr: `max by (waf_instance, list) (wafsync_held_removals{${ofInstance}})`,
          legend: "{{waf_instance}} {{list}}",
        },
      ]),
      graph("Cache clears", "Calls to clear the cache, by cause and result.", [
        {
          expr: `sum by (waf_instance, cause, result) (increase(wafsync_cache_clears_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{waf_instance}} {{cause}} {{result}}",
        },
      ]),
    ],
  },
  {
    title: "The WAF API",
    panels: [
      graph(
        "Calls by result",
        "HTTP status, or the error if there was no response.",
        [
          {
            expr: `sum by (code) (rate(wafsync_waf_requests_total{${ofInstance}}[$__rate_interval]))`,
            legend: "{{code}}",
          },
        ],
        "reqps",
      ),
      graph(
        "Calls by instance",
        "All calls.",
        [
          {
            expr: `sum by (waf_instance) (rate(wafsync_waf_requests_total{${ofInstance}}[$__rate_interval]))`,
            legend: "{{waf_instance}}",
          },
        ],
        "reqps",
      ),
      graph(
        "Duration of calls",
        "By percentile, over all instances.",
        [0.5, 0.95, 0.99].map((share) => ({
          expr: quantile(share, "wafsync_waf_request_duration_seconds", "le"),
          legend: `p${share * 100}`,
        })),
        "s",
      ),
      graph(
        "Duration of calls by endpoint",
        "The 95th percentile.",
        [
          {
            expr: quantile(0.95, "wafsync_waf_request_duration_seconds", "le, method, endpoint"),
            legend: "{{method}} {{endpoint}}",
          },
        ],
        "s",
      ),
    ],
  },
  {
    title: "Blocked requests",
    panels: [
      graph("Blocked requests by reason", "Forwarded requests only.", [
        {
          expr: `sum by (reason) (increase(wafsync_blocked_requests_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{reason}}",
        },
      ]),
      graph("Blocked requests by country", "The ten countries with the most requests.", [
        {
          expr: `topk(10, sum by (country) (increase(wafsync_blocked_requests_total{${ofInstance}}[$__rate_interval])))`,
          legend: "{{country}}",
        },
      ]),
      graph("Log entries", "Forwarded entries by output, and failed runs by reason.", [
        {
          expr: `sum by (waf_instance, output) (increase(wafsync_log_rows_forwarded_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{waf_instance}} to {{output}}",
        },
        {
          expr: `sum by (waf_instance, reason) (increase(wafsync_log_forwarding_failures_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{waf_instance}} failed: {{reason}}",
        },
      ]),
      graph(
        "Log forwarding lag",
        "The delay between the timestamp of the newest entry and its forwarding.",
        [{ expr: `max by (waf_instance) (wafsync_log_lag_seconds{${ofInstance}})`, legend: "{{waf_instance}}" }],
        "s",
      ),
      graph("Log entries in memory", "The entries that are kept in memory so that each is forwarded once.", [
        { expr: `max by (waf_instance) (wafsync_log_rows_remembered{${ofInstance}})`, legend: "{{waf_instance}}" },
      ]),
    ],
  },
  {
    title: "Feeds",
    panels: [
      graph("Entries of feeds", "The entries that rules get from each feed.", [
        { expr: "max by (waf_feed) (wafsync_feed_entries)", legend: "{{waf_feed}}" },
      ]),
      graph(
        "Age of feeds",
        "The time since the source last confirmed the content.",
        [
          {
            expr: "time() - (max by (waf_feed) (wafsync_feed_last_good_timestamp_seconds) > 0)",
            legend: "{{waf_feed}}",
          },
        ],
        "s",
      ),
      graph("Fetches", "By result: the reason of the condition Fetched.", [
        {
          expr: "sum by (waf_feed, result) (increase(wafsync_feed_fetches_total[$__rate_interval])) > 0",
          legend: "{{waf_feed}} {{result}}",
        },
      ]),
    ],
  },
  {
    title: "Automatic blocks",
    panels: [
      graph("Listed clients", "The clients that each WafAutoBlock suggests or blocks.", [
        { expr: "max by (waf_auto_block) (wafsync_auto_block_clients)", legend: "{{waf_auto_block}}" },
      ]),
      graph("Matching requests", "Rows of the log that count for each WafAutoBlock.", [
        {
          expr: "max by (waf_auto_block) (clamp_min(delta(wafsync_auto_block_matched_rows[$__rate_interval]), 0))",
          legend: "{{waf_auto_block}}",
        },
      ]),
    ],
  },
  {
    title: "The operator",
    panels: [
      graph("Reconcile runs", "By controller and result.", [
        {
          expr: "sum by (controller, result) (increase(wafsync_reconcile_total[$__rate_interval]))",
          legend: "{{controller}} {{result}}",
        },
      ]),
      graph(
        "Duration of reconcile runs",
        "The 95th percentile, by controller and result.",
        [
          {
            expr: quantile(0.95, "wafsync_reconcile_duration_seconds", "le, controller, result"),
            legend: "{{controller}} {{result}}",
          },
        ],
        "s",
      ),
      graph("Queue", "Keys that are ready and waiting for a worker.", [
        { expr: `max by (name) (workqueue_depth ${ofWafsync})`, legend: "{{name}}" },
      ]),
      graph(
        "Queue and work time",
        "The 95th percentile of the time in the queue and of the processing time.",
        [
          { expr: quantile(0.95, "workqueue_queue_duration_seconds", "le, name"), legend: "{{name}} queued" },
          { expr: quantile(0.95, "workqueue_work_duration_seconds", "le, name"), legend: "{{name}} processed" },
        ],
        "s",
      ),
      graph("Retries and relists", "Keys requeued with backoff after a failure, and lists after the first one.", [
        {
          expr: `sum by (name) (increase(workqueue_retries_total[$__rate_interval]) ${ofWafsync})`,
          legend: "{{name}} retries",
        },
        {
          expr: "sum by (kind) (increase(wafsync_watch_relists_total[$__rate_interval]))",
          legend: "{{kind}} relists",
        },
      ]),
      graph("Watches", "1 if all objects of the kind have been listed.", [
        { expr: "max by (kind) (wafsync_watch_synced)", legend: "{{kind}}" },
      ]),
      graph(
        "Memory",
        "Resident memory of each pod.",
        [{ expr: `process_resident_memory_bytes ${ofWafsync}`, legend: "{{instance}}" }],
        "bytes",
      ),
      graph(
        "Event loop",
        "The 99th percentile of the lag. With a long lag, the leader can lose its Lease.",
        [
          {
            expr: `nodejs_eventloop_lag_p99_seconds ${ofWafsync}`,
            legend: "{{instance}}",
          },
        ],
        "s",
      ),
      graph("Dropped events", "Events that were not written, by reason.", [
        { expr: "sum by (reason) (increase(wafsync_events_dropped_total[$__rate_interval]))", legend: "{{reason}}" },
      ]),
      graph("Unattached objects", "Objects that no reconcile run covers, by kind and reason.", [
        { expr: "sum by (kind, reason) (wafsync_unattached_objects) > 0", legend: "{{kind}}: {{reason}}" },
      ]),
      graph("Orphaned entries", "Entries that stayed on a WAF after their instance was deleted.", [
        { expr: "sum(wafsync_orphaned_entries_total)", legend: "entries" },
      ]),
    ],
  },
];

function figure(title: string, description: string, expr: string, warnFrom?: number): Panel {
  const panel = { title, description, kind: "stat", unit: "none", width: 4, queries: [{ expr, legend: "" }] } as const;
  return warnFrom === undefined ? panel : { ...panel, warnFrom };
}

function graph(title: string, description: string, queries: readonly Query[], unit = "short"): Panel {
  return { title, description, kind: "timeseries", unit, width: 12, queries };
}

function quantile(share: number, metric: string, labels: string): string {
  return `histogram_quantile(${share}, sum by (${labels}) (rate(${metric}_bucket[$__rate_interval]) ${ofWafsync}))`;
}

/** The dashboard. Its uid never changes, so an import replaces the previous version. */
export function dashboard(): unknown {
  return {
    uid: "wafsync",
    title: "wafsync",
    description: "The WAFs that wafsync manages: lists, plans, API calls, blocked requests and the operator itself.",
    tags: ["wafsync", "kubernetes"],
    schemaVersion: 39,
    editable: true,
    graphTooltip: 1,
    refresh: "30s",
    time: { from: "now-6h", to: "now" },
    timezone: "browser",
    templating: { list: [datasourceVariable, instanceVariable] },
    annotations: { list: [] },
    panels: placedPanels(),
  };
}

const datasource = { type: "prometheus", uid: "${datasource}" };
const datasourceVariable = {
  name: "datasource",
  label: "Data source",
  type: "datasource",
  query: "prometheus",
  hide: 0,
  includeAll: false,
  multi: false,
};
const instanceVariable = {
  name: "waf_instance",
  label: "WafInstance",
  type: "query",
  datasource,
  definition: "label_values(wafsync_instance_ready, waf_instance)",
  query: { query: "label_values(wafsync_instance_ready, waf_instance)", refId: "instances" },
  refresh: 2,
  sort: 1,
  includeAll: true,
  allValue: ".*",
  multi: true,
  current: { selected: true, text: ["All"], value: ["$__all"] },
};

function placedPanels(): unknown[] {
  const placed: unknown[] = [];
  let y = 0;
  for (const row of rows) {
    placed.push({
      id: placed.length + 1,
      type: "row",
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: columns, h: 1 },
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of row.panels) {
      if (x + panel.width > columns) {
        x = 0;
        y += height;
      }
      height = rowHeight[panel.kind];
      placed.push({ id: placed.length + 1, ...panelModel(panel), gridPos: { x, y, w: panel.width, h: height } });
      x += panel.width;
    }
    y += height;
  }
  return placed;
}

function panelModel({ title, description, kind, unit, queries, warnFrom }: Panel): object {
  const green = { color: "green", value: null };
  const steps = warnFrom === undefined ? [green] : [green, { color: "orange", value: warnFrom }];
  const options =
    kind === "stat"
      ? { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false }, colorMode: "value", graphMode: "area" }
      : {
          legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
          tooltip: { mode: "multi", sort: "desc" },
        };
  return {
    type: kind,
    title,
    description,
    datasource,
    fieldConfig: { defaults: { unit, thresholds: { mode: "absolute", steps } }, overrides: [] },
    options,
    targets: queries.map(({ expr, legend }, place) => ({
      refId: String.fromCodePoint("A".codePointAt(0)! + place),
      datasource,
      expr,
      legendFormat: legend,
      range: kind === "timeseries",
      instant: kind === "stat",
    })),
  };
}

/** Every query of the dashboard. */
export function dashboardQueries(): string[] {
  return rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)));
}
