// What a bench is: a name for `--only`, and tables of what it measured. A bench prints nothing itself, because the same tables
// go to the terminal and to docs/operations/performance.md.

export interface BenchTable {
  readonly columns: readonly string[];
  /** As many cells as there are columns, with units. */
  readonly rows: readonly (readonly string[])[];
}

export type BenchOutcome =
  /** By the name of the table. The page has a place for each: `{{BENCH.TABLE}}`. */
  | { readonly state: "Measured"; readonly tables: Readonly<Record<string, BenchTable>> }
  /** `problem` says what is missing on this machine, such as Go. */
  | { readonly state: "Skipped"; readonly problem: string };

export interface Bench {
  /** Lower-case letters and hyphens. */
  readonly name: string;
  /** What is measured, as a phrase. */
  readonly title: string;
  /** @param report says how far it is, in one line */
  readonly measure: (report: (line: string) => void) => Promise<BenchOutcome>;
}

/** The middle value; of an even number, the lower one of the two. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

export function inSeconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(durationMs < 1000 ? 2 : 1)} s`;
}

export function inMilliseconds(durationMs: number): string {
  return `${durationMs.toFixed(durationMs < 10 ? 1 : 0)} ms`;
}
