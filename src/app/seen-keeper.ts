// Carries what the lists showed from one command over a folder to the next, so that a command detects entries that another writer removed
// between two runs. The record is deleted before the first write, so that a killed process leaves nothing that could be mistaken for
// drift. Nothing else depends on it: without a valid record, no drift is detected.
import * as z from "zod";
import type { Entry } from "../address/entry.ts";
import { listNames } from "../model/declared.ts";
import type { SeenLists } from "../model/observed.ts";
import { parseJson } from "../model/record.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import type { RecordKey, RecordStore } from "../records/record-store.ts";
import { InstanceMemory } from "../run/report.ts";

/** Checks only the form of entries. Those that are not declared as well are ignored. */
const entries = z.array(z.string().regex(/^[\d.:a-f]+(?:\/\d+)?$/u)).transform((texts) => new Set(texts as Entry[]));
const format = z.strictObject({ domain: z.string(), blocklist: entries, allowlist: entries });

export class SeenKeeper {
  readonly #store: RecordStore;
  readonly #onProblem: (problem: string) => void;
  readonly #memories = new Map<string, { readonly instance: ObjectName; readonly memory: InstanceMemory }>();

  /** @param onProblem called if the records can't be written: then only drift is not detected */
  constructor(store: RecordStore, onProblem: (problem: string) => void) {
    this.#store = store;
    this.#onProblem = onProblem;
  }

  /** Called before the first run of the instances. */
  async take(instances: readonly ObjectName[]): Promise<void> {
    for (const instance of instances) {
      const stored = await this.#store.load(keyOf(instance));
      const lists = stored.state === "Loaded" ? parse(stored.text) : undefined;
      if (lists !== undefined) this.#remember(instance, lists);
      const problem = stored.state === "Absent" ? undefined : await this.#store.remove(keyOf(instance));
      if (problem !== undefined) this.#onProblem(problem);
    }
  }

  /** The initial memory for the first run of the instance. */
  memoryOf(instance: ObjectName): InstanceMemory {
    return this.#remember(instance, this.#memories.get(nameKey(instance))?.memory.lastSeen);
  }

  /** Called after the last run. */
  async putBack(): Promise<void> {
    for (const { instance, memory } of this.#memories.values()) {
      if (memory.lastSeen === undefined) continue;
      const stored = await this.#store.load(keyOf(instance));
      const text = textOf(memory.lastSeen);
      const saved = "revision" in stored ? await this.#store.save(keyOf(instance), text, stored.revision) : stored;
      if ("problem" in saved) this.#onProblem(saved.problem);
    }
  }

  #remember(instance: ObjectName, lists: SeenLists | undefined): InstanceMemory {
    const memory = new InstanceMemory();
    memory.lastSeen = lists;
    this.#memories.set(nameKey(instance), { instance, memory });
    return memory;
  }
}

/** Undefined if nothing usable is stored. */
function parse(text: string): SeenLists | undefined {
  const parsed = format.safeParse(parseJson(text));
  if (!parsed.success) return undefined;
  const { domain, ...lists } = parsed.data;
  return { domain, lists };
}

function textOf({ domain, lists }: SeenLists): string {
  const [blocklist, allowlist] = listNames.map((list) => [...lists[list].keys()].toSorted());
  return `${JSON.stringify({ domain, blocklist, allowlist }, undefined, 1)}\n`;
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "Seen", namespace, name };
}
