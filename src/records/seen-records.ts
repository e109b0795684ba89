// Which declared entries were on the lists at the end of the last complete run over a folder. The next command compares them with
// the lists, to detect entries that another writer removed. Nothing else depends on it: without a valid record, no drift is detected.
import * as z from "zod";
import { listNames } from "../model/declared.ts";
import type { Entry } from "../address/entry.ts";
import type { SeenLists } from "../model/observed.ts";
import type { ObjectName } from "../model/resource.ts";
import type { RecordKey, RecordStore } from "./record-store.ts";

/** Checks only the form of entries. Those that are not declared as well are ignored. */
const entries = z.array(z.string().regex(/^[\d.:a-f]+(?:\/\d+)?$/u));
const format = z.strictObject({ domain: z.string(), blocklist: entries, allowlist: entries });

export class SeenRecords {
  readonly #store: RecordStore;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** Undefined if nothing usable is stored. */
  async read(instance: ObjectName): Promise<SeenLists | undefined> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state !== "Loaded") return undefined;
    try {
      const { domain, ...lists } = format.parse(JSON.parse(stored.text));
      return { domain, lists: { blocklist: setOf(lists.blocklist), allowlist: setOf(lists.allowlist) } };
    } catch {
      return undefined;
    }
  }

  /** Undefined on success, otherwise the reason. */
  async write(instance: ObjectName, { domain, lists }: SeenLists): Promise<string | undefined> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return stored.problem;
    const [blocklist, allowlist] = listNames.map((list) => [...lists[list].keys()].toSorted());
    const text = `${JSON.stringify({ domain, blocklist, allowlist }, undefined, 1)}\n`;
    const saved = await this.#store.save(keyOf(instance), text, stored.revision);
    return saved.state === "Saved" ? undefined : saved.problem;
  }

  /** Called before the first write of a run: removals of an interrupted run must not look like drift. */
  async forget(instance: ObjectName): Promise<string | undefined> {
    const stored = await this.#store.load(keyOf(instance));
    return stored.state === "Absent" ? undefined : await this.#store.remove(keyOf(instance));
  }
}

function setOf(texts: readonly string[]): ReadonlySet<Entry> {
  return new Set(texts as readonly Entry[]);
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "Seen", namespace, name };
}
