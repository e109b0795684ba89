// Renders blocked requests, for the report and for the served page of a WAF: totals, charts with their numbers as tables, clients and
// networks with the list that each is on, the rule to copy, and rankings.
import type { Entry } from "../address/entry.ts";
import { isOpaque } from "../address/entry.ts";
import { inThousands, shortened } from "../model/sentence.ts";
import { dayMs, hourMs, minuteMs } from "../model/time-text.ts";
import type { OverTime, TimeSeries } from "./charts.ts";
import { shareBar, stepLabel, timeChart } from "./charts.ts";
import type { ListState } from "./client-lists.ts";
import type { Markup } from "./html.ts";
import { html } from "./html.ts";
import type { Cell, Column, Tile } from "./parts.ts";
import { copyButton, dataTable, moreThan, section, tiles, warnings } from "./parts.ts";
import type { BlockedRequests } from "./requests.ts";
import type { Counted, Ranking, RequestSummary, Seen } from "./statistics.ts";
import { otherCategory } from "./statistics.ts";

/** In characters. */
const cellLengthMax = 160;
/** The rows of the tables by reason and by country. */
const barsMax = 12;
/** The number of reasons with their own color. Pages define one more color for all other reasons. */
const coloredMax = 6;

/** @param linkOf the page about a client; undefined for a page without links */
export function requestSections(
  requests: BlockedRequests,
  incomplete: string,
  linkOf?: (client: Entry) => string,
): Markup[] {
  const { summary, notes } = requests;
  const found =
    summary.total === 0
      ? [section("none", "No blocked requests", html`<p>The WAF blocked no requests in this period.</p>`)]
      : [
          timeSection(summary),
          html`<div class="pair">${reasonSection(summary)} ${countrySection(summary)}</div>`,
          clientSection(requests, linkOf),
          networkSection(requests),
          ...ruleSection(requests.suggestedRule),
          ...rankingSections(summary),
        ];
  return [
    ...warnings(incomplete, requests.warnings),
    tiles(tilesOf(requests)),
    ...notes.map((note) => html`<p class="quiet">${shortened(note, 4 * cellLengthMax)}</p>`),
    ...found,
  ];
}

function tilesOf({ summary, clients }: BlockedRequests): Tile[] {
  const open = clients.filter(({ lists }) => lists.state === "NotListed").length;
  const isUnknown = clients.some(({ lists }) => lists.state === "Unknown");
  return [
    { name: "Blocked requests", value: summary.total },
    { name: "Clients", value: atLeast(summary.clients) },
    { name: "Networks", value: atLeast(summary.networks), note: "/24 for IPv4, /64 for IPv6" },
    { name: "Countries", value: summary.countries.items.filter(({ key }) => key !== "").length },
    busiestTile(summary),
    { name: "Top clients not on a list", value: isUnknown ? "unknown" : `${open} of ${clients.length}` },
  ];
}

function atLeast({ distinctMin, shortMax }: Ranking<unknown>): string {
  return shortMax === 0 ? inThousands(distinctMin) : `over ${inThousands(distinctMin)}`;
}

function busiestTile({ total, overTime, barMs, barsStartMs }: RequestSummary): Tile {
  const highest = Math.max(...overTime);
  const value = total === 0 ? "–" : stepLabel(barsStartMs + overTime.indexOf(highest) * barMs, barMs);
  const units = [
    [dayMs, "day"],
    [hourMs, "hour"],
    [minuteMs, "minute"],
  ] as const;
  const [unitMs, unit] = units.find(([unitMs]) => barMs >= unitMs) ?? units[2];
  const span = barMs === unitMs ? unit : `${barMs / unitMs} ${unit}s`;
  return { name: `Busiest ${span}`, value, ...(total > 0 && { note: `${inThousands(highest)} requests` }) };
}

