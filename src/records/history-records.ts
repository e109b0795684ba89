// The history of an instance in a record store. It is small, and new events displace the oldest ones. In a conflict, the events are
// added to the other writer's version. A damaged history is replaced: it is only for people.
import { LruMap } from "../async/lru-map.ts";
import type { HistoryEvent, HistoryLimits } from "../model/history.ts";
import { keepNewest } from "../model/history.ts";
import { nameKey, type ObjectName } from "../model/resource.ts";
import { decodeEvents, encodeEvent, linesOf, mergeLines, timeOfEvent } from "./history-lines.ts";
import type { RecordKey, RecordStore, SavedRecord } from "./record-store.ts";

const attemptsMax = 2;
/** The number of instances whose text is cached, so that a batch needs only one request. */
const knownMax = 20;

/** About 13,000 entries. Every batch writes the whole text. */
export const historyLimits: HistoryLimits = { eventsMax: 5_000, ageMsMax: 90 * 86_400_000, bytesMax: 256 * 1024 };

export type ReadHistory =
  | { readonly ok: true; readonly events: readonly HistoryEvent[] }
  | { readonly ok: false; readonly problem: string; readonly isForbidden: boolean };

interface Stored {
  readonly lines: readonly string[];
  readonly revision: string;
}

/** Computes the new lines from the stored ones, oldest first. */
type Change = (lines: readonly string[]) => readonly string[];

export class HistoryRecords {
  readonly #store: RecordStore;
  readonly #nowMs: () => number;
  readonly #known = new LruMap<string, Stored>(knownMax);

  constructor(store: RecordStore, nowMs: () => number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Oldest first; empty if nothing is recorded. */
  async read(instance: ObjectName): Promise<ReadHistory> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return { ok: false, ...stored };
    if (stored.state === "Damaged") return { ok: false, problem: stored.problem, isForbidden: false };
    const events = stored.state === "Absent" ? [] : decodeEvents(stored.text);
    return { ok: true, events: events.filter(({ atMs }) => this.#nowMs() - atMs <= historyLimits.ageMsMax) };
  }

  /** Undefined on success, or if the events need not be stored; otherwise the reason for the failure. Never rejects. */
  async append(instance: ObjectName, events: readonly HistoryEvent[]): Promise<string | undefined> {
    const added = events.map(encodeEvent);
    const stored = await this.#change(instance, (lines) => [...lines, ...added]);
    return stored.state === "Saved" || stored.state === "NotAllowed" ? undefined : stored.problem;
  }

  /** Prepends the history of `former` to that of `instance`, and removes its record. Returns the same as `append`. */
  async takeOver(instance: ObjectName, former: ObjectName): Promise<string | undefined> {
    const left = await this.#store.load(keyOf(former));
    if (left.state === "Unreachable") return left.problem;
    if (left.state !== "Loaded") return undefined;
    const stored = await this.#change(instance, (lines) => mergeLines(linesOf(left.text), lines));
    if (stored.state === "NotAllowed") return undefined;
    if (stored.state !== "Saved") return stored.problem;
    this.#known.delete(nameKey(former));
    return await this.#store.remove(keyOf(former));
  }

  async #change(instance: ObjectName, change: Change, attempts = attemptsMax): Promise<SavedRecord> {
    const before = this.#known.get(nameKey(instance)) ?? (await this.#load(instance));
    if ("problem" in before) return { state: "Failed", problem: before.problem };
    const lines = keepNewest(change(before.lines), historyLimits, this.#nowMs(), timeOfEvent);
    const text = lines.map((line) => `${line}\n`).join("");
    const saved = await this.#store.save(keyOf(instance), text, before.revision);
    this.#known.delete(nameKey(instance));
    if (saved.state === "Saved") this.#known.set(nameKey(instance), { lines, revision: saved.revision });
    if (saved.state === "Conflict" && attempts > 1) return await this.#change(instance, change, attempts - 1);
    return saved;
  }

  async #load(instance: ObjectName): Promise<Stored | { readonly problem: string }> {
    const stored = await this.#store.load(keyOf(instance));
    if (stored.state === "Unreachable") return stored;
    return { lines: stored.state === "Loaded" ? linesOf(stored.text) : [], revision: stored.revision };
  }
}

function keyOf({ namespace, name }: ObjectName): RecordKey {
  return { type: "History", namespace, name };
}
