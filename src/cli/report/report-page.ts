// The report as one page of HTML that needs nothing else: no network, no further file.
import { inThousands } from "../../model/sentence.ts";
import { isOpaque } from "../../model/entry.ts";
import type { AssessedClient } from "./report-clients.ts";
import type { Counted, LogReportSummary, Ranking } from "./report-statistics.ts";
import { dayMs, formatDay } from "../../reconcile/logs/log-days.ts";
import { html, trusted, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import type { RankChart } from "./report-charts.ts";
import { categoryChart, countryChart, timeChart } from "./report-charts.ts";
import { countryWords, reasonWords, shareWords, timeWords } from "./report-data.ts";
import type { ReportData } from "./report-data.ts";
import { reportMark } from "./report-mark.ts";
import { contentPolicy, scriptElement } from "./report-script.ts";
import { styleElement } from "./report-style.ts";

const shownLengthMax = 160;

export function reportPage(data: ReportData): string {
  const { summary, domain, madeAtMs, version } = data;
  const title = `Blocked requests${domain === undefined ? "" : ` of ${visibleText(domain, shownLengthMax)}`}`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta http-equiv="Content-Security-Policy" content="${contentPolicy}" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="referrer" content="no-referrer" />
        ${trusted(reportMark)}
        <title>${title}</title>
        ${trusted(styleElement)}
      </head>
      <body>
        <main>
          <header>
            <h1>${title}</h1>
            <p class="quiet">${data.period}, days and times in UTC</p>
          </header>
          ${warningsOf(data.warnings)} ${tilesOf(data)} ${summary.total === 0 ? emptySection() : chartSections(summary)}
          ${summary.total === 0 ? [] : [clientSection(data), ruleSection(data.suggestedRule), reasonSection(summary), pathSection(summary)]}
          <p class="quiet">
            Made by wafsync ${version} at ${timeWords(madeAtMs)} UTC. The lists are those of this time.
          </p>
        </main>
        ${trusted(scriptElement)}
      </body>
    </html> `;
  return page.text;
}

function warningsOf(warnings: readonly string[]): Markup[] {
  if (warnings.length === 0) return [];
  const items = warnings.map((text) => html`<li>${visibleText(text, 4 * shownLengthMax)}</li>`);
  return [
    html`<section class="warnings">
      <h2>Not the whole picture</h2>
      <ul>
        ${items}
      </ul>
    </section>`,
  ];
}

function tilesOf({ summary, clients }: ReportData): Markup {
  const { total, overTime, barMs, days } = summary;
  const highest = overTime.reduce((best, count, bar) => (count > (overTime[best] ?? 0) ? bar : best), 0);
  const busiestMs = days.firstDay * dayMs + highest * barMs;
  const [span, busiest] =
    barMs === dayMs
      ? ["day", formatDay(busiestMs / dayMs)]
      : [hoursWords(barMs / 3_600_000), timeWords(busiestMs).slice(5)];
  const open = clients.filter(({ blocklist }) => blocklist.state === "NotListed").length;
  const isUnknown = clients.some(({ blocklist }) => blocklist.state === "Unknown");
  const tiles: readonly (readonly [string, string])[] = [
    ["Blocked requests", inThousands(total)],
    ["Clients", atLeast(summary.clients)],
    ["Countries", inThousands(summary.countries.items.filter(({ key }) => key !== "").length)],
    [`Busiest ${span}`, total === 0 ? "–" : busiest],
    ["Top clients not on the blocklist", isUnknown ? "unknown" : `${open} of ${clients.length}`],
  ];
  return html`<dl class="tiles">
    ${tiles.map(
      ([name, value]) =>
        html`<div class="tile">
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

function hoursWords(hours: number): string {
  return hours === 1 ? "hour" : `${hours} hours`;
}

function atLeast({ distinctMin, shortMax }: Ranking<unknown>): string {
  return shortMax === 0 ? inThousands(distinctMin) : `over ${inThousands(distinctMin)}`;
}

function emptySection(): Markup {
  return html`<section>
    <h2>Nothing</h2>
    <p>The WAF has no blocked requests of these days.</p>
  </section>`;
}

function chartSections(summary: LogReportSummary): Markup {
  const { svg, legend } = timeChart(summary);
  const colours = legend.map(
    ({ name, color }) => html`<li><i style="background: ${color}"></i>${visibleText(name, shownLengthMax)}</li>`,
  );
  return html`<section>
      <h2>Over time</h2>
      ${figure("Blocked requests over time, by reason", svg, "wide")}
      <ul class="legend">
        ${colours}
      </ul>
    </section>
    <div class="pair">
      <section>
        <h2>By reason</h2>
        ${rankFigure("Blocked requests by reason", categoryChart(summary))}
      </section>
      <section>
        <h2>By country</h2>
        ${rankFigure("Blocked requests by country", countryChart(summary))}
      </section>
    </div>`;
}

function figure(label: string, svg: string, kind = ""): Markup {
  return html`<figure role="img" aria-label="${label}" class="${kind}">${trusted(svg)}</figure>`;
}

function rankFigure(label: string, { svg, left }: RankChart): Markup {
  const note = `${inThousands(left.rows)} more, with ${inThousands(left.count)} requests in all.`;
  return html`${figure(label, svg)}${left.rows === 0 ? [] : [html`<p class="quiet">${note}</p>`]}`;
}

function clientSection({ clients, summary }: ReportData): Markup {
  const rows = clients.map(
    (client) =>
      html`<tr>
        <td class="address">${visibleText(isOpaque(client.entry) ? client.entry.slice(1) : client.entry, 60)}</td>
        <td class="number">${inThousands(client.count)}</td>
        <td class="number">${shareWords(client.count, summary.total)}</td>
        <td>${visibleText(countryWords(client.country ?? ""), 40)}</td>
        <td class="time">${client.lastMs === undefined ? "–" : timeWords(client.lastMs)}</td>
        <td>${listMark(client)}</td>
      </tr>`,
  );
  const heads = html`<th>Client</th>
    <th class="number">Requests</th>
    <th class="number">Share</th>
    <th>Country</th>
    <th>Last seen</th>
    <th>Blocklist</th>`;
  return tableSection("clients", "Top clients", summary.clients, heads, rows);
}

function listMark({ entry, blocklist }: AssessedClient): Markup {
  switch (blocklist.state) {
    case "Listed":
      return html`<span class="mark listed">${blocklist.by === entry ? "listed" : `listed by ${blocklist.by}`}</span>`;
    case "Allowed":
      return html`<span class="quiet">${blocklist.by === entry ? "allowed" : `allowed by ${blocklist.by}`}</span>`;
    case "NotListed":
      return html`<span class="mark open">not listed</span>`;
    case "NoAddress":
      return html`<span class="quiet">not an address</span>`;
    case "Unknown":
      return html`<span class="quiet">unknown</span>`;
  }
}

function ruleSection(rule: string | undefined): Markup {
  if (rule === undefined) return html``;
  return html`<section id="rule">
    <div class="head">
      <div>
        <h2>Block those that are not listed</h2>
        <p class="quiet">
          Look at the addresses, then put this into a file for wafsync, or give it to kubectl apply -f.
        </p>
      </div>
      <button type="button" data-copies="rule-yaml" hidden>Copy</button>
    </div>
    <pre id="rule-yaml">${rule}</pre>
  </section>`;
}

function reasonSection(summary: LogReportSummary): Markup {
  return rankingSection("reasons", "Top reasons", "Reason", summary.reasons, summary.total, reasonWords);
}

function pathSection(summary: LogReportSummary): Markup {
  return rankingSection("paths", "Top paths", "Path, without its query", summary.paths, summary.total, (path) => path);
}

function rankingSection(
  id: string,
  title: string,
  column: string,
  ranking: Ranking<Counted>,
  total: number,
  words: (key: string) => string,
): Markup {
  const rows = ranking.items.map(
    ({ key, count }) =>
      html`<tr>
        <td class="${id === "paths" ? "path" : "words"}">${visibleText(words(key), shownLengthMax)}</td>
        <td class="number">${inThousands(count)}</td>
        <td class="number">${shareWords(count, total)}</td>
      </tr>`,
  );
  const heads = html`<th>${column}</th>
    <th class="number">Requests</th>
    <th class="number">Share</th>`;
  return tableSection(id, title, ranking, heads, rows);
}

function tableSection(
  id: string,
  title: string,
  ranking: Ranking<unknown>,
  heads: Markup,
  rows: readonly Markup[],
): Markup {
  return html`<section id="${id}">
    <h2>${title}</h2>
    ${shortNote(ranking)}
    <div class="scroll">
      <table>
        <thead>
          <tr>
            ${heads}
          </tr>
        </thead>
        <tbody>
          ${rows}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Where there were too many different texts to count them all. */
function shortNote({ shortMax, distinctMin }: Ranking<unknown>): Markup {
  if (shortMax === 0) return html``;
  return html`<p class="quiet">
    There were over ${inThousands(distinctMin)} different ones; each number may be too small by at most
    ${inThousands(shortMax)}.
  </p>`;
}
