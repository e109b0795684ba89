// What a person who reads the documentation would say of forwarded log rows: each row goes out, and once, unless a process died
// between the output and the record, or the response of the output was lost; and no record claims more than went out.

/** What one process knows since it loaded the record. */
interface Reader {
  readonly recorded: ReadonlySet<string>;
  readonly own: Set<string>;
}

/** What went out for all objects of one name. */
export interface Output {
  count: number;
  readonly rows: Set<string>;
}

/** The books of one object: another instance of the same name has a record of its own. */
export class LogOracle {
  readonly #readers = new Map<number, Reader>();
  /** What a stored record knows. */
  #recorded: ReadonlySet<string> = new Set();
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  /** A process has loaded the record. */
  loaded(process: number): void {
    this.#readers.set(process, { recorded: this.#recorded, own: new Set() });
  }

  /** @returns what is wrong with rows that a process has just put out, if anything. */
  forwarded(process: number, rows: readonly string[], isResponseLost: boolean): string | undefined {
    // The record of a former object with the same name may still be in memory.
    const reader: Reader = this.#readers.get(process) ?? { recorded: new Set(), own: new Set() };
    this.#readers.set(process, reader);
    this.#output.count += rows.length;
    for (const row of rows) this.#output.rows.add(row);
    const again = rows.find((row) => reader.recorded.has(row) || reader.own.has(row));
    if (again !== undefined) return `The log row ${again} was forwarded again`;
    if (!isResponseLost) for (const row of rows) reader.own.add(row);
    return undefined;
  }

  /** @param count how many rows went out by the record that is stored now */
  saved(process: number, count: number): string | undefined {
    const reader = this.#readers.get(process);
    if (reader !== undefined) this.#recorded = new Set([...reader.recorded, ...reader.own]);
    const { count: out } = this.#output;
    return count <= out ? undefined : `The record says that ${count} log rows were forwarded, and ${out} were`;
  }
}
