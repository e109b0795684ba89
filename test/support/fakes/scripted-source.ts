// Declared state that a test can change. Its cache can lag behind the declared state, as a watch does.
import type { ConfirmedGathering, ConfirmOptions, Gathered } from "../../../src/model/gathered.ts";
import { nameKey, type ObjectName } from "../../../src/model/resource.ts";
import type { SourcePort } from "../../../src/run/ports.ts";

export class ScriptedSource implements SourcePort {
  readonly #declared = new Map<string, Gathered>();
  /** The result of `gather` while the cache lags. */
  #cache: ReadonlyMap<string, Gathered> | undefined;
  #versions = new Map<string, number>();
  #confirmProblem: string | undefined;
  #onSettle: (() => void) | undefined;
  confirmCount = 0;

  /** Declares the instance with everything that belongs to it, and replaces the previous declaration. */
  declare(gathered: Gathered): void {
    const name = nameKey(gathered.instance.meta);
    this.#declared.set(name, gathered);
    if (this.#cache === undefined) this.#grow(name);
  }

  /** Changes the declaration of the only instance. */
  change(change: (before: Gathered) => Gathered): void {
    for (const gathered of this.#declared.values()) this.declare(change(gathered));
  }

  /** The current declared state, whatever the cache contains. */
  declared(instance: ObjectName): Gathered | undefined {
    return this.#declared.get(nameKey(instance));
  }

  remove(instance: ObjectName): void {
    this.#declared.delete(nameKey(instance));
    if (this.#cache === undefined) this.#grow(nameKey(instance));
  }

  /** From now on, `gather` returns the current state, even if the declared state changes. */
  freezeCache(): void {
    this.#cache = new Map(this.#declared);
  }

  thawCache(): void {
    const names = new Set([...(this.#cache?.keys() ?? []), ...this.#declared.keys()]);
    this.#cache = undefined;
    for (const name of names) this.#grow(name);
  }

  /** Makes confirmations fail for this reason; undefined makes them succeed again. */
  failConfirm(problem: string | undefined): void {
    this.#confirmProblem = problem;
  }

  /** The declared state is being replaced until a caller waits for it to settle: then `during` is called. */
  unsettle(during: () => void): void {
    this.#onSettle = during;
  }

  isSettled(): boolean {
    return this.#onSettle === undefined;
  }

  async gather(instance: ObjectName): Promise<Gathered | undefined> {
    await Promise.resolve();
    return (this.#cache ?? this.#declared).get(nameKey(instance));
  }

  async confirm(instance: ObjectName, { beforeRemovals = false }: ConfirmOptions): Promise<ConfirmedGathering> {
    await Promise.resolve();
    this.confirmCount += 1;
    if (this.#confirmProblem !== undefined) return { state: "Failed", problem: this.#confirmProblem };
    const gathered = this.#declared.get(nameKey(instance));
    const during = this.#onSettle;
    if (during === undefined) return { state: "Read", gathered };
    if (!beforeRemovals) return { state: "Read", gathered, isUnsettled: true };
    const version = this.version(instance);
    this.#onSettle = undefined;
    during();
    const now = this.#declared.get(nameKey(instance));
    return { state: "Read", gathered: now, ...(version === this.version(instance) ? {} : { isUnsettled: true }) };
  }

  version(instance: ObjectName): number {
    return this.#versions.get(nameKey(instance)) ?? 0;
  }

  #grow(name: string): void {
    this.#versions.set(name, (this.#versions.get(name) ?? 0) + 1);
  }
}
