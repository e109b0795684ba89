// The page about the newest blocked requests of one WAF: over time, by reason, country, network and client. It can also show the
// requests of one client or network.
import type { Summary } from "../../api/summary.ts";
import { type Entry, isOpaque } from "../../model/entry.ts";
import { type LogEntry, logTimeMs } from "../../model/log-entry.ts";
import { counted, inThousands } from "../../model/sentence.ts";
import { dayMs } from "../../model/time-text.ts";
import { dayOf, formatDay } from "../../reconcile/logs/log-days.ts";
import type { LogFilter } from "../logs/log-filter.ts";
import type { Markup } from "../report/html.ts";
import { html } from "../report/html.ts";
import { rankChart, timeChart } from "../report/charts.ts";
import { agentWords, countryWords, reasonWords, shareWords, timeWords } from "../report/request-words.ts";
import { LogReport } from "../report/report-statistics.ts";
import type { Counted, LogReportSummary, Ranking } from "../report/report-statistics.ts";
import { countryRows, reasonRows, timeBarsOf } from "../report/chart-sections.ts";
import type { BlockedRequests } from "./blocked-requests.ts";
import { figure } from "./page-charts.ts";
import { framed, instancePath, scrolling, shown, warnings } from "./page-frame.ts";
import { tiles } from "./overview-page.ts";
import { stackHead, tableHead } from "./table-head.ts";

const topMax = 15;
const newestMax = 50;
const pathLengthMax = 160;

export interface RequestsChoice {
  readonly instance: string;
  /** Empty for all clients; otherwise an address or a network. */
  readonly client: string;
  readonly fits: LogFilter;
}

export function requestsPage(
  { where, version }: Pick<Summary, "where" | "version">,
  { rows, firstDay, lastDay, gaps }: BlockedRequests,
  choice: RequestsChoice,
): string {
  const { instance, client, fits } = choice;
  const chosen = client === "" ? rows : rows.filter((row) => fits(row));
  const report = new LogReport({ startMs: firstDay * dayMs, endMs: (lastDay + 1) * dayMs });
  for (const row of chosen) {
    const timeMs = logTimeMs(row.timestamp);
    const day = Number.isNaN(timeMs) ? lastDay : Math.min(lastDay, Math.max(firstDay, dayOf(timeMs)));
    report.add(row, day * dayMs, timeMs);
  }
  const title = client === "" ? `Blocked requests of ${instance}` : `Blocked requests of ${client}`;
  const path = `${instancePath(instance)}/requests`;
  const summary = report.summary(topMax);
  return framed({
    title,
    where,
    version,
    searched: { address: client.includes("/") ? "" : client, instance },
    body: [
      html`<div>
        <h1>${shown(title)}</h1>
        <p class="quiet">
          <a href="${instancePath(instance)}">${shown(instance)}</a>, ${formatDay(firstDay)} to ${formatDay(lastDay)},
          in UTC
        </p>
        ${client === "" ? html`` : html`<p><a href="${path}">All clients</a></p>`}
      </div>`,
      ...warnings("gaps", "Not everything is shown", gaps),
      ...(chosen.length === 0
        ? [html`<section><p>No request was blocked.</p></section>`]
        : [...numbers(chosen, client), ...charts(summary), ...tables(summary, path, client), newest(chosen)]),
    ],
  });
}

function numbers(rows: readonly LogEntry[], client: string): Markup[] {
  const times = rows.map(({ timestamp }) => timestamp).toSorted();
  const clients = new Set(rows.map(({ client_ip }) => client_ip)).size;
  return [
    tiles([
      ["Blocked requests", rows.length],
      ...(client === "" ? [["Clients", clients] as const] : []),
      ["First", minuteOf(times[0])],
      ["Last", minuteOf(times.at(-1))],
    ]),
  ];
}

/** The time without its seconds; an invalid time stays unchanged. */
function minuteOf(timestamp = ""): string {
  const timeMs = logTimeMs(timestamp);
  return Number.isNaN(timeMs) ? timestamp : timeWords(timeMs);
}

