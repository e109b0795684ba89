// A benchmark has a name for `--only` and returns tables of results. It prints nothing itself, because the same tables go to the
// terminal and to docs/operations/performance.md.

export interface BenchTable {
  readonly columns: readonly string[];
  /** Each row has one cell per column, with units. */
  readonly rows: readonly (readonly string[])[];
}

export type BenchOutcome =
  /** The tables by name. The page has a placeholder `{{BENCH.TABLE}}` for each. */
  | { readonly state: "Measured"; readonly tables: Readonly<Record<string, BenchTable>> }
  /** `problem` names what is missing on this machine, such as Go. */
  | { readonly state: "Skipped"; readonly problem: string };

export interface Bench {
  /** Lower-case letters and hyphens. */
  readonly name: string;
  /** A phrase that describes what is measured. */
  readonly title: string;
  /** @param report prints the progress, one line at a time */
  readonly measure: (report: (line: string) => void) => Promise<BenchOutcome>;
}

/** The median; for an even number of values, the lower of the two middle values. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

export function inSeconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(durationMs < 1000 ? 2 : 1)} s`;
}

export function inMilliseconds(durationMs: number): string {
  return `${durationMs.toFixed(durationMs < 10 ? 1 : 0)} ms`;
}
