// The tables of a report that rank properties of requests: reasons, paths, user agents, methods and statuses.
import { countCell } from "./data-table.ts";
import type { Cell, Column } from "./data-table.ts";
import { html } from "./html.ts";
import type { Markup } from "./html.ts";
import { agentWords, reasonWords, shareWords } from "./request-words.ts";
import { previousCells, previousColumns } from "./previous-column.ts";
import type { ReportData } from "./report-data.ts";
import { tableSection } from "./table-section.ts";

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

export function rankingSections(data: ReportData): Markup[] {
  return [
    rankingSection(data, "reasons"),
    rankingSection(data, "paths"),
    rankingSection(data, "agents"),
    html`<div class="pair">${rankingSection(data, "methods")} ${rankingSection(data, "statuses")}</div>`,
  ];
}

function rankingSection({ summary, before }: ReportData, kind: RankedKind): Markup {
  const { title, column, words } = tables[kind];
  const columns: Column[] = [
    { title: column, kind: kind === "paths" ? "path" : "words" },
    { title: "Requests", kind: "number", order: "descending" },
    { title: "Share", kind: "number" },
    ...previousColumns(before),
  ];
  const rows = summary[kind].items.map(({ key, count }): Cell[] => [
    { shown: words(key) },
    countCell(count),
    { shown: shareWords(count, summary.total), value: count },
    ...previousCells(before, kind, key),
  ]);
  return tableSection({ id: kind, title, ranking: summary[kind], columns, rows });
}
