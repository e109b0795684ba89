// The sections of a report about clients and networks: tables, details of each client, and a rule to copy.
import { isOpaque } from "../../model/entry.ts";
import type { Entry } from "../../model/entry.ts";
import { counted, inThousands } from "../../model/sentence.ts";
import type { ClientDetail, DetailCounts, DetailKind } from "./client-details.ts";
import { countCell } from "./data-table.ts";
import type { Cell, Column } from "./data-table.ts";
import { html, visibleText } from "./html.ts";
import type { Markup } from "./html.ts";
import { agentWords, countryWords, reasonWords, shareWords, timeWords } from "./request-words.ts";
import { previousCells, previousColumns } from "./previous-column.ts";
import { listCell, listWords } from "./list-mark.ts";
import type { AssessedClient, ReportData } from "./report-data.ts";
import { ruleToCopy } from "./rule-to-copy.ts";
import { tableSection } from "./table-section.ts";

const addressLengthMax = 60;
const textLengthMax = 160;

const detailTitles: Readonly<Record<DetailKind, string>> = {
  reasons: "Reasons",
  paths: "Paths",
  agents: "User agents",
  methods: "Methods",
  statuses: "Statuses",
};
const detailOrder = ["reasons", "paths", "agents", "methods", "statuses"] as const;

export function clientSections(data: ReportData): Markup[] {
  const { clients, summary, before } = data;
  const columns: Column[] = [
    { title: "Client", kind: "address" },
    { title: "Requests", kind: "number", order: "descending" },
    { title: "Share", kind: "number" },
    ...previousColumns(before),
    { title: "Country", kind: "text" },
    { title: "First seen", kind: "time" },
    { title: "Last seen", kind: "time" },
    { title: "Lists", kind: "text" },
  ];
  const rows = clients.map((client, place): Cell[] => [
    nameCell(client, place),
    countCell(client.count),
    { shown: shareWords(client.count, summary.total), value: client.count },
    ...previousCells(before, "clients", client.entry),
    { shown: visibleText(countryWords(client.country ?? ""), 40) },
    timeCell(client.firstMs),
    timeCell(client.lastMs),
    listCell(client.entry, client.lists),
  ]);
  const details = clients.flatMap((client, place) =>
    client.detail === undefined ? [] : [clientDetails(client, client.detail, place)],
  );
  return [
    tableSection({ id: "clients", title: "Top clients", ranking: summary.clients, columns, rows }),
    ...(details.length === 0
      ? []
      : [
          html`<section id="details">
            <h2>What each client did</h2>
            ${details}
          </section>`,
        ]),
  ];
}

export function networkSection({ networks, summary, before }: ReportData): Markup {
  const columns: Column[] = [
    { title: "Network", kind: "address" },
    { title: "Requests", kind: "number", order: "descending" },
    { title: "Share", kind: "number" },
    ...previousColumns(before),
    { title: "Clients", kind: "number" },
    { title: "First seen", kind: "time" },
    { title: "Last seen", kind: "time" },
    { title: "Lists", kind: "text" },
  ];
  const rows = networks.map(({ entry, count, clients, firstMs, lastMs, lists }): Cell[] => [
    { shown: entry },
    countCell(count),
    { shown: shareWords(count, summary.total), value: count },
    ...previousCells(before, "networks", entry),
    countCell(clients),
    timeCell(firstMs),
    timeCell(lastMs),
    lists.state === "NoAddress" ? { shown: "not as a whole" } : listCell(entry, lists),
  ]);
  return tableSection({ id: "networks", title: "Top networks", ranking: summary.networks, columns, rows });
}

export function ruleSection(rule: string | undefined): Markup {
  if (rule === undefined) return html``;
  const advice = "Review the addresses. Then save the rule in your folder, or pass it to kubectl apply -f.";
  return ruleToCopy({ id: "rule", title: "Block the top clients that are not on a list", advice, rule });
}

export function timeCell(timeMs: number | undefined): Cell {
  return timeMs === undefined ? { shown: "–", value: 0 } : { shown: timeWords(timeMs), value: timeMs };
}

function clientName(entry: Entry): string {
  return visibleText(isOpaque(entry) ? entry.slice(1) : entry, addressLengthMax);
}

function nameCell({ entry, detail }: AssessedClient, place: number): Cell {
  const name = clientName(entry);
  if (detail === undefined) return { shown: name };
  return { shown: html`<a href="#client-${place + 1}">${name}</a>`, value: name };
}

function clientDetails(client: AssessedClient, detail: ClientDetail, place: number): Markup {
  const { entry, count, lists, firstMs, lastMs } = client;
  const times = firstMs === undefined || lastMs === undefined ? "" : `, ${timeWords(firstMs)} to ${timeWords(lastMs)}`;
  const partial = detail.rows < count ? ` The details cover ${inThousands(detail.rows)} of them.` : "";
  return html`<details class="client" id="client-${place + 1}">
    <summary>${clientName(entry)}: ${counted(count, "request", "requests")}</summary>
    <p class="quiet">${counted(count, "request", "requests")}${times}. Lists: ${listWords(entry, lists)}.${partial}</p>
    <dl>
      ${detailOrder.map(
        (kind) =>
          html`<dt>${detailTitles[kind]}</dt>
            <dd>${countWords(kind, detail[kind])}</dd>`,
      )}
    </dl>
  </details>`;
}

function countWords(kind: DetailKind, { items, shortMax, distinctMin }: DetailCounts): Markup {
  const words = (key: string): string => {
    if (kind === "agents") return agentWords(key);
    return kind === "reasons" ? reasonWords(key) : key;
  };
  const least = shortMax === 0 ? "" : "at least ";
  const more = distinctMin - items.length;
  const entries = items.map(
    ({ key, count }) =>
      html`<li>
        ${visibleText(words(key), textLengthMax)} <span class="quiet">(${least}${inThousands(count)})</span>
      </li>`,
  );
  const rest =
    more > 0 ? [html`<li class="quiet">${shortMax === 0 ? "" : "at least "}${inThousands(more)} more</li>`] : [];
  return html`<ul>
    ${[...entries, ...rest]}
  </ul>`;
}
