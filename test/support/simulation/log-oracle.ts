// Judges forwarded log rows as documented: each row is forwarded exactly once, unless a process was killed
// between the output and the record, or the output's response was lost; and no record claims more rows than were forwarded.

/** The knowledge of a process since it loaded the record. */
interface Reader {
  readonly recorded: ReadonlySet<string>;
  readonly own: Set<string>;
}

/** The rows that were forwarded for all objects with the same name. */
export interface Output {
  count: number;
  readonly rows: Set<string>;
}

/** The data of one object: another instance with the same name has its own record. */
export class LogOracle {
  readonly #readers = new Map<number, Reader>();
  /** The content of a stored record. */
  #recorded: ReadonlySet<string> = new Set();
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  /** A process has loaded the record. */
  loaded(process: number): void {
    this.#readers.set(process, { recorded: this.#recorded, own: new Set() });
  }

  /** @returns the fault in the rows that a process has just forwarded, if any */
  forwarded(process: number, rows: readonly string[], isResponseLost: boolean): string | undefined {
    // The record of an earlier object with the same name may still be in memory.
    const reader: Reader = this.#readers.get(process) ?? { recorded: new Set(), own: new Set() };
    this.#readers.set(process, reader);
    this.#output.count += rows.length;
    for (const row of rows) this.#output.rows.add(row);
    const again = rows.find((row) => reader.recorded.has(row) || reader.own.has(row));
    if (again !== undefined) return `The log row ${again} was forwarded again`;
    if (!isResponseLost) for (const row of rows) reader.own.add(row);
    return undefined;
  }

  /** @param count the number of forwarded rows according to the stored record */
  saved(process: number, count: number): string | undefined {
    const reader = this.#readers.get(process);
    if (reader !== undefined) this.#recorded = new Set([...reader.recorded, ...reader.own]);
    const { count: out } = this.#output;
    return count <= out ? undefined : `The record says that ${count} log rows were forwarded, and ${out} were`;
  }
}
