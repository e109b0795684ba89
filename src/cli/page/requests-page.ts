// The page about the newest blocked requests of one WAF: over time, by reason, country, network and client. It can also show the
// requests of one client or network.
import type { Summary } from "../../api/summary.ts";
import { type LogEntry, logTimeMs } from "../../model/log-entry.ts";
import { counted, inThousands } from "../../model/sentence.ts";
import { dayMs } from "../../model/time-text.ts";
import { dayOf, formatDay } from "../../reconcile/logs/log-days.ts";
import type { LogFilter } from "../logs/log-filter.ts";
import type { Markup } from "../report/html.ts";
import { html } from "../report/html.ts";
import { rankChart, timeChart } from "../report/charts.ts";
import { countryWords, reasonWords, shareWords, timeWords } from "../report/request-words.ts";
import { LogReport } from "../report/report-statistics.ts";
import type { LogReportSummary } from "../report/report-statistics.ts";
import { countryRows, reasonRows, timeBarsOf } from "../report/chart-sections.ts";
import type { BlockedRequests } from "./blocked-requests.ts";
import { networkOfClient } from "./blocked-requests.ts";
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
        : [...numbers(chosen, client), ...charts(summary), ...tables(chosen, path, client), newest(chosen)]),
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
function tables(rows: readonly LogEntry[], path: string, client: string): Markup[] {
  const total = rows.length;
  const linked = (name: string): Markup =>
    html`<a href="${path}?client=${encodeURIComponent(name)}">${shown(name, 60)}</a>`;
  const text = (name: string): Markup => html`${shown(name, pathLengthMax)}`;
  const of = (key: (row: LogEntry) => string | undefined): readonly Counted[] => countedBy(rows, key);
  const withoutQuery = ({ request_path: found }: LogEntry): string => found.split("?", 1)[0] ?? "";
  const isLink = (name: string): Markup => (networkOfClient(name) === undefined ? text(name) : linked(name));
  const all: Markup[] = [
    ranking(
      "Clients",
      "Client",
      of(({ client_ip: ip }) => ip),
      total,
      isLink,
    ),
    ranking(
      "Networks",
      "Network (/24 or /64)",
      of(({ client_ip: ip }) => networkOfClient(ip)),
      total,
      linked,
    ),
  ];
  const one: Markup[] = [
    ranking(
      "Methods and statuses",
      "Method and status",
      of((row) => `${row.http_method} ${row.http_status}`),
      total,
      text,
    ),
    ranking(
      "User agents",
      "User agent",
      of(({ user_agent: agent }) => agent ?? "(none)"),
      total,
      text,
    ),
  ];
  return [
    html`<div class="pair">${client === "" || client.includes("/") ? all : one}</div>`,
    ranking("Paths", "Path, without its query", of(withoutQuery), total, text),
    ranking(
      "Reasons",
      "Reason",
      of(({ block_reason: reason }) => reasonWords(reason)),
      total,
      text,
    ),
  ];
}

interface Counted {
  readonly key: string;
  readonly count: number;
}

function countedBy(rows: readonly LogEntry[], keyOf: (row: LogEntry) => string | undefined): readonly Counted[] {
  const counts = new Map<string, number>();
  for (const row of rows) {
    const key = keyOf(row);
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts]
    .map(([key, count]) => ({ key, count }))
    .sort((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

function ranking(
  title: string,
  column: string,
  items: readonly Counted[],
  total: number,
  cell: (key: string) => Markup,
): Markup {
  const rows = items.slice(0, topMax).map(
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
  const left = items.length - rows.length;
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
