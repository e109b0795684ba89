// docs/operations/performance.md: the prose of its template, with the tables of the last measured runs. Pure, so that a test can
// compare the page with both.
import type { BenchTable } from "./bench.ts";

/** What `npm run bench -- --write` keeps of one bench. */
export interface RecordedBench {
  /** The day in UTC. */
  readonly measuredOn: string;
  readonly machine: string;
  /** Processes that were running or waiting for a core, on average over the minute before. */
  readonly loadBefore: number;
  readonly tookSeconds: number;
  readonly tables: Readonly<Record<string, BenchTable>>;
}

/** By the name of the bench. */
export type Results = Readonly<Record<string, RecordedBench>>;

const placePattern = /^\{\{(?<bench>[a-z-]+)(?:\.(?<table>[a-zA-Z]+))?\}\}$/gm;
/** The place of the table that says when and where each bench was measured. */
const runsPlace = "runs";

/** Names of tables, `BENCH.TABLE`, that the template has a place for. */
export function placesIn(template: string): string[] {
  return [...template.matchAll(placePattern)].flatMap(({ groups }) =>
    groups?.["table"] === undefined ? [] : [`${groups["bench"]}.${groups["table"]}`],
  );
}

export function renderPage(template: string, results: Results): string {
  return template.replaceAll(placePattern, (_, bench: string, table?: string) => {
    if (bench === runsPlace && table === undefined) return markdownTable(runsTable(results));
    const found = table === undefined ? undefined : results[bench]?.tables[table];
    return found === undefined
      ? `Not measured yet: \`npm run bench -- --only ${bench}\` measures it.`
      : markdownTable(found);
  });
}

function runsTable(results: Results): BenchTable {
  return {
    columns: ["Bench", "Measured on", "Machine", "Load before", "Took"],
    rows: Object.entries(results).map(([name, { measuredOn, machine, loadBefore, tookSeconds }]) => [
      `\`${name}\``,
      measuredOn,
      machine,
      loadBefore.toFixed(1),
      `${tookSeconds} s`,
    ]),
  };
}

/** Padded as the formatter pads it. */
function markdownTable({ columns, rows }: BenchTable): string {
  const widths = columns.map((title, place) =>
    Math.max(3, title.length, ...rows.map((row) => row[place]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, place) => (cells[place] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
