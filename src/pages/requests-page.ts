// Renders blocked requests, for the report and for the served page of a WAF: totals, clients with the list that each is
// on, the rule to copy, and the most frequent reasons, countries and paths.
import { type Entry, isOpaque } from "../address/entry.ts";
import { inThousands } from "../model/texts.ts";
import type { ListState, BlockedRequests, Counted, Ranking, RequestSummary } from "./requests.ts";
import { type Markup, html, longText } from "./html.ts";
import { type Cell, type Column, copyButton, dataTable, section, tiles, warnings } from "./parts.ts";

/** @param linkOf the page about a client; undefined for a page without links */
export function requestSections(
  requests: BlockedRequests,
  incomplete: string,
  linkOf?: (client: Entry) => string,
): Markup[] {
  const { summary, clients, notes } = requests;
  const open = clients.filter(({ lists }) => lists.state === "NotListed").length;
  const isUnknown = clients.some(({ lists }) => lists.state === "Unknown");
  const found =
    summary.total === 0
      ? [section("none", "No blocked requests", html`<p>The WAF blocked no requests in this period.</p>`)]
      : [
          clientSection(requests, linkOf),
          ...ruleSection(requests.suggestedRule),
          rankingSection("reasons", summary, { title: "Reason", kind: "words", words: reasonWords }),
          rankingSection("countries", summary, { title: "Country", kind: "words", words: countryWords }),
          rankingSection("paths", summary, { title: "Path", kind: "path" }, ", without their queries"),
        ];
  return [
    ...warnings(incomplete, requests.warnings),
    tiles([
      { name: "Blocked requests", value: summary.total },
      { name: "Clients", value: atLeast(summary.clients) },
      { name: "Top clients not on a list", value: isUnknown ? "unknown" : `${open} of ${clients.length}` },
    ]),
    ...notes.map((note) => html`<p class="quiet">${note}</p>`),
    ...found,
  ];
}

function atLeast({ distinctMin, shortMax }: Ranking): string {
  return shortMax === 0 ? inThousands(distinctMin) : `over ${inThousands(distinctMin)}`;
}

function countColumns(total: number): Column<Counted>[] {
  return [
    { title: "Requests", kind: "number", cell: ({ count }) => count },
    { title: "Share", kind: "number", cell: ({ count }) => shareWords(count, total) },
  ];
}

function clientSection({ clients, summary }: BlockedRequests, linkOf?: (client: Entry) => string): Markup {
  const name = (entry: Entry): Cell => {
    if (isOpaque(entry)) return entry.slice(1);
    return linkOf === undefined ? entry : html`<a href="${linkOf(entry)}">${entry}</a>`;
  };
  const columns: Column<(typeof clients)[number]>[] = [
    { title: "Client", kind: "address", cell: ({ entry }) => name(entry) },
    ...countColumns(summary.total),
    { title: "Lists", kind: "text", cell: ({ lists }) => listCell(lists) },
  ];
  return section("clients", "Top clients", [leftOutNote(summary.clients), dataTable("Top clients", columns, clients)]);
}

function listCell({ state, words }: ListState): Markup {
  const kind = state === "Listed" ? "mark good" : state === "NotListed" ? "mark open" : "quiet";
  return html`<span class="${kind}">${words}</span>`;
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
        <pre id="rule-yaml" tabindex="0" aria-label="${title}, as YAML">${longText(rule.split("\n"))}</pre>
        ${copyButton}`,
    ),
  ];
}

function rankingSection(
  id: "reasons" | "countries" | "paths",
  { total, [id]: ranking }: RequestSummary,
  { words = (text) => text, ...column }: Omit<Column<Counted>, "cell"> & { readonly words?: (key: string) => string },
  about = "",
): Markup {
  const title = `Top ${id}${about}`;
  const cell = ({ key }: Counted): string => words(key);
  const columns = [{ ...column, cell }, ...countColumns(total)];
  return section(id, title, [leftOutNote(ranking), dataTable(title, columns, ranking.items)]);
}

/** What the table does not show, and how exact its numbers are. */
function leftOutNote({ items, shortMax, distinctMin }: Ranking): Markup {
  if (shortMax > 0) {
    return html`<p class="quiet">
      There are more than ${inThousands(distinctMin)} different values, and only the most frequent are counted. Each
      count may be too low by at most ${inThousands(shortMax)}.
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

/** The API uses `NONE` for requests without a reason. */
const reasonWords = (reason: string): string => (reason === "NONE" || reason === "" ? "No reason given" : reason);
const regionNames = new Intl.DisplayNames("en", { type: "region", fallback: "none" });

/** The name of a country by its two-letter code, or the code if it has no name. */
function countryWords(code: string): string {
  if (code === "") return "Unknown";
  const name = /^[A-Z]{2}$/i.test(code) ? regionNames.of(code.toUpperCase()) : undefined;
  return name ?? code;
}
