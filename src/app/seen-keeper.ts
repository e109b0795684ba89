// Carries the observed lists from one process to the next, so that a command detects entries that another writer removed between
// two runs. They are deleted from the store before the first write, so that a killed process leaves nothing that could be
// mistaken for drift.
import type { Entry } from "../address/entry.ts";
import { listNames } from "../model/declared.ts";
import type { ListName } from "../model/declared.ts";
import type { SeenLists } from "../model/observed.ts";
import type { ObjectName } from "../model/resource.ts";
import { nameKey } from "../model/resource.ts";
import type { ReconcileOutcome } from "../reconcile/converge/finish.ts";
import type { InstanceMemory } from "../reconcile/converge/instance-memory.ts";
import { newInstanceMemory } from "../reconcile/converge/instance-memory.ts";
import type { RunFacts } from "../reconcile/facts.ts";
import type { SeenRecords } from "../records/seen-records.ts";

export class SeenKeeper {
  readonly #records: SeenRecords;
  readonly #onProblem: (problem: string) => void;
  readonly #seen = new Map<string, { readonly instance: ObjectName; readonly lists: SeenLists }>();

  /** @param onProblem called if the records can't be written: then only drift is not detected */
  constructor(records: SeenRecords, onProblem: (problem: string) => void) {
    this.#records = records;
    this.#onProblem = onProblem;
  }

  /** Called before the first run of the instances. */
  async take(instances: readonly ObjectName[]): Promise<void> {
    for (const instance of instances) {
      const lists = await this.#records.read(instance);
      if (lists !== undefined) this.#seen.set(nameKey(instance), { instance, lists });
      this.#report(await this.#records.forget(instance));
    }
  }

  /** The initial memory for the first run of the instance. */
  memoryOf(instance: ObjectName): InstanceMemory {
    const memory = newInstanceMemory();
    const seen = this.#seen.get(nameKey(instance))?.lists;
    if (seen !== undefined) memory.lastSeen = { ...seen, removed: memory.removed };
    return memory;
  }

  /** Called after a run. After an unsuccessful run with writes, the state of the lists is unknown. */
  note(instance: ObjectName, { result, facts }: Pick<ReconcileOutcome, "result" | "facts">): void {
    const key = nameKey(instance);
    if (result.kind === "Done" && facts !== undefined) {
      const lists = seenBy(facts);
      if (lists !== undefined) this.#seen.set(key, { instance, lists });
    } else if (facts !== undefined && facts.done.added + facts.done.removed > 0) {
      this.#seen.delete(key);
    }
  }

  /** Called after the last run. */
  async putBack(): Promise<void> {
    for (const { instance, lists } of this.#seen.values()) this.#report(await this.#records.write(instance, lists));
  }

  #report(problem: string | undefined): void {
    if (problem !== undefined) this.#onProblem(problem);
  }
}

/** Only declared entries can be reported as missing. */
function seenBy({ observed, desired }: RunFacts): SeenLists | undefined {
  if (observed === undefined) return undefined;
  const lists: Record<ListName, Set<Entry>> = { blocklist: new Set(), allowlist: new Set() };
  for (const list of listNames) {
    for (const entry of desired.lists[list].keys()) if (observed.lists[list].has(entry)) lists[list].add(entry);
  }
  return { domain: observed.domain, lists };
}
