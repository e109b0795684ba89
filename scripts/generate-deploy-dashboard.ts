// The Grafana dashboard, as the JSON that Grafana imports. Plain objects: a panel is a title, queries and a place.
import { ofWafsync } from "./generate-deploy-alerts.ts";

interface Query {
  readonly expr: string;
  readonly legend: string;
}

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly kind: "stat" | "timeseries";
  readonly unit: string;
  /** Of the 24 columns. */
  readonly width: number;
  readonly queries: readonly Query[];
  /** For figures: from this value on, the colour is that of a warning. */
  readonly warnFrom?: number;
}

interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const ofInstance = 'waf_instance=~"$waf_instance"';
const rowHeight = { stat: 4, timeseries: 8 };
const columns = 24;

const rows: readonly Row[] = [
  {
    title: "Overview",
    panels: [
      figure(
        "Instances",
        "WafInstances that the leader knows.",
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
        "Removals that wait for an approval or for a source.",
        `sum(max by (waf_instance, list) (wafsync_held_removals{${ofInstance}}))`,
        1,
      ),
      figure(
        "Contested entries",
        "Entries that somebody else keeps undoing.",
        `sum(max by (waf_instance, list) (wafsync_contested_entries{${ofInstance}}))`,
        1,
      ),
      {
        ...figure(
          "Oldest sync",
          "The longest time since an instance was last as declared.",
          `max(time() - (max by (waf_instance) (wafsync_last_sync_timestamp_seconds{${ofInstance}}) > 0))`,
          3600,
        ),
        unit: "s",
      },
      figure("Leaders", "Pods that hold the Lease: one.", `sum(leader_election_master_status ${ofWafsync})`),
    ],
  },
  {
    title: "Lists",
    panels: [
      graph("Entries on the lists", "As last read.", [
        {
          expr: `max by (waf_instance, list) (wafsync_list_entries{${ofInstance}, state="live"})`,
          legend: "{{waf_instance}} {{list}}",
        },
      ]),
      graph("Entries of others", "Entries that wafsync did not add.", [
        {
          expr: `max by (waf_instance, list) (wafsync_list_entries{${ofInstance}, state="foreign"})`,
          legend: "{{waf_instance}} {{list}}",
        },
      ]),
      graph("Pending writes", "Operations of the last plan.", [
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
      graph("Held removals", "Removals that wait, by list.", [
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
        "Calls by answer",
        "HTTP status, or the fault where no answer came.",
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
        "Time of a call",
        "By percentile, over all instances.",
        [0.5, 0.95, 0.99].map((share) => ({
          expr: quantile(share, "wafsync_waf_request_duration_seconds", "le"),
          legend: `p${share * 100}`,
        })),
        "s",
      ),
      graph(
        "Time of a call by endpoint",
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
      graph("Blocked requests by reason", "Those that were forwarded.", [
        {
          expr: `sum by (reason) (increase(wafsync_blocked_requests_total{${ofInstance}}[$__rate_interval]))`,
          legend: "{{reason}}",
        },
      ]),
      graph("Blocked requests by country", "The ten with the most.", [
        {
          expr: `topk(10, sum by (country) (increase(wafsync_blocked_requests_total{${ofInstance}}[$__rate_interval])))`,
          legend: "{{country}}",
        },
      ]),
      graph("Log entries", "Handed on, by output, and looks that failed, by reason.", [
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
        "Lag of the logs",
        "How long after its time the newest entry was handed on.",
        [{ expr: `max by (waf_instance) (wafsync_log_lag_seconds{${ofInstance}})`, legend: "{{waf_instance}}" }],
        "s",
      ),
    ],
  },
  {
    title: "The operator",
    panels: [
      graph("Queue", "Keys that could be worked on now.", [
        { expr: `max by (name) (workqueue_depth ${ofWafsync})`, legend: "{{name}}" },
      ]),
      graph(
        "Waiting and working",
        "The 95th percentile of the time in the queue and of the work.",
        [
          { expr: quantile(0.95, "workqueue_queue_duration_seconds", "le, name"), legend: "{{name}} waits" },
          { expr: quantile(0.95, "workqueue_work_duration_seconds", "le, name"), legend: "{{name}} works" },
        ],
        "s",
      ),
      graph("Retries and relists", "Keys put back with a back-off, and complete lists after the first.", [
        {
          expr: `sum by (name) (increase(workqueue_retries_total[$__rate_interval]) ${ofWafsync})`,
          legend: "{{name}} retried",
        },
        {
          expr: "sum by (kind) (increase(wafsync_watch_relists_total[$__rate_interval]))",
          legend: "{{kind}} listed again",
        },
      ]),
      graph("Watches", "1 if all objects of the kind were seen.", [
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
        "The 99th percentile of its lag. A long lag can cost the Lease.",
        [
          {
            expr: `nodejs_eventloop_lag_p99_seconds ${ofWafsync}`,
            legend: "{{instance}}",
          },
        ],
        "s",
      ),
      graph("Events dropped", "Notes about objects that did not become Events.", [
        { expr: "sum by (reason) (increase(wafsync_events_dropped_total[$__rate_interval]))", legend: "{{reason}}" },
      ]),
      graph("Left behind", "Entries that stayed on a WAF when their instance went.", [
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

/** The dashboard; its uid never changes, so that an import replaces the one before. */
export function dashboard(): unknown {
  return {
    uid: "wafsync",
    title: "wafsync",
    description: "WAFs in their declared state: lists, plans, calls of the API, and the operator itself.",
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
          legend: { displayMode: "list", placement: "bottom", showLegend: true },
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

/** Every query of the dashboard, as it stands there. */
export function dashboardQueries(): string[] {
  return rows.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)));
}