function timeSection(summary: RequestSummary): Markup {
  const { overTime, barMs, barsStartMs } = summary;
  const bars: OverTime = { startMs: barsStartMs, stepMs: barMs, series: seriesOf(summary) };
  const highest = Math.max(...overTime);
  const at = timeWords(barsStartMs + overTime.indexOf(highest) * barMs);
  const words = `Blocked requests over time by reason. The highest bar has ${inThousands(highest)} requests and starts at ${at}.`;
  const columns: Column<number>[] = [
    { title: "Time (UTC)", kind: "time", cell: (bar) => stepLabel(barsStartMs + bar * barMs, barMs) },
    { title: "All", kind: "number", cell: (bar) => overTime[bar] ?? 0 },
    ...bars.series.map(({ name, counts }): Column<number> => {
      return { title: shortened(name, cellLengthMax), kind: "number", cell: (bar) => counts[bar] ?? 0 };
    }),
  ];
  const rows = overTime.flatMap((count, bar) => (count > 0 ? [bar] : []));
  const table = html`<details>
    <summary>Show as a table</summary>
    ${dataTable("Blocked requests over time", columns, rows)}
  </details>`;
  return section("time", "Over time", [timeChart(words, "bars", bars), table]);
}

function seriesOf({ categories, overTime }: RequestSummary): TimeSeries[] {
  const colored = categories.filter(({ key }) => key !== otherCategory).slice(0, coloredMax);
  const series = colored.map(({ key, overTime: counts }, place): TimeSeries => {
    return { name: reasonWords(key), color: `series-${place + 1}`, counts };
  });
  const rest = overTime.map((count, bar) => count - colored.reduce((sum, one) => sum + (one.overTime[bar] ?? 0), 0));
  if (rest.some((count) => count > 0)) series.push({ name: otherCategory, color: "series-other", counts: rest });
  return series;
}

function reasonSection({ categories }: RequestSummary): Markup {
  return barSection("reason", "Reason", categories, categories.length, reasonWords);
}

function countrySection({ countries: { items, distinctMin } }: RequestSummary): Markup {
  return barSection("country", "Country", items, distinctMin, countryWords);
}

/** The most frequent of `count` values, as bars. */
function barSection(
  id: string,
  title: string,
  items: readonly Counted[],
  count: number,
  words: (key: string) => string,
): Markup {
  const rows = items.slice(0, barsMax);
  const greatest = rows[0]?.count ?? 0;
  const columns: Column<Counted>[] = [
    { title, kind: "name", cell: ({ key }) => shortened(words(key), cellLengthMax) },
    { title: "Share", kind: "share", cell: (row) => shareBar(row.count, greatest) },
    { title: "Requests", kind: "number", cell: (row) => row.count },
  ];
  const label = `By ${title.toLowerCase()}`;
  return section(`by-${id}`, label, [dataTable(label, columns, rows), ...moreThan(rows.length, count)]);
}

function countColumns(total: number): Column<Counted | { readonly count: number }>[] {
  return [
    { title: "Requests", kind: "number", cell: ({ count }) => count },
    { title: "Share", kind: "number", cell: ({ count }) => shareWords(count, total) },
  ];
}

const seenColumns: readonly Column<Seen>[] = [
  { title: "First seen", kind: "time", cell: ({ firstMs }) => seenWords(firstMs) },
  { title: "Last seen", kind: "time", cell: ({ lastMs }) => seenWords(lastMs) },
];

function clientSection({ clients, summary }: BlockedRequests, linkOf?: (client: Entry) => string): Markup {
  const name = (entry: Entry): Cell => {
    if (isOpaque(entry)) return shortened(entry.slice(1), cellLengthMax);
    return linkOf === undefined ? entry : html`<a href="${linkOf(entry)}">${entry}</a>`;
  };
  const columns: Column<(typeof clients)[number]>[] = [
    { title: "Client", kind: "address", cell: ({ entry }) => name(entry) },
    ...countColumns(summary.total),
    { title: "Country", kind: "text", cell: ({ country }) => shortened(countryWords(country ?? ""), cellLengthMax) },
    ...seenColumns,
    { title: "Lists", kind: "text", cell: ({ entry, lists }) => listCell(entry, lists) },
  ];
  return rankedSection("clients", "Top clients", summary.clients, columns, clients);
}

function networkSection({ networks, summary }: BlockedRequests): Markup {
  const columns: Column<(typeof networks)[number]>[] = [
    { title: "Network", kind: "address", cell: ({ entry }) => entry },
    ...countColumns(summary.total),
    { title: "Clients", kind: "number", cell: ({ clients }) => clients },
    ...seenColumns,
    {
      title: "Lists",
      kind: "text",
      cell: ({ entry, lists }) => (lists.state === "NoAddress" ? "not as a whole" : listCell(entry, lists)),
    },
  ];
  return rankedSection("networks", "Top networks", summary.networks, columns, networks);
}

function seenWords(timeMs: number | undefined): string {
  return timeMs === undefined ? "–" : timeWords(timeMs);
}

