// The position and the results of reading the logs of an instance, in a record store.
import type { ObjectName } from "../model/resource.ts";
import type { RecordKey, RecordStore } from "./record-store.ts";

/** At about eight characters per row, this is enough for more than a million rows. */
export const logTextLengthMax = 12 * 1024 * 1024;

/** Implements the port of the use case. */
export class LogRecords {
  readonly #store: RecordStore;

  constructor(store: RecordStore) {
    this.#store = store;
  }

  /** A damaged record is null: reading starts again with the days of the lookback. Never rejects. */
  async load(instance: ObjectName) {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return stored;
    const record = stored.state === "Absent" ? undefined : stored.state === "Damaged" ? null : parseJson(stored.text);
    return { state: "Loaded", record, revision: stored.revision } as const;
  }

  /** Never rejects. */
  async save(instance: ObjectName, record: object, revision: string) {
    // One value per line, so that a change of one day leaves the parts with other days unchanged.
    const text = `${JSON.stringify(record, undefined, 1)}\n`;
    if (text.length > logTextLengthMax) return { state: "TooLarge" } as const;
    const saved = await this.#store.save(keyOf(instance), text, revision);
    return saved.state === "NotAllowed" ? ({ state: "Failed", problem: saved.problem } as const) : saved;
  }
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "LogForwarding", namespace, name };
}

/** Null if it is damaged. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
