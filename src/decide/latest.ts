// What was computed last for each key, so that only what has changed is computed again.
interface Known<Result> {
  readonly inputs: readonly unknown[];
  readonly result: Result;
}

export class Latest<Result> {
  readonly #known = new Map<string, Known<Result>>();

  /** @param inputs everything that the result depends on; compared by identity */
  of(key: string, inputs: readonly unknown[], compute: () => Result): Result {
    const known = this.#known.get(key);
    const isSame = known?.inputs.length === inputs.length;
    if (isSame && known.inputs.every((input, index) => input === inputs[index])) return known.result;
    const result = compute();
    this.#known.set(key, { inputs, result });
    return result;
  }

  /** Forgets all other keys. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#known.keys()) if (!keys.has(key)) this.#known.delete(key);
  }
}