function listCell(entry: Entry, lists: ListState): Markup {
  const kinds: Partial<Record<ListState["state"], string>> = { Listed: "mark good", NotListed: "mark open" };
  return html`<span class="${kinds[lists.state] ?? "quiet"}">${listWords(entry, lists)}</span>`;
}

function listWords(entry: Entry, lists: ListState): string {
  const byWords = (by: Entry): string => (by === entry ? "" : ` by ${by}`);
  switch (lists.state) {
    case "Listed": {
      const allowed = lists.allowedBy === undefined ? "" : `, allowed${byWords(lists.allowedBy)}`;
      return `blocked${byWords(lists.by)}${allowed}`;
    }
    case "Allowed":
      return `allowed${byWords(lists.by)}`;
    case "Exempt":
      return `exempt (${lists.why})`;
    case "Declared":
      return "declared, not blocked yet";
    case "NotListed":
      return "not on a list";
    case "NoAddress":
      return "–";
    case "Unknown":
      return "unknown";
  }
}

/** A rule as YAML, and a button that copies it. */
function ruleSection(rule: string | undefined): Markup[] {
  if (rule === undefined) return [];
  const title = "Block the top clients that are not on a list";
  return [
    section(
      "rule",
      title,
      html`<p class="quiet">Review the addresses. Then save the rule in your folder, or pass it to kubectl apply -f.</p>
        <pre id="rule-yaml" tabindex="0" aria-label="${title}, as YAML">${rule}</pre>
        ${copyButton}`,
    ),
  ];
}

function rankingSections(summary: RequestSummary): Markup[] {
  const { reasons, paths, agents, methods, statuses, total } = summary;
  const ranking = (
    id: string,
    title: string,
    [name, kind]: readonly [string, "words" | "path"],
    ranked: Ranking<Counted>,
    words: (key: string) => string = (key) => key,
  ): Markup => {
    const key: Column<Counted> = { title: name, kind, cell: (row) => shortened(words(row.key), cellLengthMax) };
    return rankedSection(id, title, ranked, [key, ...countColumns(total)], ranked.items);
  };
  return [
    ranking("reasons", "Top reasons", ["Reason", "words"], reasons, reasonWords),
    ranking("paths", "Top paths, without their queries", ["Path", "path"], paths),
    // Requests without a user agent are common among scanners.
    ranking("agents", "Top user agents", ["User agent", "words"], agents, (key) => key || "No user agent"),
    html`<div class="pair">
      ${ranking("methods", "Methods", ["Method", "words"], methods)}
      ${ranking("statuses", "Statuses", ["Status", "words"], statuses)}
    </div>`,
  ];
}

/** Empty without rows. */
function rankedSection<Row>(
  id: string,
  title: string,
  ranking: Ranking<unknown>,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Markup {
  if (rows.length === 0) return html``;
  return section(id, title, [leftOutNote(ranking), dataTable(title, columns, rows)]);
}

/** What the table does not show, and how exact its numbers are. */
function leftOutNote({ items, shortMax, distinctMin }: Ranking<unknown>): Markup {
  if (shortMax > 0) {
    return html`<p class="quiet">
      There are more than ${inThousands(distinctMin)} different values, and only the most frequent are counted. Each
      count may be too low by at most ${inThousands(shortMax)}, and the time of a first request may be too late.
    </p>`;
  }
  if (distinctMin <= items.length) return html``;
  return html`<p class="quiet">The ${inThousands(items.length)} most frequent of ${inThousands(distinctMin)}.</p>`;
}

/** `12.3 %`, or `< 0.1 %` for a small share that is not 0. */
function shareWords(count: number, total: number): string {
  const percent = total === 0 ? 0 : (count / total) * 100;
  return percent > 0 && percent < 0.1 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** `2026-11-21 15:00`, in UTC. */
export function timeWords(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 16).replace("T", " ");
}

const regionNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });

/** The name of a country by its two-letter code, or the code if it has no name. */
function countryWords(code: string): string {
  if (code === "") return "Unknown";
  const name = /^[A-Z]{2}$/i.test(code) ? regionNames.of(code.toUpperCase()) : undefined;
  return name ?? code;
}

/** The API uses `NONE` for requests without a reason. */
function reasonWords(reason: string): string {
  return reason === "NONE" || reason === "" ? "No reason given" : reason;
}
