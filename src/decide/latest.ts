// What was computed last for each key, so that only what has changed is computed again.
interface Known<Result> {
  readonly inputs: readonly unknown[];
  readonly result: Result;
}

export class Latest<Result> {
  #former: ReadonlyMap<string, Known<Result>> = new Map();
  #known = new Map<string, Known<Result>>();

  /** Starts a round: what is not asked for in it is forgotten. */
  begin(): void {
    this.#former = this.#known;
    this.#known = new Map();
  }

  /** @param inputs everything that the result depends on; lists are compared by their elements, and all else by identity */
  of(key: string, inputs: readonly unknown[], compute: () => Result): Result {
    return this.find(key, inputs) ?? this.keep(key, inputs, compute());
  }

  /** Undefined if nothing is known of these inputs. */
  find(key: string, inputs: readonly unknown[]): Result | undefined {
    const known = this.#known.get(key) ?? this.#former.get(key);
    if (known === undefined || !isSame(known.inputs, inputs)) return undefined;
    this.#known.set(key, known);
    return known.result;
  }

  keep(key: string, inputs: readonly unknown[], result: Result): Result {
    this.#known.set(key, { inputs, result });
    return result;
  }
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b || !Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((one, index) => isSame(one, b[index]));
}
