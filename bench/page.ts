// Renders docs/operations/performance.md: the text of its template with the latest measured tables. It is a pure function, so a
// test can compare the page with both.
import type { BenchTable } from "./bench.ts";

/** The results of one benchmark that `npm run bench -- --write` stores. */
export interface RecordedBench {
  /** The day in UTC. */
  readonly measuredOn: string;
  readonly machine: string;
  /** The average number of processes that were running or waiting for a core during the minute before. */
  readonly loadBefore: number;
  readonly tookSeconds: number;
  readonly tables: Readonly<Record<string, BenchTable>>;
}

/** The results by the name of the benchmark. */
export type Results = Readonly<Record<string, RecordedBench>>;

const placePattern = /^\{\{(?<bench>[a-z-]+)(?:\.(?<table>[a-zA-Z]+))?\}\}$/gm;
/** The placeholder for the table that shows when and where each benchmark was run. */
const runsPlace = "runs";

/** The names of the tables, `BENCH.TABLE`, for which the template has a placeholder. */
export function placesIn(template: string): string[] {
  return [...template.matchAll(placePattern)].flatMap(({ groups }) =>
    groups?.["table"] === undefined ? [] : [`${groups["bench"]}.${groups["table"]}`],
  );
}

export function renderPage(template: string, results: Results): string {
  return template.replaceAll(placePattern, (_, bench: string, table?: string) => {
    if (bench === runsPlace && table === undefined) return markdownTable(runsTable(results));
    const found = table === undefined ? undefined : results[bench]?.tables[table];
    return found === undefined ? `Not measured yet: run \`npm run bench -- --only ${bench}\`.` : markdownTable(found);
  });
}

function runsTable(results: Results): BenchTable {
  return {
    columns: ["Benchmark", "Measured on", "Machine", "Load before", "Duration"],
    rows: Object.entries(results).map(([name, { measuredOn, machine, loadBefore, tookSeconds }]) => [
      `\`${name}\``,
      measuredOn,
      machine,
      loadBefore.toFixed(1),
      `${tookSeconds} s`,
    ]),
  };
}

/** Pads the cells as the formatter does. */
function markdownTable({ columns, rows }: BenchTable): string {
  const widths = columns.map((title, place) =>
    Math.max(3, title.length, ...rows.map((row) => row[place]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, place) => (cells[place] ?? "").padEnd(width)).join(" | ")} |`;
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
