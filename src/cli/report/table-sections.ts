// The tables of a report: clients and networks with the list that each is on, and rankings of reasons, paths, user agents, methods
// and statuses; and the rule to copy.
import { isOpaque } from "../../model/entry.ts";
import type { Entry } from "../../model/entry.ts";
import { inThousands } from "../../model/sentence.ts";
import { html } from "./html.ts";
import type { Markup } from "./html.ts";
import type { ListState } from "./report-clients.ts";
import type { ReportData } from "./report-data.ts";
import type { LogReportSummary } from "./report-statistics.ts";
import { agentWords, countryWords, reasonWords, shareWords, timeWords } from "./request-words.ts";
import { tableSection } from "./tables.ts";
import type { Cell, Column } from "./tables.ts";

const columnsOf = (first: string, third: Column): readonly Column[] => [
  { title: first, kind: "address" },
  { title: "Requests", kind: "number" },
  { title: "Share", kind: "number" },
  third,
  { title: "First seen", kind: "time" },
  { title: "Last seen", kind: "time" },
  { title: "Lists", kind: "text" },
];

export function clientSection({ clients, summary }: ReportData): Markup {
  const columns = columnsOf("Client", { title: "Country", kind: "text" });
  const rows = clients.map(({ entry, count, country, firstMs, lastMs, lists }): Cell[] => [
    isOpaque(entry) ? entry.slice(1) : entry,
    inThousands(count),
    shareWords(count, summary.total),
    countryWords(country ?? ""),
    seenWords(firstMs),
    seenWords(lastMs),
    listCell(entry, lists),
  ]);
  return tableSection({ id: "clients", title: "Top clients", ranking: summary.clients, columns, rows });
}

export function networkSection({ networks, summary }: ReportData): Markup {
  const columns = columnsOf("Network", { title: "Clients", kind: "number" });
  const rows = networks.map(({ entry, count, clients, firstMs, lastMs, lists }): Cell[] => [
    entry,
    inThousands(count),
    shareWords(count, summary.total),
    inThousands(clients),
    seenWords(firstMs),
    seenWords(lastMs),
    lists.state === "NoAddress" ? "not as a whole" : listCell(entry, lists),
  ]);
  return tableSection({ id: "networks", title: "Top networks", ranking: summary.networks, columns, rows });
}

function seenWords(timeMs: number | undefined): string {
  return timeMs === undefined ? "–" : timeWords(timeMs);
}

function listCell(entry: Entry, lists: ListState): Markup {
  const kinds: Partial<Record<ListState["state"], string>> = { Listed: "mark listed", NotListed: "mark open" };
  return html`<span class="${kinds[lists.state] ?? "quiet"}">${listWords(entry, lists)}</span>`;
}

function listWords(entry: Entry, lists: ListState): string {
  switch (lists.state) {
    case "Listed": {
      const allowed = lists.allowedBy === undefined ? "" : `, allowed${byWords(entry, lists.allowedBy)}`;
      return `blocked${byWords(entry, lists.by)}${allowed}`;
    }
    case "Allowed":
      return `allowed${byWords(entry, lists.by)}`;
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

function byWords(entry: Entry, by: Entry): string {
  return by === entry ? "" : ` by ${by}`;
}

/** A rule as YAML, and a button that copies it. */
export function ruleSection(rule: string | undefined): Markup {
  if (rule === undefined) return html``;
  const title = "Block the top clients that are not on a list";
  return html`<section id="rule">
    <div class="head">
      <div>
        <h2>${title}</h2>
        <p class="quiet">Review the addresses. Then save the rule in your folder, or pass it to kubectl apply -f.</p>
      </div>
      <button type="button" data-copies="rule-yaml" hidden>Copy</button>
    </div>
    <pre id="rule-yaml" tabindex="0" aria-label="${title}, as YAML">${rule}</pre>
  </section>`;
}

type RankedKind = "reasons" | "paths" | "agents" | "methods" | "statuses";

interface Table {
  readonly title: string;
  readonly column: string;
  readonly words: (key: string) => string;
}

const asIs = (key: string): string => key;
const tables: Readonly<Record<RankedKind, Table>> = {
  reasons: { title: "Top reasons", column: "Reason", words: reasonWords },
  paths: { title: "Top paths", column: "Path, without its query", words: asIs },
  agents: { title: "Top user agents", column: "User agent", words: agentWords },
  methods: { title: "Methods", column: "Method", words: asIs },
  statuses: { title: "Statuses", column: "Status", words: asIs },
};

export function rankingSections({ summary }: ReportData): Markup[] {
  return [
    rankingSection(summary, "reasons"),
    rankingSection(summary, "paths"),
    rankingSection(summary, "agents"),
    html`<div class="pair">${rankingSection(summary, "methods")} ${rankingSection(summary, "statuses")}</div>`,
  ];
}

function rankingSection(summary: LogReportSummary, kind: RankedKind): Markup {
  const { title, column, words } = tables[kind];
  const columns: Column[] = [
    { title: column, kind: kind === "paths" ? "path" : "words" },
    { title: "Requests", kind: "number" },
    { title: "Share", kind: "number" },
  ];
  const rows = summary[kind].items.map(({ key, count }): Cell[] => [
    words(key),
    inThousands(count),
    shareWords(count, summary.total),
  ]);
  return tableSection({ id: kind, title, ranking: summary[kind], columns, rows });
}