function charts(summary: LogReportSummary): Markup[] {
  const bars = timeBarsOf(summary);
  const colors = bars.series.map(({ name, color }) => {
    const series = /--series-(?<name>[\da-z]+)/.exec(color)?.groups?.["name"] ?? "other";
    return html`<li><i class="color-${series}"></i>${shown(name, pathLengthMax)}</li>`;
  });
  const words = `${counted(summary.total, "blocked request", "blocked requests")} over time, by reason`;
  const reasons = summary.categories.map(({ key, count }) => `${reasonWords(key)} ${inThousands(count)}`);
  const countries = summary.countries.items.map(({ key, count }) => `${countryWords(key)} ${inThousands(count)}`);
  return [
    html`<section>
      <h2>Over time</h2>
      ${figure(words, timeChart(bars).wide, "wide")}
      <ul class="legend">
        ${colors}
      </ul>
    </section>`,
    html`<div class="pair">
      <section>
        <h2>By reason</h2>
        ${figure(`By reason: ${reasons.slice(0, topMax).join(", ")}`, rankChart(reasonRows(summary)).wide)}
      </section>
      <section>
        <h2>By country</h2>
        ${figure(`By country: ${countries.slice(0, topMax).join(", ")}`, rankChart(countryRows(summary)).wide)}
      </section>
    </div>`,
  ];
}

/** Rankings; clients and networks link to the page about their requests. */
function tables(summary: LogReportSummary, path: string, client: string): Markup[] {
  const { clients, networks, methods, statuses, agents, paths, reasons, total } = summary;
  const linked = (key: string): Markup =>
    isOpaque(key as Entry)
      ? shownKey(key.slice(1))
      : html`<a href="${path}?client=${encodeURIComponent(key)}">${shown(key, 60)}</a>`;
  const keyed = ({ items, ...rest }: Ranking<{ readonly entry: Entry; readonly count: number }>): Ranking<Counted> => ({
    items: items.map(({ entry, count }) => ({ key: entry, count })),
    ...rest,
  });
  const pair =
    client === "" || client.includes("/")
      ? [
          ranking("Clients", "Client", keyed(clients), total, linked),
          ranking("Networks", "Network (/24 or /64)", keyed(networks), total, linked),
        ]
      : [
          ranking("Methods", "Method", methods, total),
          ranking("Statuses", "Status", statuses, total),
          ranking("User agents", "User agent", agents, total, (key) => shownKey(agentWords(key))),
        ];
  return [
    html`<div class="pair">${pair}</div>`,
    ranking("Paths", "Path, without its query", paths, total),
    ranking("Reasons", "Reason", reasons, total, (key) => shownKey(reasonWords(key))),
  ];
}

function shownKey(key: string): Markup {
  return html`${shown(key, pathLengthMax)}`;
}

function ranking(
  title: string,
  column: string,
  { items, distinctMin }: Ranking<Counted>,
  total: number,
  cell: (key: string) => Markup = shownKey,
): Markup {
  const rows = items.map(
    ({ key, count }) =>
      html`<tr>
        <th scope="row" class="path">${cell(key)}</th>
        <td class="number">${inThousands(count)}</td>
        <td class="number">${shareWords(count, total)}</td>
      </tr>`,
  );
  const table = html`<table>
    ${tableHead([column, { number: "Requests" }, { number: "Share" }])}
    <tbody>
      ${rows}
    </tbody>
  </table>`;
  const left = distinctMin - rows.length;
  const more = left > 0 ? html`<p class="quiet">… and ${inThousands(left)} more</p>` : html``;
  return html`<section>
    <h2>${title}</h2>
    ${scrolling(title, table)}${more}
  </section>`;
}

function newest(rows: readonly LogEntry[]): Markup {
  const some = rows.toSorted((a, b) => (a.timestamp < b.timestamp ? 1 : -1)).slice(0, newestMax);
  const lines = some.map(
    (row) =>
      html`<tr role="row">
        <td role="cell" class="time">${shown(row.timestamp, 40)}</td>
        <td role="cell" class="path" data-label="Client">${shown(row.client_ip, 60)}</td>
        <td role="cell" class="path" data-label="Request">
          ${shown(`${row.http_method} ${row.request_path}`, pathLengthMax)}
        </td>
        <td role="cell" class="number" data-label="Status">${row.http_status}</td>
        <td role="cell" class="words" data-label="Reason">${shown(reasonWords(row.block_reason), pathLengthMax)}</td>
        <td role="cell" data-label="Country">${shown(countryWords(row.country ?? ""), 40)}</td>
      </tr>`,
  );
  const table = html`<table class="stack" role="table">
    ${stackHead(["Time", "Client", "Request", { number: "Status" }, "Reason", "Country"])}
    <tbody role="rowgroup">
      ${lines}
    </tbody>
  </table>`;
  return html`<section>
    <h2>Newest requests</h2>
    ${scrolling("Newest requests", table)}
  </section>`;
}
